#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PEAL_QUEUE_OF compiles as C11 and as C++17, and refuses what is too long, of
# another type, or, in C++, not plain.
set -euo pipefail
include=${PEAL_SOURCE_DIR:?}/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n_failed=0

# compiles COMPILER LANGUAGE BODY: whether that source compiles.
compiles() {
    cat >"$work/unit.c" <<EOF
#include <peal/device/typed.h>
struct task { uint64_t first, n; };
struct other { uint64_t first, n; };
#ifdef __cplusplus
struct odd { uint64_t n; odd(const odd &); };
#endif
$3
EOF
    "$1" -x "${2%%:*}" "-std=${2#*:}" -Wall -Wextra -Werror "-I$include" \
        -fsyntax-only "$work/unit.c" >"$work/log" 2>&1
}

expect() {
    local want=$1 what=$2
    shift 2
    if compiles "$@"; then got=yes; else got=no; fi
    if [ $got != "$want" ]; then
        echo "FAIL: $1: $what: compiles: $got"
        cat "$work/log"
        n_failed=$((n_failed + 1))
    fi
}

of='PEAL_QUEUE_OF(task, struct task, 48)'
call='int f(struct peal_work *q, struct peal_work_producer *p, struct peal_header h, const struct'
n_compilers=0
for pair in gcc@c:c11 clang@c:c11 g++@c++:c++17 clang++@c++:c++17; do
    compiler=${pair%%@*} language=${pair#*@}
    if ! command -v "$compiler" >/dev/null; then
        echo "skipped: $compiler is not installed"
        continue
    fi
    n_compilers=$((n_compilers + 1))
    expect yes 'a type that fits' "$compiler" "$language" "$of"
    expect yes 'a type as long as a payload' "$compiler" "$language" "${of/48/16}"
    expect no 'a type that is too long' "$compiler" "$language" "${of/48/15}"
    grep -q "longer than a payload" "$work/log" ||
        { echo "FAIL: $compiler: the error does not say why"; n_failed=$((n_failed + 1)); }
    expect yes 'its own type' "$compiler" "$language" \
        "$of $call task *t) { return task_work_push(q, p, h, t); }"
    expect no 'another type' "$compiler" "$language" \
        "$of $call other *t) { return task_work_push(q, p, h, t); }"
    case $language in
    c++:*) expect no 'a type that is not plain' "$compiler" "$language" \
        'PEAL_QUEUE_OF(odd, struct odd, 48)' ;;
    esac
done
[ $n_compilers -gt 0 ] || { echo 'skipped: no compiler is installed'; exit 77; }
[ $n_failed -eq 0 ] || exit 1
echo "$n_compilers compilers"

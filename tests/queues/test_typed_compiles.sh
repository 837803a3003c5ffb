#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: check quick
#
# Shows that PEAL_TYPED_DEVICE_QUEUE, PEAL_TYPED_QUEUE, PEAL_TYPED_MESSAGE and
# PEAL_TYPED_ENDPOINT compile as C11 and C++17. They refuse types that are too
# long, wrong types, and in C++ types that are not plain. Also refused: ends of
# another type's queue, and wrong message numbers.
set -euo pipefail
include=${PEAL_SOURCE_DIR:?}/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n_failed=0

# compiles COMPILER LANGUAGE BODY: succeeds if the source compiles.
compiles() {
    cat >"$work/unit.c" <<EOF
#include <peal/device/typed_queue.h>
#include <peal/device/typed_message.h>
#include <peal/typed_endpoint.h>
#include <peal/typed_queue.h>
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

# says TEXT: fails the test if the last error does not contain TEXT.
says() {
    grep -q "$1" "$work/log" && return
    echo "FAIL: $compiler: the error does not say '$1'"
    cat "$work/log"
    n_failed=$((n_failed + 1))
}

# One case per line: expected result, name, and the source after $threads.
threads='PEAL_TYPED_QUEUE(task, struct task) PEAL_TYPED_QUEUE(other, struct other) int f'
cases=$(cat <<'END'
yes|both macros of a name|(void); PEAL_TYPED_DEVICE_QUEUE(task, struct task, 48)
yes|put its own type|(struct task_producer p, const struct task *t) { return task_queue_push(p, t, 0); }
no|put another type|(struct task_producer p, const struct other *t) { return task_queue_push(p, t, 0); }
no|put at another's end|(struct other_producer p, const struct task *t) { return task_queue_push(p, t, 0); }
no|put at a consumer|(struct task_consumer p, const struct task *t) { return task_queue_push(p, t, 0); }
no|put at an end without a type|(struct peal_queue_end *p, const struct task *t) { return task_queue_push(p, t, 0); }
yes|put many of its own type|(struct task_producer p, const struct task *t) { return task_queue_push_bulk(p, t, 2, 0); }
no|put many of another type|(struct task_producer p, const struct other *t) { return task_queue_push_bulk(p, t, 2, 0); }
no|put many at a consumer|(struct task_consumer p, const struct task *t) { return task_queue_push_bulk(p, t, 2, 0); }
yes|take its own type|(struct task_consumer c, struct task *t) { return task_queue_pop(c, t, 0); }
no|take another type|(struct task_consumer c, struct other *t) { return task_queue_pop(c, t, 0); }
no|take at another's end|(struct other_consumer c, struct task *t) { return task_queue_pop(c, t, 0); }
no|take at a producer|(struct task_producer c, struct task *t) { return task_queue_pop(c, t, 0); }
no|take into what is constant|(struct task_consumer c, const struct task *t) { return task_queue_pop(c, t, 0); }
yes|take many of its own type|(struct task_consumer c, struct task *t) { return task_queue_pop_burst(c, t, 2, 0); }
no|take many of another type|(struct task_consumer c, struct other *t) { return task_queue_pop_burst(c, t, 2, 0); }
no|take many at a producer|(struct task_producer c, struct task *t) { return task_queue_pop_burst(c, t, 2, 0); }
yes|make its own queue|(struct task_queue *q) { return task_queue_create(NULL, q); }
no|make another's queue|(struct other_queue *q) { return task_queue_create(NULL, q); }
yes|open its own end|(struct task_queue q, struct task_producer *p) { return task_queue_open_producer(q, p); }
no|open at another's queue|(struct other_queue q, struct task_producer *p) { return task_queue_open_producer(q, p); }
no|open another's end|(struct task_queue q, struct other_producer *p) { return task_queue_open_producer(q, p); }
no|open a consumer as a producer|(struct task_queue q, struct task_consumer *p) { return task_queue_open_producer(q, p); }
END
)
# The cases of messages, with the source after $messages.
messages='PEAL_TYPED_MESSAGE(task, struct task, 7) PEAL_TYPED_ENDPOINT(task) PEAL_TYPED_MESSAGE(other, struct other, 8) int f'
message_cases=$(cat <<'END'
yes|emit its own type|(struct peal_worker *w, const struct task *t) { return task_emit(w, 0, t, 0); }
no|emit another type|(struct peal_worker *w, const struct other *t) { return task_emit(w, 0, t, 0); }
yes|emit_to its own type|(struct peal_worker *w, const struct task *t, const struct peal_send_options *o) { return task_emit_to(w, 0, 1, t, o); }
no|emit_to another type|(struct peal_worker *w, const struct other *t, const struct peal_send_options *o) { return task_emit_to(w, 0, 1, t, o); }
yes|tell its own type|(struct peal_worker *w, const struct task *t) { return task_tell(w, 0, t, 0); }
no|tell another type|(struct peal_worker *w, const struct other *t) { return task_tell(w, 0, t, 0); }
yes|reserve its own type|(struct peal_worker *w, struct task *t) { return task_reserve(w, 0, &t); }
no|reserve another type|(struct peal_worker *w, struct other *t) { return task_reserve(w, 0, &t); }
yes|take what is its own|(struct peal_worker *w) { const struct task *t = task_data(w); return t != 0; }
no|take it as another type|(struct peal_worker *w) { const struct other *t = task_data(w); return t != 0; }
no|write to what came|(struct peal_worker *w) { struct task *t = task_data(w); return t != 0; }
yes|send its own type|(struct peal_endpoint *e, const struct task *t) { return task_send(e, 0, t, 0, NULL); }
yes|send_to its own type|(struct peal_endpoint *e, const struct task *t, const struct peal_send_options *o) { return task_send_to(e, 0, 1, t, 0, o); }
no|send_to another type|(struct peal_endpoint *e, const struct other *t, const struct peal_send_options *o) { return task_send_to(e, 0, 1, t, 0, o); }
no|send another type|(struct peal_endpoint *e, const struct other *t) { return task_send(e, 0, t, 0, NULL); }
yes|receive its own type|(const struct peal_received *r) { const struct task *t = task_received(r); return t != 0; }
no|receive it as another type|(const struct peal_received *r) { const struct other *t = task_received(r); return t != 0; }
yes|two numbers in a switch|(int n) { switch (n) { case task_number: case other_number: return 1; } return 0; }
no|one number twice in a switch|(void); PEAL_TYPED_MESSAGE(same, struct other, 7) int g(int n) { switch (n) { case task_number: case same_number: return 1; } return 0; }
no|a number too large|(void); PEAL_TYPED_MESSAGE(large, struct other, 65536)
no|a number below 0|(void); PEAL_TYPED_MESSAGE(below, struct other, -1)
yes|the largest number|(void); PEAL_TYPED_MESSAGE(large, struct other, 65535u)
no|a type that wants 16 bytes|(void); struct wide { char c __attribute__((aligned(16))); }; PEAL_TYPED_MESSAGE(wide, struct wide, 9)
END
)
big() { echo "struct big { char c[$1]; }; PEAL_TYPED_QUEUE(big, struct big)"; }

of='PEAL_TYPED_DEVICE_QUEUE(task, struct task, 48)'
call='int f(struct peal_work *q, struct peal_work_producer *p, struct peal_header h, const struct'
n_compilers=0
for pair in gcc@c:c11 clang@c:c11 g++@c++:c++17 clang++@c++:c++17; do
    compiler=${pair%%@*} language=${pair#*@}
    case ${PEAL_TEST_QUICK-}:$compiler in 1:clang | 1:g++)
        echo "left out in tier 1: $compiler"
        continue ;;
    esac
    if ! command -v "$compiler" >/dev/null; then
        echo "skipped: $compiler is not installed"
        continue
    fi
    n_compilers=$((n_compilers + 1))
    expect yes 'a type that fits' "$compiler" "$language" "$of"
    expect yes 'a type as long as a payload' "$compiler" "$language" "${of/48/16}"
    expect no 'a type that is too long' "$compiler" "$language" "${of/48/15}"
    says 'longer than a payload'
    expect yes 'its own type' "$compiler" "$language" \
        "$of $call task *t) { return task_work_push(q, p, h, t); }"
    expect no 'another type' "$compiler" "$language" \
        "$of $call other *t) { return task_work_push(q, p, h, t); }"
    while IFS='|' read -r want what body; do
        expect "$want" "threads: $what" "$compiler" "$language" "$threads$body"
    done <<<"$cases"
    while IFS='|' read -r want what body; do
        expect "$want" "messages: $what" "$compiler" "$language" "$messages$body"
    done <<<"$message_cases"
    expect yes 'threads: a type as long as a message' "$compiler" "$language" "$(big '256 << 20')"
    expect no 'threads: a type that is too long' "$compiler" "$language" "$(big '(256 << 20) + 1')"
    says 'longer than a message'
    expect no 'threads: a type of which nothing is known' "$compiler" "$language" \
        'struct unknown; PEAL_TYPED_QUEUE(unknown, struct unknown)'
    case $language in
    c++:*)
        for macro in 'PEAL_TYPED_DEVICE_QUEUE(odd, struct odd, 48)' 'PEAL_TYPED_QUEUE(odd, struct odd)' \
            'PEAL_TYPED_MESSAGE(odd, struct odd, 1)'; do
            expect no "a type that is not plain: $macro" "$compiler" "$language" "$macro"
            says 'trivially copyable'
        done
        ;;
    c:*)
        expect no 'threads: an empty type' "$compiler" "$language" \
            'struct none { }; PEAL_TYPED_QUEUE(none, struct none)'
        says 'the type is empty'
        ;;
    esac
done
[ $n_compilers -gt 0 ] || { echo 'skipped: no compiler is installed'; exit 77; }
[ $n_failed -eq 0 ] || exit 1
echo "$n_compilers compilers"

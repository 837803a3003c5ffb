#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: package
# PEAL_TARGETS: which GPUs a configuration finds on a machine, and which device
# images it makes for them. Pretend tools and a pretend driver stand for GPUs.
set -euo pipefail
: "${PEAL_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/project" "$work/tools" "$work/driver" "$work/none"
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(targets LANGUAGES \${LANGUAGE})
include($PEAL_SOURCE_DIR/runtime/pkg/PealTargets.cmake)
_peal_expand_targets(found \${PEAL_TARGETS})
message(STATUS "found: \${found}")
END

# tool NAME TEXT: a program of that name that prints the text.
tool() {
    printf '#!/bin/sh\nprintf "%s"\n' "$2" >"$work/tools/$1"
    chmod +x "$work/tools/$1"
}
# finds EXPECTED [VARIABLE=VALUE...] [-- CMAKE ARGUMENTS]
finds() {
    local expected=$1 variables=() got
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do variables+=("$1"); shift; done
    [ $# -eq 0 ] || shift
    rm -rf "$work/build"
    got=$(env "${variables[@]}" cmake -S "$work/project" -B "$work/build" \
        -DLANGUAGE=C "$@" 2>"$work/errors" | sed -n 's/^-- found: //p')
    [ "$got" = "$expected" ] || {
        echo "FAIL: found '$got', expected '$expected': ${variables[*]} $*"
        cat "$work/errors"
        exit 1
    }
    echo "  $expected: $*"
}
# refuses TEXT CMAKE ARGUMENTS
refuses() {
    local text=$1
    shift
    rm -rf "$work/build"
    if cmake -S "$work/project" -B "$work/build" -DLANGUAGE=C "$@" >"$work/errors" 2>&1; then
        echo "FAIL: not refused: $*"
        exit 1
    fi
    tr -s ' \n' ' ' <"$work/errors" | grep -qF "$text" || { cat "$work/errors"; exit 1; }
    echo "  refused: $text"
}

tools=PATH=$work/tools:$PATH
tool nvidia-smi '8.9\n9.0\n9.0\n'
tool rocminfo '  Name:                    gfx90a\n  Name: AMD EPYC\n'
finds 'sm_89;sm_90;gfx90a;compute_75' "$tools"
finds 'sm_89;sm_90;gfx90a' "$tools" -- -DPEAL_TARGETS=native
finds 'sm_89;sm_90;gfx90a;compute_75' "$tools" -- -DLANGUAGE=CXX
finds 'sm_80;gfx942' "$tools" -- '-DPEAL_TARGETS=sm_80;gfx942'
finds '' "$tools" -- -DPEAL_TARGETS=host
finds 'compute_75;sm_80;sm_90;sm_100;sm_120;gfx90a;gfx942;gfx1100' "$tools" -- -DPEAL_TARGETS=all

# A tool that fails says nothing. Then the driver's library is asked.
printf '#!/bin/sh\necho 9.9; exit 9\n' >"$work/tools/nvidia-smi"
cat >"$work/driver.c" <<'END'
int cuInit(unsigned int flags) { return (int)flags; }
int cuDeviceGetCount(int *n) { *n = 2; return 0; }
int cuDeviceGet(int *device, int i) { *device = i; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	*value = attribute == 75 ? 8 + device : 0;
	return attribute == 75 || attribute == 76 ? 0 : 1;
}
END
cc -shared -fPIC -o "$work/driver/libcuda.so.1" "$work/driver.c"
finds 'sm_80;sm_90;gfx90a' "$tools" "LD_LIBRARY_PATH=$work/driver" -- -DPEAL_TARGETS=native
sed -i 's/return (int)flags/return 100/' "$work/driver.c"
cc -shared -fPIC -o "$work/driver/libcuda.so.1" "$work/driver.c"
finds 'gfx90a' "$tools" "LD_LIBRARY_PATH=$work/driver" -- -DPEAL_TARGETS=native

refuses "target 'sm90': is no target of a device image" -DPEAL_TARGETS=sm90
for empty in '' ';' ';;'; do
    refuses "option 'PEAL_TARGETS': names no target" "-DPEAL_TARGETS=$empty"
done
refuses "(sm90, allowed native, all, host, compute_NN, sm_NN, gfxNNN); use" -DPEAL_TARGETS=sm90
refuses "option 'PEAL_CUDA_TARGETS': removed; set PEAL_TARGETS" -DPEAL_CUDA_TARGETS=sm_90
echo ok

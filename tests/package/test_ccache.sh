#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: package
# A build compiles C and C++ through ccache if it is installed. A pretend ccache
# notes its calls and runs the compiler.
set -euo pipefail
: "${PEAL_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER CCACHE_BASEDIR

mkdir "$work/project" "$work/outer" "$work/tools"
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(cached LANGUAGES C CXX)
include($PEAL_SOURCE_DIR/runtime/pkg/PealToolchains.cmake)
add_library(cached OBJECT one.c two.cc)
END
cat >"$work/outer/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(outer LANGUAGES C CXX)
add_subdirectory($work/project cached)
END
echo 'int one;' >"$work/project/one.c"
echo 'int two;' >"$work/project/two.cc"
printf '#!/bin/sh\necho "$CCACHE_BASEDIR $CCACHE_NOHASHDIR $*" >>"%s/calls"\nexec "$@"\n' \
    "$work" >"$work/tools/ccache"
cp "$work/tools/ccache" "$work/tools/other"
chmod +x "$work/tools/ccache" "$work/tools/other"

# builds N PROJECT [CMAKE ARGUMENTS]: N of the two files go through the launcher.
builds() {
    local n=$1 project=$2 got
    shift 2
    rm -rf "${work:?}/build"
    : >"$work/calls"
    { PATH=$work/tools:$PATH cmake -S "$work/$project" -B "$work/build" "$@" &&
        cmake --build "$work/build"; } >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    # not the calls of CMake's own trials
    got=$(grep -cE '/(one\.c|two\.cc)$' "$work/calls") || true
    [ "$got" = "$n" ] || {
        echo "FAIL: $got of 2 files through ccache, not $n: $project $*"
        cat "$work/calls"
        exit 1
    }
    echo "  $n files through ccache: $project $*"
}
builds 2 project
n=$(grep -cE "^$work/project 1 .*/(one\.c|two\.cc)$" "$work/calls") || true
[ "$n" = 2 ] || { echo 'FAIL: paths are not relative to the tree'; cat "$work/calls"; exit 1; }
builds 0 project -DPEAL_CCACHE=OFF
builds 0 outer
# a launcher of the user stays: it sets no base folder
builds 2 project "-DCMAKE_C_COMPILER_LAUNCHER=$work/tools/other" \
    "-DCMAKE_CXX_COMPILER_LAUNCHER=$work/tools/other"
! grep -q "^$work/project" "$work/calls" || { echo "FAIL: the user's launcher is replaced"; exit 1; }
echo ok

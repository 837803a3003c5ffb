#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: stress
# A build that is told to have no peers of `peal bench queues`, or has no C++
# compiler, or has lost it, is configured all the same and says what it lacks.
set -euo pipefail
: "${PEAL_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CXX CMAKE_CXX_COMPILER_LAUNCHER

# configured FOLDER ARGUMENTS...: its peers that were skipped, and why.
configured() {
    local folder=$1
    shift
    cmake -G Ninja -S "$PEAL_SOURCE_DIR" -B "$work/$folder" -DPEAL_CUDA=OFF -DPEAL_HIP=OFF \
        -DPEAL_BUILD_TESTS=OFF -DPEAL_BUILD_EXAMPLES=OFF "$@" >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; exit 1; }
    sed -n 's/^-- peal bench queues, skipped: //p' "$work/log" | sort
}

# wants FILE...: those alone were skipped, for $why.
wants() {
    printf '%s\n' "$@" | sort | sed "s/$/: $why/" >"$work/wanted"
    grep -F "$why" "$work/skipped" | diff "$work/wanted" - || exit 1
}

echo '== told to have none'
configured off -DPEAL_BENCH_PEERS=OFF >"$work/skipped"
why='this build was configured with PEAL_BENCH_PEERS=OFF'
wants boost_lockfree.cc ck_ring.c moodycamel.cc rte_ring.c

echo '== no C++ compiler'
CXX=$work/nobody configured none >"$work/skipped"
why='no C++ compiler was found'
wants boost_lockfree.cc moodycamel.cc

echo '== one that is there, then gone'
if ! found=$(command -v c++); then
    echo 'skipped: this machine has no C++ compiler that could be gone'
    exit 77
fi
ln -s "$found" "$work/compiler"
CXX=$work/compiler configured gone >"$work/skipped"
if grep -F "$why" "$work/skipped"; then exit 1; fi
rm "$work/compiler"
CXX=$work/compiler configured gone >"$work/skipped"
wants boost_lockfree.cc moodycamel.cc
echo ok

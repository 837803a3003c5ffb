#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: stress
#
# Shows that a build is configured without the peers of `peal bench queues`. The
# cases: no peers on request, no C++ compiler, and a compiler that was removed.
# The build reports the missing parts.
set -euo pipefail
: "${PEAL_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CXX CMAKE_CXX_COMPILER_LAUNCHER

# configured FOLDER ARGUMENTS...: prints the skipped peers and the reasons.
configured() {
    local folder=$1
    shift
    cmake -G Ninja -S "$PEAL_SOURCE_DIR" -B "$work/$folder" -DPEAL_CUDA=OFF -DPEAL_HIP=OFF \
        -DPEAL_BUILD_TESTS=OFF -DPEAL_BUILD_EXAMPLES=OFF "$@" >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; exit 1; }
    sed -n 's/^-- peal bench queues, skipped: //p' "$work/log" | sort
}

# wants FILE...: fails unless exactly these were skipped for $why.
wants() {
    printf '%s\n' "$@" | sort | sed "s/$/: $why/" >"$work/wanted"
    grep -F "$why" "$work/skipped" | diff "$work/wanted" - || exit 1
}

echo '== told to have none'
configured off -DPEAL_BENCH_BASELINES=OFF >"$work/skipped"
why='this build was configured with PEAL_BENCH_BASELINES=OFF'
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

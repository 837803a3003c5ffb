#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Examples and their tools print a usage, and refuse unknown arguments.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

examples=$build/examples
[ -x "$examples/make_images" ] || skip 'the examples are not built'

for tool in make_images make_clip; do
    "$examples/$tool" --help >out.txt 2>err.txt || fail "$tool --help failed"
    grep -q "^usage: $tool " out.txt || fail "$tool --help prints no usage"
    [ ! -e ./--help ] || fail "$tool takes --help as a path"
    if "$examples/$tool" >out.txt 2>err.txt; then
        fail "$tool without arguments succeeded"
    fi
    grep -q "^usage: $tool " err.txt || fail "$tool prints no usage"
done

[ -x "$examples/29_mpi" ] || exit 0 # MPI is optional
for arguments in 'xx' 'staged xx'; do
    status=0
    # shellcheck disable=SC2086
    "$examples/29_mpi" $arguments >out.txt 2>err.txt || status=$?
    [ $status = 2 ] || fail "29_mpi $arguments: exit status $status"
    [ "$(cat err.txt)" = \
        "argument 'xx': is unknown (allowed: one 'staged'); remove it" ] ||
        fail "29_mpi $arguments: error text"
done

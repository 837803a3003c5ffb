#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that spawn ends with an error if a driver hangs while it lists devices.
# The drivers are doubles.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
doubles=$build/doubles
[ -e "$doubles/cuda/libcuda.so.1" ] || skip 'the doubles are not built'
export PEAL_PROBE=off

# lists VENDOR VARIABLE=VALUE...: runs spawn with one process per device.
lists() {
    status=0
    env LD_LIBRARY_PATH="$doubles/$1" PEAL_BACKENDS="$1" PEAL_DOUBLE_DEVICES=2 "${@:2}" \
        timeout 120 "$peal" spawn -- printenv PEAL_RANK >out.txt 2>err.txt || status=$?
}

# hangs VENDOR SYMBOL
hangs() {
    lists "$1" PEAL_DOUBLE_HANG="$2" PEAL_CONTROL_TIMEOUT_MS=100
    [ $status = 1 ] || fail "exit status $status, not 1: $2 hangs"
    [ ! -s out.txt ] || fail 'a process has been started'
    grep -q 'cannot list devices: a driver has not answered for 1.2 s; .*PEAL_BACKENDS' err.txt ||
        fail 'no text about the hanging driver'
}

hangs cuda cuInit
hangs cuda cuDeviceGetName
hangs hip hipGetDeviceCount
says 'a driver that hangs'

lists cuda
[ $status = 0 ] || fail "exit status $status, not 0: no driver hangs"
[ "$(sort out.txt)" = $'0\n1' ] || fail 'not one process per device'
lists cuda PEAL_CONTROL_TIMEOUT_MS=none
[ $status = 1 ] || fail "exit status $status, not 1: a wrong setting"
grep -q PEAL_CONTROL_TIMEOUT_MS err.txt || fail 'no text about the wrong setting'
says 'drivers that answer'

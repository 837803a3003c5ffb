#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# seeds.sh [OPTIONS] [TEST...]: runs conformance tests on the PTX machine, once for each
# seed. The default are the tests of conformance.txt. A row of a test has counts of runs,
# seconds, and the first seed that did not pass. Logs of such runs are in
# build/ptx_seeds. Needs the built tests.
#
#   --weak, --race, --undefined
#       checks of the machine.
#   --lanes LIST
#       numbers of lanes of the cases that take them, such as 4,32.
#   --first N, --seeds N
#       the first seed and the number of seeds, default 1.
#   --seconds N
#       a run ends after so many seconds, default 100.
#   --total N
#       no further test starts after so many seconds.
#   --tests FILE
#       a file with a test on each line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
readonly USAGE='usage: tests/ptx/seeds.sh [--weak] [--race] [--undefined] [--lanes LIST]
       [--first N] [--seeds N] [--seconds N] [--total N] [--tests FILE] [TEST...]'

# misused TEXT: prints the text and the usage.
misused() {
    printf '%s\n%s\n' "$1" "$USAGE" >&2
    exit 2
}
# whole OPTION VALUE: exits with 2 unless VALUE is a number from 1 to 999999.
whole() {
    [[ $2 =~ ^[1-9][0-9]{0,5}$ ]] ||
        misused "option '$1': is no number ($2, allowed 1..999999); use $1 20"
}

first=1 seeds=1 seconds=100 total=999999 list=tests/ptx/conformance.txt
settings=(PEAL_BACKENDS=cuda PEAL_DOUBLE_ENGINE=ptx PEAL_TEST_QUICK=1
    PEAL_CONTROL_TIMEOUT_MS=30000 PEAL_SOURCE_DIR="$PWD" PEAL_BUILD_DIR="$PWD/build"
    PEAL="$PWD/build/peal"
    LD_LIBRARY_PATH="$PWD/build/doubles/cuda:$PWD/build/doubles/ptx")
while [[ ${1-} == --* ]]; do
    case $1 in
    --weak | --race | --undefined)
        settings+=("PEAL_DOUBLE_$(tr '[:lower:]' '[:upper:]' <<<"${1#--}")=1")
        ;;
    --first | --seeds | --seconds | --total)
        whole "$1" "${2-}"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    --lanes)
        [[ ${2-} =~ ^[1-9][0-9]*(,[1-9][0-9]*)*$ ]] ||
            misused "option '--lanes': is no list of numbers (${2-}, allowed 1..1024); use 4,32"
        settings+=("PEAL_TEST_LANES=$2")
        shift
        ;;
    --tests)
        [ -f "${2-}" ] || misused "file '${2-}': does not exist (--tests, allowed a list of tests)"
        list=$2
        shift
        ;;
    *) misused "option '$1': is unknown (allowed those of the usage); leave it out" ;;
    esac
    shift
done
if [ $# -gt 0 ]; then
    tests=("$@")
else
    mapfile -t tests <"$list"
fi
readonly LOGS=build/ptx_seeds
mkdir -p "$LOGS"

# command_of TEST: sets `command`.
command_of() {
    local folder=build/tests/${1%%/*} name=${1#*/} script=tests/${1%%/*}/test_${1#*/}.sh
    command=(bash "$script")
    [ ! -f "$script" ] || return 0
    command=("$folder/tests" "$name")
    [ ! -x "$folder/test_$name" ] || command=("$folder/test_$name")
    [ -x "${command[0]}" ] ||
        misused "test '$1': has no program (${command[0]}, allowed a built test); build it"
}

# run_seed TEST SEED: runs a test. Counts its result.
run_seed() {
    local log=$LOGS/${1//\//_}.$2.log status=0
    env "${settings[@]}" "PEAL_DOUBLE_SEED=$2" timeout -k 5 "$seconds" "${command[@]}" \
        >"$log" 2>&1 </dev/null || status=$?
    case $status in
    0 | 77)
        [ "$status" = 77 ] && skipped=$((skipped + 1)) || passed=$((passed + 1))
        rm "$log"
        return
        ;;
    124 | 137) unended=$((unended + 1)) ;;
    *) failed=$((failed + 1)) ;;
    esac
    worst=${worst:-$2}
}

printf '%-36s %6s %7s %6s %7s %7s  %s\n' test passed skipped failed 'no end' seconds 'first seed of these'
all=0
for test in "${tests[@]}"; do
    [ "$SECONDS" -lt "$total" ] || break
    command_of "$test"
    passed=0 skipped=0 failed=0 unended=0 worst='' began=$SECONDS
    for ((seed = first; seed < first + seeds; seed++)); do
        run_seed "$test" "$seed"
    done
    all=$((all + failed + unended))
    printf '%-36s %6d %7d %6d %7d %7d  %s\n' "$test" "$passed" "$skipped" "$failed" \
        "$unended" $((SECONDS - began)) "$worst"
done
[ "$all" = 0 ]

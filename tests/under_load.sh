#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# under_load.sh [RUNS [BUSY]]: runs `./dev test` RUNS times (10) next to BUSY (4)
# processes that never sleep. Prints one line per run, ends at the first failure, and
# keeps the output of the last run in build/under_load.log.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
runs=${1:-10}
busy=${2:-4}
# misused TEXT: prints the text and the usage.
misused() {
    printf '%s\nusage: tests/under_load.sh [RUNS [BUSY]]\n' "$1" >&2
    exit 2
}
# positive NAME VALUE: exits with 2 unless VALUE is a number from 1 to 9999.
positive() {
    [[ $2 =~ ^[1-9][0-9]{0,3}$ ]] ||
        misused "argument '$1': is no number ($2, allowed 1..9999); use tests/under_load.sh 10 4"
}
[ $# -le 2 ] || misused "argument '$3': follows BUSY ($# arguments, allowed 0..2); leave it out"
positive RUNS "$runs"
positive BUSY "$busy"
[ -d build ] || [[ ! -e build && ! -L build ]] ||
    misused "folder 'build': is no folder (a file, allowed a folder or nothing); remove it"

pids=()
tests=
# Ends the busy processes, and the session of the tests.
stop() {
    kill "${pids[@]}" 2>/dev/null || true
    [ -z "$tests" ] || pkill -s "$tests" 2>/dev/null || true
}
trap stop EXIT
trap 'exit 130' INT TERM
for ((i = 0; i < busy; i++)); do
    sh -c 'while :; do :; done' &
    pids+=($!)
done
mkdir -p build
echo "$runs runs of ./dev test next to $busy busy processes, $(nproc) cores," \
    "commit $(git rev-parse --short HEAD)"
for ((run = 1; run <= runs; run++)); do
    began=$SECONDS
    status=0
    # A session of its own: stop() ends every process of it.
    setsid ./dev test >build/under_load.log 2>&1 </dev/null &
    tests=$!
    wait "$tests" || status=$?
    tests=
    printf '%s run %d of %d: exit status %d, %d s, %s\n' "$(date -u +%FT%TZ)" \
        "$run" "$runs" "$status" $((SECONDS - began)) \
        "$(grep -E '^[0-9]+% tests passed' build/under_load.log || echo 'no test ran')"
    [ "$status" = 0 ] || exit "$status"
done

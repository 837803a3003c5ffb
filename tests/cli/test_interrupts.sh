#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that SIGINT ends each command with exit status 130. No process and no
# file remains.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export TMPDIR=$work/tmp
# The process ends while its threads run or have just ended.
export TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}report_thread_leaks=0
mkdir "$TMPDIR"
now() { date +%s%N; }

# await CONDITION: waits until the condition holds.
await() {
    for _ in $(seq 600); do
        ! eval "$1" || return 0
        sleep 0.05
    done
    fail "did not happen: $1"
}

# interrupted SIGNAL STATUS MS CONDITION COMMAND...: starts the command and sends
# the signal when the condition holds. Checks the exit status and the time.
interrupted() {
    local signal=$1 expected=$2 most=$3 condition=$4 begin took status=0
    shift 4
    "$@" >out.txt 2>err.txt &
    pid=$!
    await "$condition"
    begin=$(now)
    kill "-$signal" $pid
    wait $pid || status=$?
    took=$((($(now) - begin) / 1000000))
    [ $status = "$expected" ] || fail "exit status $status, not $expected: $*"
    [ $took -le "$most" ] || fail "ended after $took ms, not $most: $*"
    [ -z "$(ls "$TMPDIR")" ] || fail "left in the temporary folder: $(ls "$TMPDIR")"
    says "SIG$signal, $took ms: ${*##*/}"
}
# The command runs and blocks SIGINT, as another thread takes it. The shell also
# blocks it before it executes the command.
takes='grep -qx peal /proc/$pid/comm 2>/dev/null &&
    grep -q "^SigBlk:.*[2367abef]$" /proc/$pid/status 2>/dev/null'

# ---- one process -------------------------------------------------------------------
export PEAL_HOST_DEVICES=40 PEAL_PROBE=fresh # long enough to be interrupted
for command in topo doctor probe; do
    interrupted INT 130 5000 "$takes" "$peal" $command
    grep -q '^peal: interrupted$' err.txt || fail "no word of the interruption: $command"
    [ ! -s out.txt ] || fail "half a report: $command"
    interrupted INT 130 5000 "$takes" "$peal" $command --json
    mv out.txt out.json
    holds out.json "d == {'error': 'interrupted', 'exit_status': 130}"
done
interrupted TERM 143 5000 "$takes" "$peal" topo --json
mv out.txt out.json
holds out.json "d == {'error': 'ended by SIGTERM', 'exit_status': 143}"
unset PEAL_HOST_DEVICES PEAL_PROBE
[ -z "$(find "$PEAL_CACHE_DIR" -name '*.??????' -type f 2>/dev/null | grep -v '\.json$')" ] ||
    fail "temporary files in the cache: $(ls -R "$PEAL_CACHE_DIR")"

if "$peal" bench --help >/dev/null 2>&1; then
    for names in latency 'latency idle'; do
        # shellcheck disable=SC2086
        interrupted INT 130 5000 "$takes" "$peal" bench $names --seconds 60 --json
        mv out.txt out.json
        holds out.json "d == {'error': 'interrupted', 'exit_status': 130}"
    done
    if [ "$(nproc)" -gt 1 ]; then
        interrupted INT 130 5000 '[ -e rows.json ]' \
            "$peal" bench queues --seconds 60 --json-out rows.json
        [ ! -e rows.json ] || fail 'an empty file of rows stays'
        # A file that is no regular file stays.
        interrupted INT 130 5000 "$takes && sleep 0.5" \
            "$peal" bench queues --seconds 60 --json-out /dev/null
        [ -c /dev/null ] || fail '/dev/null is gone'
    fi
fi

# A reader that has stopped does not hold the command.
mkfifo full
exec 7<>full
{ head -c 65536 /dev/zero >&7; } 2>/dev/null
"$peal" doctor --json >&7 2>err.txt &
pid=$!
await "$takes"
sleep 1
kill -INT $pid
status=0
wait $pid || status=$?
exec 7<&-
[ $status = 130 ] || fail "exit status $status with a full pipe"
says 'a full pipe'

# `peal run` before the input is open, with a report and with items on stdout.
mkfifo nobody
interrupted INT 130 2000 "$takes" "$peal" run -i nobody --json xor
mv out.txt out.json
holds out.json "d == {'error': 'interrupted', 'exit_status': 130}"
interrupted TERM 143 2000 "$takes" "$peal" run -i nobody -o - --json xor
[ ! -s out.txt ] && grep -q '"exit_status": 143' err.txt || fail 'items and report are mixed'

# ---- processes of spawn ------------------------------------------------------------
# ended PID: succeeds if the process is gone, or if its parent has not waited
# yet.
ended() { ! kill -0 "$1" 2>/dev/null || grep -q 'State:.Z' "/proc/$1/status" 2>/dev/null; }
cat >child.sh <<'END'
echo $$ >"pid.$PEAL_RANK"
[ "$1" != default ] || exec sleep 60
trap "$1" INT
touch "ready.$PEAL_RANK"
while :; do sleep 0.05; done
END
for reaction in default 'exit 0' 'exit 7' ''; do
    rm -f pid.* ready.*
    ready='[ -e ready.0 ] && [ -e ready.1 ]'
    [ "$reaction" != default ] || ready='[ -s pid.0 ] && [ -s pid.1 ]'
    interrupted INT 130 5000 "$ready" \
        "$peal" spawn -n 2 --grace 500 --json -- bash child.sh "$reaction"
    for rank in 0 1; do
        ended "$(cat pid.$rank)" || fail "rank $rank lives on: trap '$reaction'"
    done
    mv out.txt out.json
    holds out.json "d['ok'] is False and d['exit_status'] == 130" \
        "d['error'] == 'interrupted' and len(d['processes']) == 2"
    ! grep -q SIGTERM err.txt || fail 'SIGTERM after SIGINT'
done
says 'processes that end, fail, and ignore SIGINT'

# ---- the process that probes pairs -------------------------------------------------
doubles=$build/doubles
grep -q '^PEAL_SANITIZE:[A-Z]*=thread' "$build/CMakeCache.txt" 2>/dev/null && exit 0
[ -e "$doubles/cuda/libcuda.so.1" ] || { says 'left out: the doubles are not built'; exit 0; }
cat >slow <<'END'
#!/bin/sh
echo $$ >child.pid
exec sleep 60
END
chmod +x slow
export LD_LIBRARY_PATH=$doubles/cuda PEAL_COMMAND=$work/slow PEAL_DOUBLE_DEVICES=2
seq 10 >lines.txt
"$peal" run -i lines.txt --json xor >out.txt 2>err.txt &
pid=$!
for _ in $(seq 600); do
    ! [ -s child.pid ] && kill -0 $pid 2>/dev/null || break
    sleep 0.05
done
if [ ! -s child.pid ]; then
    grep -q 'image' err.txt || fail 'no child proves pairs'
    says 'left out: there is no image for the double'
    exit 0
fi
kill -INT $pid
status=0
wait $pid || status=$?
[ $status = 130 ] || fail "exit status $status with a child"
ended "$(cat child.pid)" || fail 'the child lives on'
mv out.txt out.json
holds out.json "d == {'error': 'interrupted', 'exit_status': 130}"
says 'the child that probes pairs'

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that each wrong input gets an exit status and a message that names it.
# Items in front of a fault are delivered. No run hangs, and no file remains.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -x "$make_clip" ] || skip 'make_clip is not built'
"$make_clip" clip.y4m 10 160 120
seq 5000 >lines.txt

# ---- usage: exit 2 -------------------------------------------------------------
refuses 2 "argument 'COMMAND': is missing" "$peal"
refuses 2 "command 'fly': does not exist" "$peal" fly
refuses 2 "argument 'PIPELINE': is missing" "$peal" run
refuses 2 'is not expected' "$peal" run blur '!' sobel
refuses 2 "stage 'blurr': is unknown \(blurr, allowed blur, .*\); use blur" "$peal" run -i lines.txt blurr
grep -q '^  blurr$' err.txt && grep -q '^  ^$' err.txt || fail 'no caret'
refuses 2 "key 'lvl': is no key of stage 'threshold' \(lvl, allowed level\); use level" "$peal" run -i lines.txt 'threshold:lvl=3'
refuses 2 'out of range' "$peal" run -i lines.txt 'threshold:level=256'
refuses 2 "key 'level': is no whole number \(many, allowed 0..255\); use 128" "$peal" run -i lines.txt 'threshold:level=many'
refuses 2 'a stage is missing' "$peal" run -i lines.txt 'xor !'
refuses 2 'pipeline is empty' "$peal" run -i lines.txt ''
refuses 2 "device '9': does not exist .9, allowed 0..1.; use 0" "$peal" run -i lines.txt 'xor@9'
refuses 2 "option '--require': is no route of a stage .fast, allowed local, .*.; use staged" "$peal" run --require fast xor
refuses 2 "option '--capacity': must be a power of two \(3, allowed 1..1048576\); use 4" "$peal" run --capacity 3 xor
refuses 2 "option '--capacity': .* .0, allowed 1..1048576.; use 1" "$peal" run --capacity 0 xor
refuses 2 "option '--line-bytes': is no whole number .x, " "$peal" run --line-bytes x xor
refuses 2 'unrecognized option' "$peal" run --fast xor
refuses 2 "format 'mp4': is unknown \(mp4, allowed y4m, lines or records:BYTES\); use y4m" "$peal" run -i clip.y4m --format mp4 xor
refuses 2 "format 'records': .*; use records:4096" "$peal" run -i lines.txt --format records:0 xor
refuses 2 'floats' "$peal" run -i clip.y4m 'blur ! sqrt'

# With --json there is an object, even if the run fails before the stream
# begins.
refuses 2 "stage 'blurr': is unknown" "$peal" run --json -i lines.txt blurr
mv stdout.txt out.json
holds out.json "d['exit_status'] == 2" "\"stage 'blurr': is unknown\" in d['error']"
refuses 1 "cannot open input 'nowhere'" "$peal" run --json -i nowhere -o - xor
[ ! -s stdout.txt ] && grep -q '"exit_status": 1' err.txt || fail "items and report are mixed"
refuses 1 'PEAL_HOST_DEVICES' env PEAL_HOST_DEVICES=none "$peal" topo --json
mv stdout.txt out.json
holds out.json "d['exit_status'] == 1" "'PEAL_HOST_DEVICES' in d['error']"
"$peal" run --json -i lines.txt -o copy.txt xor >out.json || fail 'run'
holds out.json "'exit_status' not in d"

# ---- environment ---------------------------------------------------------------
refuses 1 'PEAL_HOST_DEVICES' env PEAL_HOST_DEVICES=none "$peal" run -i lines.txt xor
refuses 1 'PEAL_HOST_DEVICES' env PEAL_HOST_DEVICES=0 "$peal" info
if [ -z "${PEAL_BACKENDS:-}" ]; then # the topology is that of the host backend
    refuses 1 'PEAL_HOST_LINKS' env PEAL_HOST_LINKS=0-1:rope "$peal" run -i lines.txt xor
    refuses 1 'PEAL_HOST_LINKS' env PEAL_HOST_LINKS=0-7:pcie "$peal" topo
fi
refuses 1 'PEAL_LEASE_MS' env PEAL_LEASE_MS=-1 "$peal" run -i lines.txt xor

# ---- input ---------------------------------------------------------------------
refuses 1 "cannot open input 'nowhere.y4m'" "$peal" run -i nowhere.y4m xor
refuses 1 'is a directory' "$peal" run -i . xor
refuses 1 'no YUV4MPEG2' "$peal" run -i lines.txt --format y4m blur
refuses 2 '268435424' "$peal" run -i lines.txt --format records:268435456 xor
# A closed descriptor is refused by name. No other file takes its number.
status=0
timeout 20 "$peal" run --format lines xor 0<&- >closed.txt 2>&1 || status=$?
[ "$status" = 1 ] && grep -q "cannot read input '-'" closed.txt ||
    fail "closed input: exit status $status"
status=0
timeout 20 "$peal" run -i lines.txt --format lines -o - xor 2>closed.txt 1>&- || status=$?
[ "$status" = 1 ] && grep -q "cannot write output '-'" closed.txt ||
    fail "closed output: exit status $status"
frame=$((160 * 120 * 3 / 2))
header=$(head -n 1 clip.y4m | wc -c)
head -c $((header + 4 * (frame + 6) + 1000)) clip.y4m >cut.y4m
head -c $((header + 4 * (frame + 6))) clip.y4m >whole.y4m
refuses 1 'ends inside frame 5' "$peal" run -i cut.y4m -o out.y4m --verify 'invert ! invert'
cmp out.y4m whole.y4m || fail 'the frames before the cut were not delivered'
{ seq 100; head -c 200 /dev/zero | tr '\0' x; echo; seq 3; } >long.txt
refuses 1 'has too long a line, 101 .longer, allowed 0..64 bytes.; raise --line-bytes' "$peal" run -i long.txt -o out.txt \
    --format lines --line-bytes 64 xor:key=0
cmp out.txt <(seq 100) || fail 'the lines before the long one were not delivered'

# ---- output --------------------------------------------------------------------
refuses 1 "cannot open output './no/out'" "$peal" run -i lines.txt -o ./no/out xor
refuses 1 "output 'lines.txt' is the input" "$peal" run -i lines.txt -o lines.txt xor
cmp lines.txt <(seq 5000) || fail 'the input was touched'
seq 200000 >more.txt
refuses 1 "cannot write output '/dev/full'.*No space left" "$peal" run -i more.txt -o /dev/full 'xor ! xor'
status=0
{ timeout 20 "$peal" run -i more.txt -o - 'xor:key=0 ! xor:key=0' 2>err.txt || echo $? >status; } |
    head -c 10 >/dev/null
status=$(cat status 2>/dev/null || echo 0)
[ "$status" = 1 ] || fail "exit status $status when the output's reader has gone"
grep -q "output '-'.*Broken pipe" err.txt || fail 'a closed output is not named'
says 'a reader that goes away is named'

# ---- signals -------------------------------------------------------------------
mkfifo fifo
now() { date +%s%N; }

# start COMMAND...: runs the command with a FIFO as its input. Descriptor 3
# feeds the FIFO and keeps it open.
start() {
    rm -f out.txt
    : >copy.txt
    "$@" <fifo >out.txt 2>err.txt &
    pid=$!
    exec 3>fifo
    seq 1000 >&3
}

# ends_within MS: waits for the end of the command and sets $status.
ends_within() {
    local begin took
    begin=$(now)
    status=0
    wait $pid || status=$?
    took=$((($(now) - begin) / 1000000))
    exec 3>&-
    [ $took -le "$1" ] || fail "ended after $took ms, not $1"
    says "ended after $took ms"
}

for signal in INT TERM; do
    expected=130
    [ $signal = INT ] || expected=143
    start "$peal" run -i - -o copy.txt --json 'xor:key=0 ! xor:key=0'
    for _ in $(seq 100); do
        [ "$(wc -l 2>/dev/null <copy.txt)" != 1000 ] || break
        sleep 0.05
    done
    kill -$signal $pid
    ends_within 2000
    [ $status = $expected ] || fail "exit status $status after SIG$signal"
    cmp copy.txt <(seq 1000) || fail 'what was read was not delivered'
    grep -q 'peal: interrupted' err.txt || fail 'no word of the interruption'
    mv out.txt out.json
    holds out.json "d['interrupted'] is True" "d['items'] == 1000" \
        "d['error'] == 'interrupted' and d['exit_status'] == $expected" \
        "d['accepted'] == d['delivered'] == 3000"
done
says 'SIGINT and SIGTERM drain and report'

# A file is always readable. The signal ends the reading nevertheless, and no
# item is lost.
{ yes 'a line of no importance' || true; } | head -c 200000000 >large.txt
rm -f copy.txt
"$peal" run -i large.txt -o copy.txt --json --verify 'xor ! xor' >out.json 2>err.txt &
pid=$!
exec 3</dev/null
for _ in $(seq 200); do
    [ ! -s copy.txt ] || break
    sleep 0.02
done
kill -INT $pid
ends_within 2000
[ $status = 130 ] || fail "exit status $status after SIGINT"
holds out.json "d['interrupted'] is True and d['verified'] is True" \
    "0 < d['items'] < 8000000" "d['accepted'] == d['delivered'] == 3 * d['items']" \
    "d['dead_lettered'] == 0 and d['queued'] == 0"
{ cmp copy.txt large.txt 2>&1 || true; } | grep -q 'EOF on copy.txt' || fail 'not a part of the input'
rm large.txt copy.txt
says 'SIGINT ends the reading of a file'

# No process reads the output. The run cannot drain, and ends nevertheless.
mkfifo stuck
exec 4<>stuck
start "$peal" run -i - -o stuck --capacity 2 xor
seq 100000 >&3 2>/dev/null &
feeder=$!
for _ in $(seq 100); do # until the run stalls
    stuck=0
    "$peal" doctor --stall $pid >stuck.txt 2>&1 || stuck=$?
    ! { [ $stuck = 1 ] && grep -q 'receive' stuck.txt; } || break
    sleep 0.05
done
kill -INT $pid
ends_within 2100
[ $status = 130 ] || fail "exit status $status with a stuck output"
kill $feeder 2>/dev/null || true
wait $feeder 2>/dev/null || true
exec 4>&-
says 'a stuck output does not hold it'

start "$peal" run -i - -o copy.txt xor
for _ in $(seq 200); do
    [ "$(wc -l <copy.txt)" -lt 1000 ] || break
    sleep 0.05
done
# Other tests use /dev/shm too. So the test looks at the files of this process.
{ ls -l /proc/$pid/fd && cat /proc/$pid/maps; } >files.txt
grep -q 'copy.txt' files.txt || fail 'the open files are not listed'
! grep '/dev/shm/' files.txt || fail 'a file of /dev/shm is in use'
kill -KILL $pid
ends_within 1000
[ ! -e /proc/$pid ] || fail 'a process is left'
says 'SIGKILL leaves nothing'

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows the help of each command, and that --json prints each error as an
# object.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
commands='info topo run bench spawn doctor probe'
has_bench=1
"$peal" bench --help >/dev/null 2>&1 || has_bench=

# ---- help ------------------------------------------------------------------------
"$peal" help >out.txt 2>err.txt || fail 'peal help'
"$peal" --help | cmp - out.txt || fail 'peal help is not peal --help'
for command in $commands help; do
    grep -q "^  $command  " out.txt || fail "peal help does not name $command"
done
[ ! -s err.txt ] || fail 'peal help writes to stderr'
for command in $commands; do
    [ "$command" != bench ] || [ -n "$has_bench" ] || continue
    "$peal" help $command >out.txt 2>err.txt || fail "peal help $command"
    "$peal" $command --help | cmp - out.txt || fail "peal help $command is not --help"
    narrow out.txt
done
refuses 2 "command 'fly': does not exist \\(fly, allowed .* and help\\); use peal --help" "$peal" help fly
if [ -n "$has_bench" ]; then
    "$peal" help bench >out.txt
    for name in latency throughput stream echo request actors tells moves barrier \
        idle setup queues faults collectives transfers balance work tasks; do
        grep -Eq "^  $name +[a-z].{20,}" out.txt || fail "no line for the benchmark $name"
    done
    [ "$(sed -n '/^Benchmarks:/,/^$/p' out.txt | wc -l)" = 20 ] || fail 'not one line for each'
    "$peal" help bench latency | grep -q -- --samples-out || fail 'peal help bench latency'
fi
"$peal" help help | cmp - <("$peal" --help) || fail 'peal help help is not peal --help'
says 'help'

# ---- errors as JSON --------------------------------------------------------------
# json_error STATUS TEXT COMMAND...: fails unless stdout is an object with this
# error, and stderr is one line with TEXT.
json_error() {
    local status=$1 text=$2
    refuses "$status" "^peal( [a-z]+)*: .*$text" "${@:3}"
    [ "$(wc -l <err.txt)" = 1 ] || fail "more than one line on stderr: ${*:3}"
    mv stdout.txt out.json
    holds out.json "set(d) == {'error', 'exit_status'}" "d['exit_status'] == $status" \
        "'$text' in d['error'] and '\n' not in d['error']"
}
for command in $commands; do
    [ "$command" != bench ] || [ -n "$has_bench" ] || continue
    for order in '--json --wrong' '--wrong --json' '-j --wrong'; do
        # shellcheck disable=SC2086
        json_error 2 '--wrong' "$peal" $command $order
    done
done
json_error 2 "fly" "$peal" fly --json
json_error 2 'allowed one pipeline' "$peal" run --json
json_error 2 'must be a power of two' "$peal" run --capacity 3 -j xor
json_error 2 'is out of range' "$peal" spawn --json -n 0 -- true
json_error 2 'allowed a program and its arguments' "$peal" spawn -n 2 --json
json_error 2 'is no process id' "$peal" doctor --stall x --json
json_error 2 'is no process id' "$peal" doctor --stall +1 --json
for command in info topo doctor probe; do
    json_error 2 'is not expected' "$peal" $command more --json
done
json_error 2 'is no whole number' "$peal" spawn --json -n ' 2' -- true
json_error 1 'no runtime of process' "$peal" doctor --stall $$ --json
for command in topo probe 'run xor'; do
    # shellcheck disable=SC2086
    json_error 1 'PEAL_HOST_DEVICES' env PEAL_HOST_DEVICES=none "$peal" $command --json
done
if [ -n "$has_bench" ]; then
    json_error 2 '--wrong' "$peal" bench latency --json --wrong
    grep -q '^peal bench latency: ' err.txt || fail "the error names no command: $(cat err.txt)"
    json_error 2 'local, peer, mapped-host or staged' "$peal" bench latency --json --route foo
    json_error 2 '--wrong' "$peal" bench latency idle --wrong --json
    json_error 2 'is no benchmark' "$peal" bench fly --json
    json_error 2 'is not expected' "$peal" bench idle --seconds 1 more --json
    json_error 2 'has no such row' "$peal" bench latency --bytes 12345 --json
    json_error 2 'is no whole number' "$peal" bench latency --bytes 24.5 --json
    for bench in latency stream faults actors; do
        refuses 2 'has no such row .any route, 12345 bytes, allowed [a-z, -]+; [0-9, ]+ bytes.; leave' "$peal" bench $bench --bytes 12345
    done
    refuses 2 'has no such row .any route, 12345 bytes, allowed [0-9, ]+ bytes.; leave' "$peal" bench balance --bytes 12345
    json_error 1 'PEAL_LEASE_MS' env PEAL_LEASE_MS=-1 "$peal" bench latency --json
fi
# Options behind a program are the program's.
refuses 2 'Try .peal spawn --help' "$peal" spawn -n 0 true --json
[ ! -s stdout.txt ] || fail 'an object although --json belongs to the program'
# Items use stdout, so the object is on stderr.
refuses 2 'unrecognized option' "$peal" run --json --wrong -o - xor
[ ! -s stdout.txt ] && grep -q '"exit_status": 2' err.txt || fail 'items and errors are mixed'
# Without --json the text of argp stays.
refuses 2 'Try .peal info --help' "$peal" info --wrong
"$peal" info --json --help >out.txt 2>err.txt || fail '--json --help'
grep -q '^Usage: peal info' out.txt && ! grep -q exit_status out.txt || fail '--json --help'
says 'errors as JSON'

# ---- colour ------------------------------------------------------------------------
# in_terminal VARIABLE=VALUE... : runs doctor in a pseudo-terminal.
in_terminal() {
    python3 - "$@" "$peal" doctor >out.txt <<'END'
import os, pty, sys
arguments = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("env", ["env"] + arguments)
data = b""
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:
        break
    if not part:
        break
    data += part
os.waitpid(pid, 0)
sys.stdout.buffer.write(data)
END
}
escape=$'\033'
in_terminal -u NO_COLOR TERM=xterm PEAL_HOST_DEVICES=none
grep -q "^$escape\[32mPASS$escape\[0m    memfd_create" out.txt || fail 'no colour for PASS'
grep -q "^$escape\[31mFAIL$escape\[0m    settings" out.txt || fail 'no colour for FAIL'
in_terminal -u NO_COLOR TERM=xterm PEAL_CACHE_DIR=/dev/null/none
grep -q "^$escape\[33mWARN$escape\[0m    cache folder" out.txt || fail 'no colour for WARN'
in_terminal NO_COLOR= TERM=xterm
grep -q "$escape" out.txt || fail 'an empty NO_COLOR counts as not set'
for variables in 'NO_COLOR=1 TERM=xterm' '-u NO_COLOR TERM=dumb' '-u NO_COLOR -u TERM'; do
    # shellcheck disable=SC2086
    in_terminal $variables
    grep -q '^PASS    memfd_create' out.txt || fail "no report with $variables"
    ! grep -q "$escape" out.txt || fail "colour with $variables"
done
env -u NO_COLOR TERM=xterm "$peal" doctor >out.txt || fail 'peal doctor'
! grep -q "$escape" out.txt || fail 'colour into a file'
says 'colour'

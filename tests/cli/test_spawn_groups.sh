#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows the process groups of `peal spawn`. Programs of a wrapper script end with
# their rank after a failure and after a signal. They also end if spawn is killed.
# spawn names survivors. A terminal's input and signals reach the ranks.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export TMPDIR=$work/tmp
mkdir "$TMPDIR"

# ended PID: succeeds if the process is gone or a zombie.
ended() { ! kill -0 "$1" 2>/dev/null || grep -q 'State:.Z' "/proc/$1/status" 2>/dev/null; }
# until_true WORD...: waits until the command succeeds.
until_true() {
    for _ in $(seq 1200); do
        ! "$@" 2>/dev/null || return 0
        sleep 0.05
    done
    fail "never: $*"
}
stopped() { grep -q 'State:.T' "/proc/$1/status"; }
runs() { grep -q 'State:.[SR]' "/proc/$1/status"; }
have() { [ -s "$1" ]; }

# A wrapper script. Its program is no child of spawn.
cat >wrapper.sh <<'END'
bash -c 'echo $$ >"new.$PEAL_RANK"; mv "new.$PEAL_RANK" "pid.$PEAL_RANK"; sleep 300 & wait' &
until [ -s "pid.$PEAL_RANK" ]; do sleep 0.02; done
"$@"
END
# start ARGUMENT...: starts spawn in the background. Its id is $pid.
start() {
    rm -f pid.* go
    "$peal" spawn "$@" >out.txt 2>err.txt </dev/null &
    pid=$!
}
both_run() { until_true have pid.0; until_true have pid.1; }
both_ended() { for rank in 0 1; do ended "$(cat pid.$rank)" || fail "the program of rank $rank runs after $1"; done; }
status() { local got=0; wait "$pid" || got=$?; [ $got = "$1" ] || fail "exit status $got, not $1"; }

# ---- failure and signals ---------------------------------------------------------
# shellcheck disable=SC2016
start -n 2 -- bash wrapper.sh bash -c 'until [ -e go ]; do sleep 0.02; done; [ "$PEAL_RANK" = 0 ] && exit 6; wait; sleep 300'
both_run
touch go
status 6
both_ended 'a failure'
! grep -q 'still runs' err.txt || fail 'a survivor after a failure'
for signal in TERM INT; do
    start -n 2 -- bash wrapper.sh sleep 300
    both_run
    kill -$signal $pid
    wait $pid || true
    both_ended "SIG$signal"
done
# A program that ignores SIGTERM gets SIGKILL after the grace time, also if its
# wrapper has ended at once.
start -n 2 --grace 300 -- bash -c 'trap "" TERM; bash wrapper.sh true & trap - TERM; wait; sleep 300'
both_run
kill -TERM $pid
wait $pid || true
both_ended 'SIGTERM that it ignores'
says 'failure and signals'

# ---- spawn itself is killed ------------------------------------------------------
start -n 2 --grace 300 -- bash -c 'trap "" TERM; exec bash wrapper.sh sleep 300'
both_run
kill -KILL $pid
wait $pid 2>/dev/null || true
for rank in 0 1; do until_true ended "$(cat pid.$rank)"; done
rm -rf "${TMPDIR:?}"/*
says 'spawn is killed'

# ---- survivors -------------------------------------------------------------------
start -n 1 --json -- bash -c 'setsid sleep 301 & echo $! >pid.0
    until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done; exit 3'
status 3
grep -q 'still runs; it has left the process group' err.txt || fail 'a survivor is not named'
holds out.txt "[s['name'] for s in d['survivors']] == ['sleep']" \
    "d['survivors'][0]['rank'] is None and d['survivors'][0]['pid'] == $(cat pid.0)"
kill "$(cat pid.0)"
# After success the programs in the background continue.
start -n 1 -- bash -c 'sleep 302 & echo $! >pid.0
    until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done'
status 0
grep -q 'process [0-9]* (sleep) of rank 0 still runs' err.txt || fail 'a program in the background'
kill "$(cat pid.0)"
"$peal" spawn -n 2 --json -- true >out.json
holds out.json "d['survivors'] == []"
says 'survivors'

# ---- a terminal ------------------------------------------------------------------
cat >terminal.py <<'END'
import os, pty, signal, subprocess, sys, time

def until(what, condition):
    end = time.time() + 60
    while not condition():
        if time.time() > end:
            sys.exit("never: " + what)
        time.sleep(0.02)

def state(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"

def session():
    os.setsid()
    import fcntl, termios
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)

master, slave = pty.openpty()
script = 'echo $$ >"pid.$PEAL_RANK"; read -r line && echo "$line" >"line.$PEAL_RANK"; sleep 300; true'
spawn = subprocess.Popen([sys.argv[1], "spawn", "-n", "2", "--", "bash", "-c", script],
                         stdin=slave, stdout=slave, stderr=slave, preexec_fn=session)
pids = []
for rank in (0, 1):
    until("a rank", lambda: os.path.exists(f"pid.{rank}") and open(f"pid.{rank}").read().strip())
    pids.append(int(open(f"pid.{rank}").read()))
os.write(master, b"hello\n")
until("input", lambda: os.path.exists("line.0") and open("line.0").read() == "hello\n")
if os.path.exists("line.1"):
    sys.exit("rank 1 has read the terminal")
# an orphaned session leader ignores the terminal's stop, so the signal is sent
spawn.send_signal(signal.SIGTSTP)
until("stop", lambda: all(state(p) == "T" for p in pids + [spawn.pid]))
spawn.send_signal(signal.SIGCONT)
until("continue", lambda: all(state(p) in "SR" for p in pids + [spawn.pid]))
os.write(master, b"\x03")
if spawn.wait(60) != 130:
    sys.exit(f"exit status {spawn.returncode} after Ctrl-C")
if any(state(p) != "Z" for p in pids):
    sys.exit("a rank runs after Ctrl-C")
END
rm -f pid.* line.*
log=$(timeout 200 python3 terminal.py "$peal" 2>&1) || fail "terminal: $log"
says 'a terminal'

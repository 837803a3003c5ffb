#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows `peal spawn`: the environment and output of its processes, signals and
# exit statuses. No process and no file remains.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export TMPDIR=$work/tmp
mkdir "$TMPDIR"

# spawn STATUS ARGUMENT...: fails unless spawn exits with STATUS and leaves no
# file.
spawn() {
    local status=$1 got=0
    shift
    timeout 60 "$peal" spawn "$@" >out.txt 2>err.txt </dev/null || got=$?
    [ "$got" = "$status" ] || fail "exit status $got, not $status: spawn $*"
    [ -z "$(ls "$TMPDIR")" ] || fail "left in the temporary folder: $(ls "$TMPDIR")"
}
lines() { sort out.txt | tr '\n' '|'; }

# ---- the environment of each process -----------------------------------------
spawn 0 -n 3 -- bash -c 'echo "$PEAL_RANK of $PEAL_RANKS"'
[ "$(lines)" = '0 of 3|1 of 3|2 of 3|' ] || fail "ranks: $(lines)"
# shellcheck disable=SC2016
spawn 0 -n 2 bash -c 'echo "$PEAL_RENDEZVOUS"; [ -d "$(dirname "$PEAL_RENDEZVOUS")" ]'
[ "$(uniq out.txt | wc -l)" = 1 ] || fail 'not one rendezvous for all'
grep -q "^$TMPDIR/" out.txt || fail 'the rendezvous is not in TMPDIR'
spawn 0 -n 2 --rendezvous meet -- bash -c 'echo "$PEAL_RENDEZVOUS"; echo x >"$PEAL_RENDEZVOUS"'
[ "$(sort -u out.txt)" = "$work/meet" ] || fail "--rendezvous: $(cat out.txt)"
[ ! -e meet ] || fail 'the rendezvous file stays'
printf 'line\n' | "$peal" spawn -n 2 --keep -- bash -c 'read -r x && echo "$PEAL_RANK $x"' >out.txt || true
[ "$(cat out.txt)" = '0 line' ] || fail "standard input is not rank 0's: $(cat out.txt)"
says 'ranks, rendezvous, standard input'

# ---- one process per device --------------------------------------------------
# Without -n, process i sees only device i.
export PEAL_BACKENDS=host PEAL_HOST_DEVICES=3
export PEAL_HOST_LINKS=0-2:pcie PEAL_HOST_CLOCKS=0:7:1,2:-5:50 PEAL_HOST_DISABLE=1:unified
spawn 0 --label -- bash -c 'echo "$PEAL_RANKS $PEAL_BACKENDS $PEAL_HOST_DEVICES ${PEAL_HOST_LINKS-no}" \
    "${PEAL_HOST_CLOCKS-no} ${PEAL_HOST_DISABLE-no}"'
[ "$(lines)" = '[0] 3 host 1 no 0:7:1 no|[1] 3 host 1 no no 0:unified|[2] 3 host 1 no 0:-5:50 no|' ] ||
    fail "devices: $(lines)"
# echo writes each line by one call, unlike an unbuffered Python
spawn 0 -- bash -c 'n=$("$0" info --json | python3 -c "import json, sys; print(len(json.load(sys.stdin)[\"devices\"]))"); echo "$n"' "$peal"
[ "$(lines)" = '1|1|1|' ] || fail "numbers of devices: $(lines)"
# With -n it sees all of them, unless --bind device assigns them.
spawn 0 -n 2 -- bash -c 'echo "$PEAL_HOST_DEVICES $PEAL_HOST_LINKS"'
[ "$(lines)" = '3 0-2:pcie|3 0-2:pcie|' ] || fail "-n: $(lines)"
spawn 0 -n 2 --bind device --json -- bash -c 'exit $((PEAL_HOST_DEVICES - 1))'
holds out.txt "[p['device'] for p in d['processes']] == ['host 0', 'host 1']" \
    "all(p['cores'] is None for p in d['processes'])"
unset PEAL_HOST_LINKS PEAL_HOST_CLOCKS PEAL_HOST_DISABLE
refuses 1 "option '--processes': exceeds the devices for --bind device .4, allowed 1..3.; use -n 3," \
    "$peal" spawn -n 4 --bind device -- true
# A set of one process per device: each device is used by its own process.
if [ -x "$build/examples/24_processes" ]; then
    spawn 0 --label -- "$build/examples/24_processes"
    grep -q '^\[0\] around 3 processes: HELLO, PROCESSES$' out.txt || fail 'a set of devices'
fi
# --bind numa: the process may use the cores of a node. By default it may use all.
mine=$(grep Cpus_allowed_list /proc/self/status)
spawn 0 --json -- true
holds out.txt "len(d['processes']) == 3 and all(p['cores'] is None for p in d['processes'])"
if [ -e /sys/devices/system/node/node0/cpulist ]; then
    core=$(python3 -c 'import os; print(max(os.sched_getaffinity(0)))')
    taskset -c "$core" timeout 60 "$peal" spawn -n 2 --bind numa --json -- \
        grep Cpus_allowed_list /proc/self/status >out.json 2>err.txt || fail '--bind numa'
    holds out.json "[p['cores'] for p in d['processes']] == ['$core'] * 2"
    grep -qP "Cpus_allowed_list:\t$core\$" err.txt || fail 'it is not bound'
fi
spawn 0 -n 1 -- grep Cpus_allowed_list /proc/self/status
[ "$(cat out.txt)" = "$mine" ] || fail "bound by default: $(cat out.txt)"
says 'devices, cores'

# near_devices VENDOR ADDRESS: a process may use the cores of the NUMA node of its
# device. Another /sys gives device 0 node 1, device 1 node 0, device 2 no node.
near_devices() {
    local vendor=$1 address=$2 device first last
    read -r first last < <(python3 -c 'import os; c = sorted(os.sched_getaffinity(0)); print(c[0], c[-1])')
    for device in 0 1; do
        mkdir -p "root/sys/devices/system/node/node$device" \
            "root/sys/bus/pci/devices/$address:0$device:00.0"
        echo $((1 - device)) >"root/sys/bus/pci/devices/$address:0$device:00.0/numa_node"
    done
    echo "$first" >root/sys/devices/system/node/node0/cpulist
    echo "$last" >root/sys/devices/system/node/node1/cpulist
    # shellcheck disable=SC2016
    LD_PRELOAD=$build/tests/fault/preload/sys_root.so PEAL_TEST_ROOT=$work/root \
        LD_LIBRARY_PATH=$build/doubles/$vendor PEAL_BACKENDS=$vendor PEAL_DOUBLE_DEVICES=3 \
        spawn 0 --bind device --json -- \
        bash -c 'echo "$PEAL_RANK $(sed -n s/^Cpus_allowed_list:.//p /proc/self/status)"'
    holds out.txt "[p['cores'] for p in d['processes']] == ['$last', '$first', None]" \
        "[p['device'] for p in d['processes']] == ['$vendor 0', '$vendor 1', '$vendor 2']"
    [ "$(sort err.txt)" = "0 $last"$'\n'"1 $first"$'\n'"2 ${mine##*$'\t'}" ] ||
        fail "--bind device: $(sort err.txt)"
}

# GPUs: their drivers hide the others. On a double they have no NUMA node in the
# /sys of this machine.
if [ -e "$build/doubles/cuda/libcuda.so.1" ] && ! sanitized; then
    gpus() { LD_LIBRARY_PATH=$build/doubles/$1 PEAL_BACKENDS=$1 PEAL_DOUBLE_DEVICES=2 spawn 0 --label -- bash -c "echo \$PEAL_BACKENDS \$$2"; }
    gpus cuda CUDA_VISIBLE_DEVICES
    [ "$(lines)" = '[0] cuda 0|[1] cuda 1|' ] || fail "GPUs: $(lines)"
    CUDA_VISIBLE_DEVICES=3,GPU-x gpus cuda CUDA_VISIBLE_DEVICES
    [ "$(lines)" = '[0] cuda 3|[1] cuda GPU-x|' ] || fail "listed GPUs: $(lines)"
    CUDA_VISIBLE_DEVICES=5,4 gpus hip HIP_VISIBLE_DEVICES
    [ "$(lines)" = '[0] hip 5|[1] hip 4|' ] || fail "AMD's GPUs: $(lines)"
    near_devices cuda ffff
    near_devices hip fffe
    LD_LIBRARY_PATH=$build/doubles/cuda PEAL_BACKENDS=cuda PEAL_GPU_SPLIT=2 refuses 1 \
        "variable 'PEAL_GPU_SPLIT': splits GPUs, .* .2, allowed 1.; unset it" "$peal" spawn -- true
    none() {
        LD_LIBRARY_PATH=$build/doubles/hip PEAL_BACKENDS=hip PEAL_DOUBLE_FAIL=hipInit:999:0 refuses 1 "$@"
    }
    none "option '--processes': is missing, and no device can be used .0, allowed 1..64.; set it by -n N" \
        "$peal" spawn -- true
    none "option '--bind': finds no device that can be used .device, allowed numa or none.; use" \
        "$peal" spawn -n 2 --bind device -- true
    says 'GPUs'
fi
PEAL_BACKENDS=host PEAL_HOST_LINKS=0-1:rope refuses 1 "PEAL_HOST_LINKS" "$peal" spawn -- true
! grep -q 'no device' err.txt || fail 'a wrong setting is called a missing device'
# The parent may have ignored SIGCHLD.
(trap '' CHLD; PEAL_BACKENDS=host "$peal" spawn -- true) || fail 'SIGCHLD is ignored'
unset PEAL_BACKENDS PEAL_HOST_DEVICES

# ---- output ------------------------------------------------------------------------
spawn 0 -n 2 --label -- bash -c 'echo out; echo err >&2; printf "%5000s\n" x; printf rest'
[ "$(grep -c '^\[0\] out$' out.txt)" = 1 ] || fail 'label of stdout'
[ "$(grep -c '^\[1\] err$' err.txt)" = 1 ] || fail 'label of stderr'
[ "$(grep -c '^\[1\] rest$' out.txt)" = 1 ] || fail 'a last line without newline'
[ "$(wc -l <out.txt)" = 8 ] || fail "lines of 5000 are cut into two: $(wc -l <out.txt)"
! grep -qv '^\[[01]\] ' out.txt || fail 'a line without label'
# A process that keeps the pipe open does not keep spawn waiting.
start=$SECONDS
spawn 0 -n 1 --label -- bash -c 'sleep 30 & echo there'
[ "$(cat out.txt)" = '[0] there' ] || fail 'what a parent printed'
[ $((SECONDS - start)) -lt 25 ] || fail 'it waited for a grandchild'
# A closed output ends a process that writes, as without labels.
{
    timeout 60 "$peal" spawn -n 2 --label -- bash -c 'while echo more; do :; done' 2>err.txt || echo $? >status.txt
} | head -1 >out.txt
[ "$(cat status.txt)" != 124 ] || fail 'spawn goes on after its output was closed'
says 'labels'

# ---- failure -----------------------------------------------------------------------
spawn 7 -n 3 -- bash -c '[ "$PEAL_RANK" = 1 ] && exit 7; exec sleep 60'
grep -Eq 'rank 1 \(pid [0-9]+\) ended with exit status 7' err.txt || fail 'who failed is not named'
grep -q ' 2 other processes: SIGTERM now' err.txt || fail 'the number of the others'
spawn 137 -n 2 -- bash -c '[ "$PEAL_RANK" = 0 ] && kill -9 $$; exec sleep 60'
grep -Eq 'rank 0 \(pid [0-9]+\) was ended by signal 9 \(Killed\)' err.txt || fail 'the signal is not named'
grep -q ' 1 other process: SIGTERM now' err.txt || fail 'a plural of one'
# A process that ignores SIGTERM is killed.
spawn 3 -n 2 --grace 300 -- bash -c 'if [ "$PEAL_RANK" = 0 ]; then until [ -e deaf ]; do sleep 0.05; done; exit 3; fi
    trap "" TERM; touch deaf; while :; do sleep 0.1; done'
# With --keep the other process ends by itself. It writes some time after spawn
# has seen the end of the first one.
spawn 4 -n 2 --keep -- bash -c 'if [ "$PEAL_RANK" = 0 ]; then echo $$ >first; mv first first.pid; exit 4; fi
    until [ -e first.pid ]; do sleep 0.02; done
    while kill -0 "$(cat first.pid)" 2>/dev/null; do sleep 0.02; done
    sleep 0.1; echo kept'
[ "$(cat out.txt)" = kept ] || fail '--keep'
refuses 127 "cannot start './none' as rank 0: No such file" "$peal" spawn -n 2 -- ./none
! grep -q SIGTERM err.txt || fail 'nobody is there to be told'
touch no-program
refuses 126 "cannot start './no-program' as rank 0: Permission denied" "$peal" spawn -n 2 -- ./no-program
spawn 127 -n 2 --json -- ./none
! grep -q SIGTERM err.txt || fail 'nobody is there to be told'
holds out.txt "d['ok'] is False and d['first_failed'] == 0 and d['exit_status'] == 127" \
    "d['error'] == \"cannot start './none' as rank 0: No such file or directory\"" \
    "not any(p['told_to_end'] for p in d['processes'])" \
    "all(p['pid'] is None and p['exit_status'] is None for p in d['processes'])"
says 'failures'

# ---- signals -----------------------------------------------------------------------
cat >trap.sh <<'END'
trap 'echo "$PEAL_RANK usr1"' USR1
trap 'echo "$PEAL_RANK term"; exit 0' TERM
touch "ready.$PEAL_RANK"
while :; do sleep 0.05; done
END
rm -f ready.*
"$peal" spawn -n 2 -- bash trap.sh >out.txt 2>err.txt &
pid=$!
for _ in $(seq 600); do [ -e ready.0 ] && [ -e ready.1 ] && break; sleep 0.05; done
kill -USR1 $pid
for _ in $(seq 600); do [ "$(grep -c usr1 out.txt)" = 2 ] && break; sleep 0.05; done
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = 0 ] || fail "exit status $status after handed signals"
[ "$(lines)" = '0 term|0 usr1|1 term|1 usr1|' ] || fail "signals: $(lines)"
# If spawn is killed, its processes end.
rm -f ready.*
"$peal" spawn -n 2 --rendezvous orphans -- bash -c 'echo $$ >"pid.$PEAL_RANK"; exec sleep 60' &
pid=$!
for _ in $(seq 600); do [ -s pid.0 ] && [ -s pid.1 ] && break; sleep 0.05; done
kill -KILL $pid
wait $pid 2>/dev/null || true
# ended PID: succeeds if the process is gone, or if its parent has not waited
# yet.
ended() { ! kill -0 "$1" 2>/dev/null || grep -q 'State:.Z' "/proc/$1/status" 2>/dev/null; }
for rank in 0 1; do
    for _ in $(seq 600); do
        ! ended "$(cat pid.$rank)" || break
        sleep 0.05
    done
    ended "$(cat pid.$rank)" || fail "rank $rank lives on without spawn"
done
says 'signals'

# ---- JSON --------------------------------------------------------------------------
got=0
"$peal" spawn -n 2 --json -- bash -c 'echo noise; [ "$PEAL_RANK" = 1 ] && exit 5; exec sleep 60' \
    >out.json 2>err.txt || got=$?
[ $got = 5 ] || fail "exit status $got with --json"
holds out.json "d['n'] == 2 and d['ok'] is False and d['first_failed'] == 1" \
    "d['exit_status'] == 5 and d['processes'][1]['exit_status'] == 5" \
    "d['error'].startswith('rank 1 (pid ') and 'ended with exit status 5' in d['error']" \
    "d['processes'][0]['signal'] == 15 and d['processes'][0]['told_to_end'] is True" \
    "d['processes'][1]['told_to_end'] is False and d['processes'][1]['signal'] is None"
[ "$(grep -c '^noise$' err.txt)" -ge 1 ] || fail 'with --json stdout goes to stderr'
"$peal" spawn -n 2 --json -- true >out.json || fail 'two that are well'
holds out.json "d['ok'] is True and d['exit_status'] == 0 and d['first_failed'] is None" \
    "d['error'] is None"
says 'JSON'

# ---- a process group ---------------------------------------------------------
if [ -x "$build/examples/24_processes" ]; then
    for n in 1 2 3; do
        spawn 0 -n $n --label -- "$build/examples/24_processes"
        grep -q "^\[0\] around $n process\(es\)\?: HELLO, PROCESSES$" out.txt || fail "a set of $n"
        grep -q '^\[0\] sum: 499999500000$' out.txt || fail "the sum of $n"
    done
    # The variables of an MPI launcher work, too: rank, number of ranks and job.
    for r in 0 1; do
        env OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE="job.$$" \
            XDG_RUNTIME_DIR="$work" "$build/examples/24_processes" >"mpi.$r" 2>err.txt &
    done
    wait
    grep -q 'around 2 processes: HELLO' mpi.0 || fail "by an MPI launcher's variables: $(cat mpi.0)"
    "$build/examples/24_processes" >out.txt || fail 'alone'
    grep -q 'peal spawn -n N' out.txt || fail 'alone it does not say how to start it'
    says 'a process group'
else
    says 'left out: 24_processes is not built'
fi

# ---- wrong use ---------------------------------------------------------------------
refuses 2 "option '--processes': is out of range \(0, allowed 1..64\); use 1" "$peal" spawn -n 0 -- true
refuses 2 "option '--processes': is out of range .65, allowed 1..64.; use 64" "$peal" spawn -n 65 -- true
refuses 2 "option '--processes': .* .2x, " "$peal" spawn -n 2x -- true
refuses 2 "option '--bind': is not known .core, allowed device, numa or none.; use --bind none" "$peal" spawn --bind core -- true
refuses 2 "argument 'PROGRAM': is missing" "$peal" spawn -n 2
refuses 2 "option '--grace': .* .-1, allowed 0..3600000.; use 0" "$peal" spawn -n 2 --grace -1 -- true
touch there
refuses 1 "option '--rendezvous': exists already .there, allowed a new path.; pass another path" "$peal" spawn -n 2 --rendezvous there -- true
[ -e there ] || fail 'a file that it has not made is gone'
export TMPDIR=$work/no/such
refuses 1 'cannot make a folder' "$peal" spawn -n 2 -- true
says 'wrong use'

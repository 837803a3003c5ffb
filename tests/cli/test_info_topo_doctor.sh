#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows the output of info, topo and doctor: tables, and JSON with equal
# content.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

json() { # COMMAND [ARGUMENT...]
    "$peal" "$@" --json >out.json 2>err.txt || fail "peal $*"
    python3 -m json.tool out.json >/dev/null || fail "peal $*: no JSON"
    holds out.json 'isinstance(d, dict)'
}

[ "$("$peal" --version)" = 'peal 0.2.0' ] || fail '--version'
for command in '' info topo run bench spawn doctor; do
    status=0
    # shellcheck disable=SC2086
    "$peal" $command --help >help.txt 2>err.txt || status=$?
    [ $status = 0 ] || [ "$command $status" = 'bench 77' ] ||
        fail "peal $command --help: exit status $status"
done
"$peal" run --help | grep -q 'threshold' || fail 'the help of run has no stages'
says 'version and help'

# ---- info ------------------------------------------------------------------------
json info
holds out.json "d['version'] == '0.2.0'" "d['emulated'] is True" \
    "[b['name'] for b in d['backends'] if b['available']] == ['host']" \
    "[b['name'] for b in d['backends']] == ['cuda', 'hip', 'host']" \
    "all(b['reason'] for b in d['backends'] if not b['available'])" \
    "len(d['devices']) == 2" \
    "[p['name'] for p in d['programs']] == ['peal_stages', 'peal_collective', 'peal_graph', 'peal_relay', 'peal_work_share']" \
    "'host ${PEAL_IMAGE_TARGETS?}'.replace(';', ' ').split() == [i['target'] for i in d['programs'][0]['images']]" \
    "all(i['bytes'] > 1000 for i in d['programs'][0]['images'][1:])" \
    "all(v['memory_bytes'] > 0 and v['compute_units'] > 0 for v in d['devices'])" \
    "all(v['backend'] == 'host' and v['emulated'] and v['policies'] for v in d['devices'])" \
    "all(v['architecture'] == 'host' and v['max_cluster_workers'] == 0 for v in d['devices'])" \
    "all(v['capabilities'] == 'peer unified atomics cooperative' for v in d['devices'])" \
    "all(v['lost'] is False for v in d['devices'])" \
    "all(s['help'] and s['origin'] in ('default', 'environment') and s['valid'] for s in d['settings'])" \
    "{s['name']: s['origin'] for s in d['settings']}['PEAL_CACHE_DIR'] == 'environment'" \
    "{s['name']: s['default'] for s in d['settings']}['PEAL_HOST_DEVICES'] == '2'"
export PEAL_HOST_DEVICES=3
json info
holds out.json "len(d['devices']) == 3" \
    "{s['name']: (s['value'], s['origin']) for s in d['settings']}['PEAL_HOST_DEVICES'] == ('3', 'environment')"
"$peal" info >text.txt || fail 'peal info'
narrow text.txt
PEAL_HOST_DISABLE=1:unified+cooperative "$peal" info >text.txt || fail 'peal info'
grep -q 'peer atomics' text.txt && grep -q 'peer unified atomics cooperative' text.txt ||
    fail 'peal info shows no capabilities'
"$peal" info >text.txt || fail 'peal info'
grep -q 'emulated' text.txt && grep -q 'PEAL_HOST_LINKS' text.txt || fail 'peal info as text'
! grep -q $'\033' text.txt || fail 'colour into a file'
# each field of the struct has a key, and each key that is no mask has a heading
python3 - out.json text.txt "$PEAL_SOURCE_DIR/include/peal/device.h" <<'END' || fail 'peal info hides a field'
import json, re, sys
device = json.load(open(sys.argv[1]))["devices"][0]
text = open(sys.argv[2]).read()
header = open(sys.argv[3]).read()
body = re.search(r"struct peal_device_info \{(.*?)\n\};", header, re.S).group(1)
fields = re.findall(r"^\t\w+ (\w+)(?:\[\d+\])?;", body, re.M)
assert len(fields) == 15, fields
for field in fields:
    assert field in device, field
for heading in ("uuid", "memory used", "NUMA node", "peers", "architecture",
                "capabilities", "workers per cluster", "policies", "lost"):
    assert heading in text, heading
assert device["uuid"] in text, device["uuid"]
END
PEAL_HOST_LINKS=0-1:nvlink,0-2:pcie,1-2:none json info
holds out.json "[v['peers'] for v in d['devices']] == ['1-2', '0', '0']"
PEAL_HOST_LINKS=0-1:none,0-2:none,1-2:none json info
holds out.json "[v['peers'] for v in d['devices']] == [None] * 3"
refuses 1 'PEAL_HOST_DEVICES' env PEAL_HOST_DEVICES=none "$peal" info --json
mv stdout.txt out.json
holds out.json "d['exit_status'] == 1 and 'PEAL_HOST_DEVICES' in d['error']" \
    "{s['name']: s['valid'] for s in d['settings']}['PEAL_HOST_DEVICES'] is False"
says 'info'

# ---- topo ------------------------------------------------------------------------
export PEAL_HOST_LINKS=0-1:nvlink,0-2:pcie,1-2:none
json topo
holds out.json "d['devices'] == 3 and len(d['pairs']) == 9" \
    "{(p['from'], p['to']) for p in d['pairs']} == {(a, b) for a in range(3) for b in range(3)}" \
    "all(p['route'] == 'local' for p in d['pairs'] if p['from'] == p['to'])" \
    "all(p['why'] and p['verdict'] and p['kind'] for p in d['pairs'])" \
    "[p for p in d['pairs'] if (p['from'], p['to']) == (0, 1)][0]['route'] == 'peer'" \
    "[p for p in d['pairs'] if (p['from'], p['to']) == (0, 1)][0]['verdict'] == 'ok'" \
    "[p for p in d['pairs'] if (p['from'], p['to']) == (0, 1)][0]['latency_one_way_ns'] > 0" \
    "[p for p in d['pairs'] if (p['from'], p['to']) == (0, 1)][0]['bandwidth_bytes_per_s'] > 0" \
    "[p for p in d['pairs'] if (p['from'], p['to']) == (1, 2)][0]['verdict'] == 'no-access'" \
    "[p for p in d['pairs'] if (p['from'], p['to']) == (2, 1)][0]['route'] in ('staged', 'mapped-host')"
holds out.json "d['pairs'][1]['policies'].split()[0] == 'sequence'" \
    "d['pairs'][5]['policies'] is None and d['pairs'][5]['policies_why']"
[ "$(grep -c '"from"' out.json)" = 9 ] || fail 'not one line per pair'
"$peal" topo >text.txt || fail 'peal topo'
narrow text.txt
for word in '^3 devices' emulated 'Route' 'Verdict' '[0-9] [nu]s' '[0-9] [GM]B/s' 'row = from' no-access; do
    grep -q -- "$word" text.txt || fail "peal topo does not show '$word'"
done
grep -q 'policies' text.txt || fail 'peal topo does not show policies'
says 'topo'

# ---- a pair that tears 16-byte stores ----------------------------------------------
export PEAL_HOST_LINKS='0>1:nvlink!torn'
json topo
for i in 1 3; do
    holds out.json "d['pairs'][$i]['verdict'] == 'ok' and d['pairs'][$i]['route'] == 'peer'" \
        "'atom8' in d['pairs'][$i]['policies']"
done
holds out.json "'atom16' not in d['pairs'][1]['policies']"
PEAL_PROBE=fresh PEAL_LOG=1 "$peal" probe >text.txt 2>log.txt || fail 'peal probe'
if grep -q atom16 text.txt; then # the processor has atoms of 16 bytes
    grep -q 'device 0 -> device 1: 16-byte stores arrive torn; links .* no 16-byte atoms' log.txt ||
        fail 'no line about torn stores in the log'
    grep -q 'device 1 -> device 0: 16-byte' log.txt && fail 'a sound direction is torn'
    json doctor
    holds out.json "[(c['status'], c['finding'].split(':')[0]) for c in d['checks'] if c['check'] == 'torn stores'] == [('WARN', '0 to 1')]" \
        "any(c['check'] == 'torn stores' and 'messages go peer' in c['finding'] and 'atom8' in c['fix'] for c in d['checks'])"
fi
export PEAL_HOST_LINKS=0-1:nvlink,0-2:pcie,1-2:none
says 'torn'

# ---- doctor ----------------------------------------------------------------------
json doctor
holds out.json "d['ok'] is True and d['failed'] == 0" \
    "{c['status'] for c in d['checks']} <= {'PASS', 'WARN', 'FAIL', 'WAIVED'}" \
    "{'cores', 'memlock', 'memfd_create', 'io_uring', 'huge pages', 'clock', 'cache folder', 'settings', 'runtime'} <= {c['check'] for c in d['checks']}" \
    "all(c['fix'] for c in d['checks'] if c['status'] in ('WARN', 'FAIL'))" \
    "{'backend cuda', 'backend hip'} <= {c['check'] for c in d['checks']}" \
    "any(c['status'] == 'WARN' and '1 to 2' in c['finding'] for c in d['checks'])"
"$peal" doctor >text.txt || fail 'peal doctor'
grep -q 'passed' text.txt || fail 'peal doctor as text'
narrow text.txt
status=0
PEAL_HOST_LINKS=0-1:rope "$peal" doctor --json >out.json 2>err.txt || status=$?
[ $status = 1 ] || fail "exit status $status of a doctor that found a failure"
holds out.json "d['ok'] is False" \
    "any(c['status'] == 'FAIL' and 'PEAL_HOST_LINKS' in c['finding'] for c in d['checks'])"
# Peal uses no file of /dev/shm, so its absence is no finding.
holds out.json "not any('shm' in c['check'] + c['finding'] for c in d['checks'])"
PEAL_LOGG=1 PEAL_HOST_DEVICE=3 "$peal" doctor --json >out.json || fail 'doctor with misspelt settings'
holds out.json "sorted((c['status'], c['finding'].split()[0], c['finding'].split()[-1]) for c in d['checks'] if c['check'] == 'unknown setting') == [('WARN', 'PEAL_HOST_DEVICE', 'PEAL_HOST_DEVICES'), ('WARN', 'PEAL_LOGG', 'PEAL_LOG')]" \
    "all(c['fix'] for c in d['checks'] if c['status'] in ('WARN', 'FAIL'))"
PEAL_LOGG=1 PEAL_LOG=1 "$peal" info >out.txt 2>err.txt || fail 'info with a misspelt setting'
grep -q '^peal: PEAL_LOGG is no setting of Peal; the nearest one is PEAL_LOG$' err.txt || fail 'no line in the log'
says 'doctor'

# ---- doctor --stall --------------------------------------------------------------
# A run that waits for its input. Later no process takes its output.
mkfifo in.fifo out.fifo
"$peal" run --format lines -i in.fifo -o out.fifo xor >run.txt 2>&1 &
run=$!
exec 8>in.fifo 9<out.fifo
# A failure ends both processes, too: CTest waits for every process that has its
# output.
feed=
trap 'kill -CONT $run 2>/dev/null || :; kill $feed $run 2>/dev/null || :; rm -rf "$work"' EXIT
# asks N PATTERN: repeats until the exit status is N and the answer contains
# PATTERN. On a busy machine a worker without a core looks stalled, and some
# links fill late.
asks() {
    local status i
    for i in $(seq 100); do
        status=0
        "$peal" doctor --stall $run --json >out.json 2>err.txt || status=$?
        [ $status != "$1" ] || ! grep -q "$2" out.json || return 0
        sleep 0.2
    done
    fail "exit status $status, not $1: doctor --stall"
}
asks 0 '"causes"'
holds out.json "d['ok'] is True and d['causes'] == [] and d['pid'] == $run"
"$peal" doctor --stall $run >text.txt || fail 'doctor --stall as text'
grep -q "process $run: no stall" text.txt || fail 'no stall'
head -c 30000000 /dev/zero | tr '\0' 'x' | fold -w 100 >&8 2>/dev/null &
feed=$!
asks 1 '"cause": "receive".*"links": 2,'
holds out.json "d['ok'] is False and d['n_causes'] == 1" \
    "d['causes'][0]['cause'] == 'receive' and d['causes'][0]['device'] is None" \
    "d['causes'][0]['messages'] > 0 and d['causes'][0]['links'] == 2" \
    "d['causes'][0]['without_progress_ms'] >= 100" \
    "'the host does not receive at' in d['causes'][0]['finding']" \
    "int(d['causes'][0]['address'], 16) > 0 and d['causes'][0]['fix'].startswith('receive')"
for _ in $(seq 100); do
    "$peal" doctor --stall $run >text.txt && fail 'there is a stall'
    ! grep -q 'does not receive at' text.txt || break
    sleep 0.2
done
grep -q 'does not receive at' text.txt || fail 'doctor --stall as text'
grep -q 'receive at the endpoint' text.txt || fail 'no remedy of a stall'
kill -STOP $run
refuses 1 'does not answer; it may be stopped' "$peal" doctor --stall $run
kill -CONT $run
exec 8>&- 9<&-
kill $feed 2>/dev/null || true
kill $run 2>/dev/null || true
wait $run $feed 2>/dev/null || true
refuses 1 'is no process of this PID namespace' "$peal" doctor --stall $run
refuses 1 'no runtime of process .* can be queried' "$peal" doctor --stall $$
for wrong in 0 -1 x 1x 99999999999 ''; do
    refuses 2 'is no process id' "$peal" doctor --stall "$wrong"
done
says 'doctor --stall'

# A full disk is reported.
refuses 1 'cannot write the standard output' bash -c '"$1" info >/dev/full' - "$peal"

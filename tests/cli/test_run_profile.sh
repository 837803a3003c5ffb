#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that --profile reports the load of stages and devices, and the totals of
# a run.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
devices 3

# A live input stays open while --profile samples the stages.
seq 2000 >some.txt
mkfifo live
"$peal" run --format lines -i live -o out.txt --json --profile \
    'crc32c@0 ! xor@1:key=85 ! xor@1:key=85' >out.json 2>err.txt &
run=$!
exec 3>live
cat some.txt >&3
for _ in $(seq 600); do
    [ "$(wc -l <out.txt 2>/dev/null || echo 0)" != 2000 ] || break
    sleep 0.05
done
sleep 0.7
exec 3>&-
wait $run || fail 'peal run --profile'
cmp some.txt out.txt || fail 'the output is not the input'
holds out.json "d['profile']['samples'] > 0" "d['profile']['interval_ns'] >= 700e6" \
    "(d['profile']['imbalance'] is None) == (d['profile']['imbalance_percent'] is None)" \
    "d['profile']['imbalance'] is None or abs(d['profile']['imbalance_percent'] - 100 * (d['profile']['imbalance'] - 1)) < 1e-6" \
    "d['profile']['compute_ns'] >= 0 and d['profile']['sync_ns'] >= 0" \
    "[s['stage'] for s in d['profile_stages']] == [k['stage'] for k in d['kernels']]" \
    "all(s['delivered'] == s['accepted'] == 2000 for s in d['profile_stages'])" \
    "all(s['samples'] > 0 for s in d['profile_stages'])" \
    "all(0 <= s['busy_percent'] <= 100 for s in d['profile_stages'])" \
    "all(0 <= s['blocked_percent'] <= 100 for s in d['profile_stages'])" \
    "all(s['handler_ns_mean'] >= 0 and s['residence_ns_mean'] >= 0 for s in d['profile_stages'])" \
    "[v['handled'] for v in d['profile_devices']] == [2000, 4000, 0]" \
    "d['profile_devices'][2]['busy_percent'] is None" \
    "d['profile_devices'][0]['received_bytes'] == sum(s['delivered_bytes'] for s in d['profile_stages'][:1])" \
    "d['profile_devices'][0]['memory_used_bytes'] > 0" \
    "sum(v['samples'] for v in d['profile_devices']) == d['profile']['samples']"
says "$(get out.json "d['profile']['samples']") samples"

"$peal" run -i some.txt --json xor >out.json 2>err.txt || fail 'peal run'
holds out.json "'profile' not in d"
"$peal" run -i some.txt --profile 'xor ! invert' >out.txt 2>err.txt || fail 'tables'
grep -q 'load imbalance, max' out.txt && grep -q 'load imbalance, percent' out.txt && grep -q 'in handler, mean' out.txt &&
    grep -q 'copied to it' out.txt || fail 'no tables'
narrow out.txt
grep -Eq '^time +[0-9.]+ [um]?s$' out.txt && grep -Eq '^throughput, items +[0-9.]+( [kM])?/s$' out.txt &&
    grep -Eq '^  max +[0-9.]+ [um]?s$' out.txt || fail 'no readable units'
says 'tables'

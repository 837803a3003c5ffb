#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: stress
#
# Shows that every benchmark runs, verifies its messages, and prints rows with
# all their keys.
set -euo pipefail
: "${PEAL:?}"
if [ -n "${PEAL_TEST_GPU:-}" ]; then
    echo 'skipped: some rows want 16 devices; on a GPU: ./dev bench --gpu'
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

step() { printf '== %s\n' "$*"; }

cat >check.py <<'END'
import json, os, sys
COMMON = ["benchmark", "subject", "emulated", "n_samples", "versus", "ratio",
          "ratio_min", "ratio_max"]
OWN = {
    "latency": ["route", "message_bytes", "latency_ns_p50", "latency_ns_p90",
                "latency_ns_p99", "latency_ns_p999", "latency_ns_max",
                "times_limit", "core_distance", "timed_by"],
    "throughput": ["route", "message_bytes", "batch", "messages_per_s",
                   "messages_per_s_min", "messages_per_s_max", "timed_by"],
    "stream": ["route", "message_bytes", "stages", "gigabytes_per_s",
               "core_distance"],
    "barrier": ["devices", "participants", "phase_ns_p50", "phase_ns_max"],
    "echo": ["route", "message_bytes", "batch", "echo_ns_p50", "echo_ns_max",
             "core_distance", "timed_by"],
    "request": ["route", "message_bytes", "batch", "request_ns_p50",
                "request_ns_max", "versus_ns_p50", "core_distance", "timed_by"],
    "actors": ["actors", "mega_per_s", "mega_per_s_min", "mega_per_s_max",
               "versus_mega_per_s", "core_distance", "timed_by"],
    "tells": ["workers", "mega_per_s", "mega_per_s_min", "mega_per_s_max",
              "core_distance", "timed_by"],
    "moves": ["state_bytes", "waiting", "move_ns_p50", "move_ns_max",
              "versus_ns_p50", "core_distance", "timed_by"],
    "collectives": ["devices", "bytes", "collective_ns_p50",
                    "collective_ns_max", "versus_ns_p50", "timed_by"],
    "transfers": ["route", "bytes", "copy_ns_p50", "copy_ns_max",
                  "gigabytes_per_s", "versus_ns_p50", "timed_by"],
    "balance": ["devices", "elements", "finish_ns_p50", "finish_ns_max",
                "n_active", "tasks", "imbalance", "threshold",
                "versus_ns_p50", "timed_by"],
    "work": ["poppers", "workers", "messages", "megapops_per_s", "pop_ns",
             "megapops_per_s_min", "megapops_per_s_max", "timed_by",
             "megaoperations_per_s", "versus_megapops_per_s",
             "versus_megaoperations_per_s"],
    "tasks": ["task_ns", "tasks", "per_task_ns", "per_task_ns_min",
              "per_task_ns_max", "device_ns", "overhead_ns", "timed_by",
              "versus_ns_p50"],
    "idle": ["devices", "cpu_percent_of_one_core", "limit_percent"],
    "setup": ["devices", "links", "setup_ms", "bytes_per_link"],
    "faults": ["message_bytes", "workers", "faults", "alone_ns_p50",
               "alone_ns_p99", "beside_ns_p50", "beside_ns_p99",
               "beside_ns_max", "core_distance", "timed_by"],
}
LEAST = {"latency": 21, "throughput": 24, "stream": 19, "barrier": 10,
         "echo": 8, "request": 6, "actors": 6, "tells": 9, "moves": 4,
         "collectives": 4, "transfers": 7, "balance": 5, "work": 4, "tasks": 12,
         "idle": 12, "setup": 12, "faults": 3}
KEYS = {"latency": ["subject", "route", "message_bytes", "versus"],
        "throughput": ["subject", "route", "message_bytes", "batch",
                       "versus"],
        "stream": ["subject", "route", "message_bytes", "stages"],
        "barrier": ["subject", "devices", "participants", "versus"],
        "echo": ["message_bytes", "batch", "versus"],
        "request": ["message_bytes", "batch", "versus"],
        "actors": ["subject", "actors"],
        "tells": ["subject", "workers", "versus"],
        "moves": ["subject", "waiting"],
        "collectives": ["subject", "devices", "bytes", "algorithm"],
        "transfers": ["subject", "route", "bytes"], "balance": ["subject"],
        "work": ["poppers", "workers", "versus"],
        "tasks": ["subject", "task_ns", "versus"],
        "setup": ["subject", "devices"], "faults": ["subject"], "idle": ["subject", "gap_ns", "versus"]}
WAKE = ["what", "core_distance", "timed_by", "wake_ns_p50", "wake_ns_max",
        "versus_ns_p50", "n_rounds", "n_rounds_dropped"]
wakes = {(who, None, by) for who in ("queue", "worker") for by in
         ("futex", "mutex and condvar", "eventfd", "pipe")} | {
         ("queue", gap, "a poll that never sleeps")
         for gap in (1000, 10000, 100000)}
data = json.load(open(sys.argv[1]))
failed = []
def need(condition, text):
    if not condition:
        failed.append(text)
on_host = os.environ.get("PEAL_BACKENDS", "host") == "host"
if not on_host:  # other devices have other peers, and report their link
    clusters = json.load(open("info"))["devices"][0]["max_cluster_workers"]
    LEAST.update(latency=63 if clusters else 62, throughput=104, barrier=5,
                 collectives=2, idle=3, echo=16, work=8, tasks=24, setup=3)
    OWN["idle"] = ["devices"]  # copies beside idle kernels have other keys
    for name in ("latency", "throughput", "stream", "barrier"):
        OWN[name].append("device_link")
need(data.get("schema_version") == 1, "schema_version")
need(isinstance(data.get("machine", {}).get("cpu"), str), "machine.cpu")
need(data.get("machine", {}).get("cores", 0) >= 1, "machine.cores")
count, seen, replays = {}, set(), set()
for row in data["rows"]:
    name = row["benchmark"]
    count[name] = count.get(name, 0) + 1
    key = (name,) + tuple(row.get(k) for k in KEYS[name])
    need(key not in seen, f"two rows {key}")
    seen.add(key)
    is_wake = name == "idle" and row["subject"] in ("queue", "worker")
    if is_wake:
        wakes.discard((row["subject"], row.get("gap_ns"), row["versus"]))
    is_even = row["subject"].startswith("break-even, ")
    for key in COMMON + (WAKE if is_wake else ["break_even_ns"] if is_even
                         else OWN[name]):
        need(key in row, f"{name}: no {key}")
        if row.get(key, 0) is None:
            need(isinstance(row.get(key + "_why"), str),
                 f"{name}: {key} is null without a reason")
    if not on_host and row.get("core_distance") is not None:
        need(False, f"{name}: a distance of cores, of other devices")
    if isinstance(row.get("ratio"), float):
        need(0 <= row["ratio_min"] <= row["ratio"] <= row["ratio_max"],
             f"{name}: the ratio is outside its spread")
        need(isinstance(row["versus"], str), f"{name}: a ratio to nothing")
for row in data["rows"]:
    if row["benchmark"] == "balance" and row["subject"] == "queues":
        need(row["n_active"] == row["devices"], "balance: idle devices")
    if row["subject"] == "link, in a cluster":
        need(clusters, "latency: a cluster of a device that has none")
        need(0 < row["one_way_ns_min"] <= row["one_way_ns_p50"]
             <= row["one_way_ns_max"], "latency: one way in a cluster")
        need(isinstance(row["ratio"], float), "latency: no ratio to L2")
    if row["subject"] == "link, beside copies":
        need(row["copied_gigabytes_per_s"] > 0, "latency: no copies")
        need(row["alone_ns_p50"] > 0, "latency: nothing alone")
    if row["subject"] == "link, by placement":
        need(not on_host, "latency: a placement on the host")
        need(1 <= row["pairs"] <= 8, "latency: pairs")
        need(0 < row["one_way_ns_min"] <= row["one_way_ns_p50"]
             <= row["one_way_ns_max"], "latency: one way")
    if row["versus"] == "graph replay and wait per message":
        replays.add(row["benchmark"])
        need(row["ratio"] is not None, "no ratio to a replay")
need(on_host or not {"latency", "echo"} & set(sys.argv[2:]) - replays,
     "no row is compared with a replay")
for name in sys.argv[2:]:
    need(count.get(name, 0) == LEAST[name],
         f"{name}: {count.get(name, 0)} rows, expected {LEAST[name]}")
need("idle" not in sys.argv[2:] or not on_host or not wakes,
     f"idle: no rows {wakes}")
print(", ".join(f"{n} rows of {k}" for k, n in count.items()))
for text in failed:
    print("FAIL:", text)
sys.exit(1 if failed else 0)
END

"$PEAL" info --json >info
for name in latency throughput stream barrier echo request actors tells moves \
    collectives transfers balance work tasks faults; do
    step "$name"
    size=()
    [ "$name" != collectives ] || size=(--bytes 4096) # all sizes take a minute
    "$PEAL" bench "$name" --seconds 0.1 "${size[@]}" --json >"$name.json"
    python3 check.py "$name.json" "$name"
done
"$PEAL" bench collectives --bytes 1048576 --seconds 0.1 >large.txt
[ "$(grep -c ' ring ' large.txt)" = 1 ]
step 'idle and setup, in one object'
"$PEAL" bench idle setup --seconds 0.2 --json >both.json
python3 check.py both.json idle setup

step 'a table, raw samples and a distribution of one row'
"$PEAL" bench latency --route peer --bytes 48 --seconds 0.1 \
    --samples-out raw.csv --hgrm-out one.hgrm >table.txt
grep -q 'emulated by CPU threads' table.txt
grep -Eq '^link +peer +48 B .* [0-9.]+ [num]?s ' table.txt
[ -z "$(awk 'length > 100' table.txt large.txt)" ] || { echo 'a line of more than 100 characters'; exit 1; }
if grep -qiE 'peer-to-peer|gpu' table.txt ./*.json; then
    echo 'emulated devices are called what they are not'
    exit 1
fi
head -n 1 raw.csv | grep -qx 'benchmark,row,round,value'
grep -q '^latency,peer-48,' raw.csv
grep -q '^#\[Mean' one.hgrm

"$PEAL" bench stream --bytes 460832 --seconds 0.1 >video.txt
grep -q '^y4m filters ' video.txt && [ "$(grep -c ' peer ' video.txt)" = 1 ]

step 'what is wrong is refused'
for arguments in '--route nowhere' '--bytes 12345' '--seconds never' '--bogus'; do
    status=0
    # shellcheck disable=SC2086
    "$PEAL" bench latency $arguments >/dev/null 2>err.txt || status=$?
    [ "$status" -eq 2 ] || { echo "latency $arguments: status $status"; exit 1; }
    [ -s err.txt ] || { echo "latency $arguments: no word on stderr"; exit 1; }
done
echo ok

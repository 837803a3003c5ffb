#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: stress
#
# Shows that `./dev bench --gpu` measures only GPUs, and writes all rows of the
# GPUs that it finds.
set -euo pipefail
: "${PEAL:?}" "${PEAL_SOURCE_DIR:?}" "${PEAL_BUILD_DIR:?}"
command -v python3 >/dev/null || exit 77
script=$PEAL_SOURCE_DIR/bench/gpu.py
double=$PEAL_BUILD_DIR/doubles/cuda
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PEAL_BENCH_ALLOW_DOUBLE

# ends STATUS TEXT COMMAND...: fails unless the command ends with STATUS, prints
# TEXT and writes no results.
ends() {
    local status=0 wanted=$1 text=$2
    shift 2
    "$@" >"$work/out.txt" 2>"$work/err.txt" || status=$?
    [ "$status" -eq "$wanted" ] || { echo "$*: status $status"; cat "$work/err.txt"; exit 1; }
    grep -q "$text" "$work/err.txt" || { echo "$*: says not '$text'"; cat "$work/err.txt"; exit 1; }
    [ ! -e "$work/results" ] || { echo "$*: has written"; exit 1; }
}

echo '== without a GPU, and with a double'
ends 77 'no GPU: cuda: excluded by PEAL_BACKENDS=host' \
    env PEAL_BACKENDS=host python3 "$script" "$PEAL" --out "$work/results"
ends 77 'a double' \
    env LD_LIBRARY_PATH="$double" python3 "$script" "$PEAL" --out "$work/results"
ends 2 'folder of their own' env PEAL_BENCH_ALLOW_DOUBLE=1 \
    LD_LIBRARY_PATH="$double" python3 "$script" "$PEAL"
ends 2 'folder of their own' env PEAL_BENCH_ALLOW_DOUBLE=1 \
    LD_LIBRARY_PATH="$double" python3 "$script" "$PEAL" \
    --out "$PEAL_SOURCE_DIR/bench/results"

# ThreadSanitizer does not support the 16-byte accesses of CUDA devices.
if [[ ${PEAL_IMAGE_TARGETS?} != *sm_* && $PEAL_IMAGE_TARGETS != *compute_* ]] || grep -q __tsan_init "$PEAL"; then
    echo 'ok; nothing measured: this build has nothing that the double can run'
    exit 0
fi

echo '== one double, in two parts'
PEAL_BENCH_ALLOW_DOUBLE=1 PEAL_DOUBLE_DEVICES=1 LD_LIBRARY_PATH=$double \
    python3 "$script" "$PEAL" --out "$work/results" --seconds 1
python3 - "$work/results" <<'END'
import glob, json, re, sys
name, = glob.glob(sys.argv[1] + "/*.json")
assert re.search(r"/[a-z0-9-]+-\d{4}-\d\d-\d\d\.json$", name), name
data = json.load(open(name))
text = open(name[:-4] + "md").read()
assert data["emulated"] is True and data["device"] and data["date"] in name
assert data["failed"] == [], data["failed"]
for benchmark in ("latency throughput stream echo request actors barrier "
                  "collectives transfers balance work tasks idle").split():
    assert any(r["benchmark"] == benchmark for r in data["rows"]), benchmark
    assert f"## {benchmark}\n" in text, benchmark
for row in data["rows"]:
    assert row["emulated"] is True and row.get("core_distance") is None, row
    assert row.get("device_link") in (None, "same-gpu"), row
    assert row["versus"] or row["versus_why"], row
    assert "thread" not in (row["versus"] or ""), row
assert "CPU threads" in text
END
echo ok

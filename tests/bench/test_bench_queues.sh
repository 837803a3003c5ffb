#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: stress
#
# Shows that `peal bench queues` prints a row for each peer, with its verdict or
# its reason.
set -euo pipefail
: "${PEAL:?}"
if [ "$(nproc)" -lt 2 ]; then
    echo 'skipped: needs two cores'
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

step() { printf '== %s\n' "$*"; }

# refused STATUS TEXT ARGUMENTS...: fails unless the run ends with STATUS and
# prints TEXT.
refused() {
    local status=0 wanted=$1 text=$2
    shift 2
    "$PEAL" bench queues "$@" >out.txt 2>err.txt || status=$?
    [ "$status" -eq "$wanted" ] || { echo "$*: status $status"; cat err.txt; exit 1; }
    grep -q -- "$text" err.txt || { echo "$*: says not '$text'"; cat err.txt; exit 1; }
}

# measured STDOUT ARGUMENTS...: fails unless the run succeeds or decides
# nothing. Other programs may use these cores.
measured() {
    local status=0 out=$1
    shift
    "$PEAL" bench queues "$@" >"$out" 2>err.txt || status=$?
    [ "$status" -eq 0 ] || grep -q 'no row was decided' err.txt || { cat err.txt; exit 1; }
}

step 'rows on stdout and in a file'
measured stdout.json --seconds 0.1 --bytes 64 --json --json-out rows.json
cmp stdout.json rows.json
python3 - <<'END'
import json
data = json.load(open("rows.json"))
assert data["schema_version"] == 1 and data["machine"]["cores"] >= 1
KEYS = ("benchmark subject what producers consumers placement n_samples versus "
        "ratio ratio_min ratio_max n_rounds n_rounds_dropped verdict").split()
MEASURED = "message_bytes burst slots core_distance gap versus_gap goal".split()
# For each way to move messages: its rows if no peer is skipped.
FULL = {"round trip": 7, "throughput": 2 * 6, "gather": 3 * 2 * 6,
        "share": 2 * 6, "spread": 2}
SUBJECTS = {"round trip": "link", "throughput": "link", "gather": "mailbox",
            "share": "work queue", "spread": "topic"}
PEERS = ("ck_ring", "rte_ring SP/SC", "rte_ring MP/SC", "rte_ring HTS",
         "boost spsc_queue", "boost queue", "moodycamel", "mutex and condvar",
         "a link per reader")
seen, skipped, count = set(), set(), {}
for row in data["rows"]:
    what = row["what"]
    for key in KEYS:
        assert key in row, (key, row)
    assert row["benchmark"] == "queues" and row["subject"] == SUBJECTS[what]
    if row["verdict"] == "skipped":
        assert row["versus"] is None and row["ratio"] is None, row
        assert row["versus_why"].startswith("skipped: "), row
        skipped.add(row["peer"])
        lost = 1 if what == "round trip" else 2
        count[what] = count.get(what, 0) + lost
        continue
    for key in MEASURED:
        assert key in row, (key, row)
    key = (what, row["placement"], row["burst"], row["producers"], row["versus"])
    assert key not in seen, key
    seen.add(key)
    count[what] = count.get(what, 0) + 1
    if row["ratio"] is not None:
        assert 0 <= row["ratio_min"] <= row["ratio"] <= row["ratio_max"], row
    assert row["verdict"] in ("reached", "missed", "unsure"), row
    why = row.get("verdict_why")
    assert why in (("time", "cores", "spread") if row["verdict"] == "unsure" else (None,)), row
    unit = "latency_ns_p50" if what == "round trip" else "megamessages_per_s"
    assert unit in row, row
assert count == FULL, (count, FULL)
for peer in PEERS:
    assert any(peer in k[4] for k in seen) or any(peer in s for s in skipped), peer
assert any(k[4] == "bare bounce of 2 lines" for k in seen)
print(len(seen), "rows measured, skipped:", ", ".join(sorted(skipped)) or "none")
END

step 'slots against the slab, only if asked for'
for what in slab 'slab round trip'; do
    measured slab.json --what "$what" --bytes 256 --seconds 0.05 --json
    python3 - "$what" <<'END'
import json, sys
rows = json.load(open("slab.json"))["rows"]
bursts = {1, 32} if sys.argv[1] == "slab" else {1}
pairs = {(f"link, slots{p}", f"link, slab{p}", b)
         for p in ("", ", atom16", ", atom8") for b in bursts}
assert len(rows) == len(pairs), rows
assert {(r["subject"], r["versus"], r["burst"]) for r in rows} == pairs, rows
assert any(r["n_rounds"] + r["n_rounds_dropped"] >= 1 for r in rows), rows
END
done

step 'ours as threads have them'
measured front.json --front --bytes 8 --peer mutex --seconds 0.05 --json
python3 - <<'END'
import json
rows = json.load(open("front.json"))["rows"]
assert {r["subject"] for r in rows} == {f"{kind} of threads" for kind in
                                        ("link", "mailbox", "work queue")}, rows
END
refused 2 "benchmark 'queues': has no such row" --front --what slab --bytes 256

step 'a table, and what somebody has to look at'
measured table.txt --seconds 0.05 --bytes 8 --what throughput --peer mutex
grep -q '^link .* 8 B ' table.txt
grep -q '^    mutex and condvar ' table.txt
[ -z "$(awk 'length > 100' table.txt)" ] || { echo 'a line of more than 100 characters'; exit 1; }
grep -q '^2 rows, 4 passes: at least as good' table.txt

step 'what the time is for, and that a run without it fails'
"$PEAL" bench queues --help | grep -q 'All rows share the time of --seconds'
refused 1 'no row was decided; .* lack time (raise --seconds)' --seconds 0.01

step 'what is wrong is refused'
refused 2 'bogus' --bogus
refused 2 'seconds' --seconds never
refused 2 "benchmark 'queues': has no such row" --bytes 12345
refused 2 "benchmark 'queues': has no such row" --route peer
refused 2 "option '--what': names no kind .nothing, allowed " --what nothing
refused 2 "benchmark 'queues': has no such row" --peer nobody
refused 1 "cannot write '/nowhere/rows.json'" --json-out /nowhere/rows.json
refused 1 "cannot write '$work'" --json-out "$work"
echo ok

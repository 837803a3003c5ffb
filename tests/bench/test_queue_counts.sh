#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that `./dev bench --counts` counts every queue of `peal bench queues`.
# Checks its counts of instructions, cache lines and locked instructions.
set -euo pipefail
: "${PEAL_SOURCE_DIR:?}" "${PEAL_BUILD_DIR:?}"
script=$PEAL_SOURCE_DIR/bench/baseline/cpu/count.py
program=$PEAL_BUILD_DIR/bench/baseline/cpu/count
command -v python3 >/dev/null || { echo 'skipped: no python3'; exit 77; }
python=$(python3 -c 'import sys; print(sys.executable)')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ends STATUS TEXT COMMAND...: fails unless the command ends with STATUS and
# prints TEXT.
ends() {
    local status=0 wanted=$1 text=$2
    shift 2
    "$@" >"$work/out" 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] || { echo "$*: status $status"; cat "$work/out"; exit 1; }
    grep -q "$text" "$work/out" || { echo "$*: says not '$text'"; cat "$work/out"; exit 1; }
}

echo '== without valgrind, and without turns'
ends 77 'no valgrind here' env PATH="$work" "$python" "$script" "$program"
ends 2 'usage: count TURNS' "$program" 0
command -v valgrind >/dev/null || { echo 'skipped: no valgrind'; exit 77; }
if grep -q '__[at]san_init' "$program"; then
    echo 'skipped: valgrind runs no program that has a sanitizer'
    exit 77
fi

echo '== a program that announces calls and makes none'
printf '#!/bin/sh\nprintf "gcc\\n1\\tlink\\t8\\t1\\t1\\t1\\t1\\t512\\t512\\n"\n' >"$work/none"
chmod +x "$work/none"
ends 1 'has seen 0 calls' "$python" "$script" "$work/none"

echo '== all queues'
"$python" "$script" "$program" --turns 1 | tee "$work/table"
"$python" - "$work/table" <<'END_OF_CHECK'
import sys

WANTED = {
    "1 → 1": {"link", "ck_ring spsc", "rte_ring SP/SC",
              "rte_ring SP/SC zero-copy", "boost spsc_queue", "moodycamel",
              "mutex and condvar"},
    "n → 1": {"mailbox", "ck_ring mpsc", "rte_ring MP/SC", "rte_ring HTS",
              "boost queue", "moodycamel", "mutex and condvar"},
    "n → m": {"work queue", "ck_ring mpmc", "rte_ring MP/MC", "rte_ring HTS",
              "boost queue", "moodycamel", "mutex and condvar"},
    "1 → every": {"topic", "a link per reader"},
}
for shape, ours in ("1 → 1", "link"), ("n → 1", "mailbox"), \
        ("n → m", "work queue"), ("1 → every", "topic"):
    WANTED[shape].add(ours + " of threads")
found, table, heads, shape = {}, {}, [], None
for line in open(sys.argv[1], encoding="utf-8"):
    cells = [c.strip() for c in line.strip().strip("|").split("|")]
    if line.startswith("- skipped: "):
        where, queue = line.split(": ")[1].split(", ")
        found.setdefault(where, set()).add(queue)
    elif len(cells) < 2 or cells[0].startswith("---"):
        continue
    elif cells[0] in WANTED:
        shape, heads = cells[0], cells[1:]
    else:
        found.setdefault(shape, set()).add(cells[0])
        table[shape, cells[0]] = {
            head: [float(n) for n in cell.split(" / ")]
            for head, cell in zip(heads, cells[1:])}
assert found == WANTED, found
for row, of in table.items():
    assert len(of) == 10, (row, of)
    for way in "one by one", "bursts":
        small, middle, large = (of[f"{n} B, {way}"] for n in (8, 64, 256))
        for end in 0, 1:
            assert 0 < small[end] < middle[end] < large[end], (row, way, of)
            # at best 4 of the 32 words are written or compared at a time
            assert large[end] - small[end] > 8, (row, way, of)
    for end in "put", "take":
        lines = of[f"lines of 8 / 64 / 256 B, {end}"]
        assert 8 / 64 * 0.7 < lines[0] <= 2, (row, of)
        assert lines[1] >= 1 and lines[2] >= 4, (row, of)
        assert lines[0] < lines[1] < lines[2] <= 10.5, (row, of)

# A link has no locked instruction, a mailbox one per ticket. A mutex has those
# of lock and unlock.
one = {row: of["locked, one by one"] for row, of in table.items()}
assert one["1 → 1", "link"] == [0, 0], one
assert 1 <= one["n → 1", "mailbox"][0] < 1.2, one
assert all(2 <= n < 2.2 for n in one["1 → 1", "mutex and condvar"]), one
burst = table["n → 1", "mailbox"]["locked, bursts"]
assert 0 < burst[0] < 0.2, burst
END_OF_CHECK
echo ok

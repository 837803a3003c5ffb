#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""count.py COUNT [--turns N]: what our queues and those of others execute per
message, as a markdown table, for `./dev bench --counts`.

Runs the program COUNT (count.c) under valgrind's callgrind. It counts in calls of
peali_bench_queue_counted only: instructions, locked instructions, and cache lines.
Cache lines are misses of a first-level cache without any slot in it. Ends with
status 77 if valgrind is not installed."""
import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
COUNTED = "peali_bench_queue_counted"
TURNS = 8  # of 512 messages each; 8 turns cover all periods of the queues
# The size of the first-level cache is that of queue_run.c. The other caches have
# no influence. Fixed sizes make the result independent of the machine.
CALLGRIND = ["--tool=callgrind", "--combine-dumps=yes", "--dump-line=no",
             "--collect-atstart=no", f"--toggle-collect={COUNTED}",
             f"--dump-after={COUNTED}", "--collect-bus=yes", "--cache-sim=yes",
             "--D1=262144,8,64", "--I1=262144,8,64", "--LL=8388608,16,64"]
SIZES = (8, 64, 256)
BURSTS = {1: "one by one", 32: "bursts"}
ENDS = ("put", "take")


def end(status, text):
    print(f"count: {text}", file=sys.stderr)
    sys.exit(status)


def run(program, turns):
    """Returns the lines that COUNT printed, and the text of callgrind."""
    if not shutil.which("valgrind"):
        end(SKIPPED, "no valgrind here, which counts (Debian: valgrind)")
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        done = subprocess.run(
            ["valgrind", "-q", f"--log-file={folder}/log", *CALLGRIND,
             f"--callgrind-out-file={out}", program, str(turns)],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
            check=False)
        if done.returncode:
            with open(folder + "/log", encoding="utf-8") as log:
                end(1, f"{program} ended with {done.returncode}: {log.read()}")
        with open(out, encoding="utf-8") as file:
            return done.stdout.splitlines(), file.read()


def dumps(text):
    """Returns the events of each call, in order: {name: number}."""
    found = []
    for part in text.split("\ndesc: Trigger: ")[1:]:
        if not part.startswith(f"--dump-after={COUNTED}\n"):
            continue
        events = re.search(r"^events: (.*)$", part, re.M).group(1).split()
        totals = re.search(r"^totals: (.*)$", part, re.M).group(1).split()
        totals += ["0"] * (len(events) - len(totals))
        found.append(dict(zip(events, map(int, totals))))
    return found


def count(lines, calls):
    """Returns {(shape, queue): {(bytes, burst, end): events per message}}, and
    {(shape, queue): reason why this build lacks it}."""
    queues, missing, at = {}, {}, 0
    for shape, queue, *fields in (line.split("\t") for line in lines):
        if len(fields) == 1:
            missing[shape, queue] = fields[0]
            continue
        size, burst, turns, producers, consumers, *messages = map(int, fields)
        sums = {e: {} for e in ENDS}
        for _ in range(turns):
            for e in ("put",) * producers + ("take",) * consumers:
                if at == len(calls):
                    end(1, f"callgrind has seen {at} calls of {COUNTED} only")
                for name, n in calls[at].items():
                    sums[e][name] = sums[e].get(name, 0) + n
                at += 1
        for e, n in zip(ENDS, messages):
            queues.setdefault((shape, queue), {})[size, burst, e] = {
                "instructions": sums[e]["Ir"] / n, "locked": sums[e]["Ge"] / n,
                "lines": (sums[e]["D1mr"] + sums[e]["D1mw"]) / n}
    if not queues or at != len(calls):
        end(1, f"{len(calls)} calls of {COUNTED} for {at} that were announced")
    return queues, missing


def short(value):
    """Formats as 0.06, 0.5, 1.3 or 12; 0 for less than 0.005."""
    digits = 0 if value >= 10 else 1 if value >= 1 else 2
    text = f"{value + 1e-9:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def cells(of):
    def pair(size, burst, what):
        return " / ".join(short(of[size, burst, e][what]) for e in ENDS)

    yield from (pair(s, b, "instructions") for s in SIZES for b in BURSTS)
    for e in ENDS:
        yield " / ".join(short(of[s, 32, e]["lines"]) for s in SIZES)
    yield from (pair(SIZES[0], b, "locked") for b in BURSTS)


def markdown(queues, missing):
    heads = [f"{s} B, {b}" for s in SIZES for b in BURSTS.values()]
    heads += [f"lines of {' / '.join(map(str, SIZES))} B, {e}" for e in ENDS]
    heads += [f"locked, {b}" for b in BURSTS.values()]
    out, last = [], None
    for shape, queue in queues:
        if shape != last:
            out += ["", f"| {shape} | " + " | ".join(heads) + " |",
                    "| --- " * (len(heads) + 1) + "|"]
        last = shape
        out.append(f"| {queue} | " +
                   " | ".join(cells(queues[shape, queue])) + " |")
    if missing:
        out.append("")
    out += [f"- skipped: {shape}, {queue}: {why}"
            for (shape, queue), why in missing.items()]
    return "\n".join(out)


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = re.search(r"^model name\s*: (.*)$", file.read(), re.M)
    tool = subprocess.run(["valgrind", "--version"], stdout=subprocess.PIPE,
                          text=True, check=True).stdout.strip()
    return f"{cpu.group(1) if cpu else 'a CPU without a name'}, {tool}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", metavar="COUNT")
    parser.add_argument("--turns", type=int, default=TURNS)
    arguments = parser.parse_args()
    lines, text = run(arguments.program, arguments.turns)
    if not lines:
        end(1, f"{arguments.program} has said nothing")
    queues, missing = count(lines[1:], dumps(text))
    print(f"{machine()}, {lines[0]}, {datetime.date.today()}: instructions of "
          "put / take of a message by\none thread, with its filling and "
          "checking; cache lines, in bursts; locked instructions, of 8 B.")
    print(markdown(queues, missing))


if __name__ == "__main__":
    main()

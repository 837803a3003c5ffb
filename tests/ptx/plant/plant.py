#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plant.py [--quick | --write] [--only TEXT] [--seeds N] [--ms N]: plants faults
in the PTX of Peal's device code, one at a time. A check of the PTX machine shall
find each of them. See README.md.

--quick  a few faults; the others are found only in the full run
--write  writes the table to tests/ptx/PLANTED.md
--only   faults with this text in their names
--seeds  most seeds of a scene (default 2000)
--ms     most CPU time of a scene with one check (default 4000)

Needs nvcc in PTX_NVCC or PATH, and PEAL_BUILD_DIR/tests/ptx/plant."""
import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time

from sites import FAULTS, Finder, planted, trap

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.normpath(os.path.join(HERE, "../../.."))
TABLE = os.path.join(TREE, "tests/ptx/PLANTED.md")
REASONS = os.path.join(HERE, "reasons.json")
PROGRAMS = ("queues", "loop", "batch")
REACH_SEEDS = 6 # runs that look whether a scene reaches a place
MOST_CHOICES = 16 # places that are tried for a fault of an address
QUICK_EVERY = 24 # the quick run plants one of so many faults
QUICK_SEEDS = 3 # without a fault, in the quick run
QUICK_MS = 60000
MOST_SECONDS = 900 # of a run of all scenes; their CPU time has a limit of its own

# The headers of each part. A header that is not here has a feature of actors
# that no scene uses.
PARTS = {
    "slot": ("slot.h", "slot_prefetch.h", "slot_write_direct.h", "copy_bytes.h"),
    "link": ("link.h", "link_producer.h", "link_consumer.h", "link_peek.h",
             "link_write.h"),
    "mailbox": ("mailbox.h", "admission.h", "admission_lease.h", "mail.h",
                "mailbox_put.h"),
    "work queue": ("work.h", "work_claim.h", "work_consumer.h", "work_abandon.h"),
    "topic": ("topic.h", "topic_subscriber.h"),
    "barrier": ("barrier.h", "barrier_signal.h", "event.h", "lanes.h", "cluster.h"),
    "loop control": ("kernel.h", "loop.h", "loop_action.h", "control.h",
                     "control_actor.h", "termination.h", "stopped.h", "idle.h",
                     "clock.h", "worker.h", "poll_inputs.h", "actor_resolve.h",
                     "emit.h", "tell.h"),
    "batch": ("batch.h", "batch_tell.h", "batch_lanes.h", "batch_slot.h",
              "batch_open.h", "batch_done.h"),
}
PART_OF = {file: part for part, files in PARTS.items() for file in files}


def checks_of(kind):
    """Returns the checks that may find a fault, the best one first."""
    if "barrier" in kind:
        return ("race", "weak", "plain")
    return ("undefined", "weak") if kind == "undefined word" else ("weak", "plain")


def is_covered(path):
    return "/include/peal/" in path and os.path.basename(path) in PART_OF


# ---- programs ---------------------------------------------------------------------

class Machine:
    """Compiles the programs and runs their scenes."""

    def __init__(self, nvcc, plant, folder):
        self.nvcc, self.plant, self.folder = nvcc, plant, folder
        self.lines = {}

    def compile(self):
        """Compiles the programs at once. Returns what the compiler reports."""
        started = []
        for name in PROGRAMS:
            path = os.path.join(self.folder, name + ".ptx")
            started.append((name, path, subprocess.Popen(
                [self.nvcc, "-x", "cu", "-O3", "-std=c++17", "-lineinfo", "-ptx",
                 "-arch=compute_90", "-Iinclude", "-I.", "-o", path,
                 f"tests/ptx/plant/{name}.c"], cwd=TREE, stderr=subprocess.PIPE,
                text=True)))
        wrong = []
        for name, path, process in started:
            said = process.communicate()[1]
            if process.returncode:
                wrong.append(f"{name}.c: {said[:500]}")
                continue
            with open(path, encoding="utf-8") as file:
                self.lines[name] = file.read().split("\n")
        return wrong

    def run(self, program, text, check, seeds, ms, scene=None):
        """Returns what each scene has found."""
        path = os.path.join(self.folder, "planted.ptx")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            done = subprocess.run([self.plant, path, program, check, "1", str(seeds),
                                   str(ms)] + ([scene] if scene else []), check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            return [{"scene": scene, "found": "no end", "seeds": 1, "ms": 0,
                     "text": f"no end within {MOST_SECONDS} s"}]
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode:
            rows.append({"scene": scene, "found": "crash" if done.returncode < 0 else
                         "host", "seeds": 1, "ms": 0, "text": done.stderr.strip()})
        return rows

    def scenes_at(self, program, numbers):
        """Returns the scenes that execute lines of a program."""
        text = planted(self.lines[program], numbers, trap)
        return [row["scene"] for row in
                self.run(program, text, "plain", REACH_SEEDS, 2000) if row["found"]]

    def find(self, site, program, scenes, seeds, ms):
        """Plants a fault. Returns the check's row that finds it, or None."""
        text = planted(self.lines[program], site.copies[program], FAULTS[site.kind])
        for check in checks_of(site.kind):
            for scene in scenes:
                for row in self.run(program, text, check, seeds, ms, scene):
                    if row["found"]:
                        return row | {"check": check}
        return None

    def find_address(self, site):
        """Plants a fault of an address in one place after another, up to one that
        a scene executes."""
        for program, number, line in site.choices[:MOST_CHOICES]:
            site.copies, site.line = {program: [number]}, line
            text = planted(self.lines[program], [number], FAULTS[site.kind])
            for row in self.run(program, text, "plain", REACH_SEEDS, 2000):
                if row["found"]:
                    return row | {"check": "plain"}
        return None


# ---- results ----------------------------------------------------------------------

class Result:
    """What happened to a fault."""

    def __init__(self, name, site):
        self.name, self.site = name, site
        self.row, self.scenes, self.seconds, self.reason = None, [], 0.0, None

    def place(self):
        return (f"`{os.path.basename(self.site.file)}:{self.site.line}` "
                f"{self.site.function}").strip()

    def cells(self):
        if self.row:
            return [self.place(), self.site.kind, self.row["check"],
                    self.row["found"], str(self.row["seeds"]), f"{self.seconds:.1f}"]
        return [self.place(), self.site.kind, "-", "-", "-", f"{self.seconds:.1f}"]


def detect(machine, name, site, options):
    """Plants a fault. It gets less time if it has a reason."""
    result = Result(name, site)
    result.reason = options.reasons.get(name)
    ms = options.ms // 3 if result.reason else options.ms
    began = time.monotonic()
    if site.kind in ("index past a table", "host pointer"):
        result.row = machine.find_address(site)
    else:
        if site.choices:
            site.copies = {site.choices[0][0]: [site.choices[0][1]]}
        for program, numbers in site.copies.items():
            scenes = machine.scenes_at(program, numbers)
            result.scenes += scenes
            result.row = result.row or machine.find(site, program, scenes,
                                                    options.seeds, ms)
            if result.row:
                break
    result.seconds = time.monotonic() - began
    return result


# Classes of reasons: no program can find the fault, no scene needs the order, or the
# machine is too strong.
CLASSES = ("equal", "no scene", "machine")


def class_of(result):
    """Returns the class of a result."""
    if result.row:
        return "found"
    return result.reason["class"] if result.reason else "not explained"


def summary(results):
    """Yields a table of the parts."""
    classes = ("found", *CLASSES, "not explained")
    yield "| part | faults | " + " | ".join(classes) + " |"
    yield "| --- | --- |" + " --- |" * len(classes)
    for part in [*PARTS, "all"]:
        of_part = [class_of(r) for r in results if part in
                   ("all", PART_OF[os.path.basename(r.site.file)])]
        counts = [len(of_part), *(of_part.count(name) for name in classes)]
        yield f"| {part} | " + " | ".join(map(str, counts)) + " |"


def table(results):
    yield "| place | fault | check | finds | seeds | s |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for result in results:
        yield "| " + " | ".join(result.cells()) + " |"


def judge(results):
    """Returns what is wrong."""
    wrong = []
    for result in results:
        if not result.row and not result.reason:
            wrong.append(f"{result.name}: not found by {len(result.scenes)} scenes, "
                         "and without a reason")
        if result.row and result.reason:
            wrong.append(f"{result.name}: has a reason, and {result.row['scene']} "
                         "finds it")
    return wrong


def unplanted(machine, options):
    """Runs all scenes without a fault. Returns what fails."""
    wrong = []
    seeds = QUICK_SEEDS if options.quick else options.seeds
    for program in PROGRAMS:
        text = "\n".join(machine.lines[program])
        for check in ("plain", "weak", "race", "undefined"):
            for row in machine.run(program, text, check, seeds, options.ms):
                if row["found"]:
                    wrong.append(f"without a fault: {row['scene']}, {check}, seed "
                                 f"{row['seeds']}: {row['found']}: {row['text']}")
    return wrong


HEAD = """# Planted faults

`plant/plant.py --write` has written this page. The machine: 2 virtual cores of an AMD EPYC, Debian
12, {date}. No GPU was involved. [`plant/`](plant/README.md) explains faults and scenes.

Of {n} faults, {found} were found. No program can find {equal} others. Of the rest, the checks found
{percent:.1f} %, and {executed:.1f} % without those of the class `no scene`.

| class | the fault was not found, because |
| --- | --- |
| equal | other orders of the program give the same order |
| no scene | no scene executes the place, or reads the words that it orders |
| machine | the machine is stronger than PTX |

"""


def percent(n, of):
    return 100 * n / max(of, 1)


def reason_lines(results):
    """Yields lines about the faults that were not found."""
    for result in results:
        if result.row:
            continue
        reason = result.reason or {"class": "not explained", "reason": ""}
        yield from textwrap.wrap(
            f"- `{result.name}` ({reason['class']}): {reason['reason']}", 100,
            subsequent_indent="  ", break_on_hyphens=False)


def write(results):
    classes = [class_of(r) for r in results]
    found, equal = classes.count("found"), classes.count("equal")
    rest = len(classes) - equal
    text = HEAD.format(date=datetime.date.today(), n=len(classes), found=found,
                       equal=equal, percent=percent(found, rest),
                       executed=percent(found, rest - classes.count("no scene")))
    lines = [*summary(results), "", "## Not found", "", *reason_lines(results), "",
             "## All faults", "", "`seeds` is the number of runs up to the first that a "
             "check finds.", "", *table(results)]
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write(text + "\n".join(lines) + "\n")


# ---- the program ------------------------------------------------------------------

def parse():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--ms", type=int, default=4000)
    options = parser.parse_args()
    options.quick |= bool(os.environ.get("PEAL_TEST_QUICK"))
    if options.quick: # all of its faults are found, also on a slow machine
        options.ms = QUICK_MS
    with open(REASONS, encoding="utf-8") as file:
        options.reasons = json.load(file)
    return options


def chosen(sites, options):
    """With PEAL_TEST_SLICE=K/N each N-th fault is planted, from the K-th on."""
    names = [name for name in sites if options.only in name]
    if options.quick:
        return [name for name in names if name not in options.reasons][::QUICK_EVERY]
    part, parts = map(int, os.environ.get("PEAL_TEST_SLICE", "1/1").split("/"))
    return names[part - 1::parts]


def run(machine, options):
    wrong = machine.compile()
    if wrong:
        print("\n".join(wrong))
        return 1
    finder = Finder(is_covered)
    for program in PROGRAMS:
        finder.read(program, machine.lines[program])
    sites = finder.named()
    if not options.only:
        wrong += unplanted(machine, options)
        wrong += [f"{name}: has a reason, and no such fault exists"
                  for name in options.reasons.keys() - sites.keys()]
    results = []
    for name in chosen(sites, options):
        results.append(detect(machine, name, sites[name], options))
        print("| " + " | ".join(results[-1].cells()) + " |", flush=True)
    wrong += judge(results)
    print("\n".join(["", *summary(results), *wrong]))
    print(f"{len(finder.others)} orders and barriers of other features")
    if options.write:
        write(results)
    return 1 if wrong else 0


def main():
    options = parse()
    nvcc = os.environ.get("PTX_NVCC") or shutil.which("nvcc") or \
        "/usr/local/cuda/bin/nvcc"
    build = os.environ.get("PEAL_BUILD_DIR", os.path.join(TREE, "build"))
    plant = os.path.join(build, "tests/ptx/plant")
    if not os.access(nvcc, os.X_OK) or not os.access(plant, os.X_OK):
        print(f"skipped: needs {nvcc} and {plant}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        return run(Machine(nvcc, plant, folder), options)


sys.exit(main())

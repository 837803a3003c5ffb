#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py SECONDS BUILD [TARGET...]: runs fuzz targets of a build folder, each for
SECONDS. Without a TARGET it runs all. A target ends at its first finding. Prints
a table; `CPU` is the processor time in seconds. Exits with 1 if there is a finding,
or a target has not run.

libFuzzer begins with the inputs of tests/fuzz/corpus/TARGET. It keeps new inputs
in BUILD/fuzz/corpus/TARGET, and findings in BUILD/fuzz/findings/TARGET-*."""
import glob
import os
import re
import resource
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
EXECUTIONS = re.compile(r"^stat::number_of_executed_units: (\d+)$", re.M)
ROW = "{:<20} {:>9} {:>9} {:>14} {:>9}"
INPUT_SECONDS = 10  # a slower input is a finding
ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def findings(folder, target):
    """Returns the files with findings of a target."""
    kinds = ("crash", "timeout", "oom", "leak")
    return {path for kind in kinds
            for path in glob.glob(f"{folder}/{target}-{kind}-*")}


def processor_seconds():
    """Returns the processor time of the targets that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(build, target, seconds):
    """Runs a target. Returns its executions and its new findings."""
    program = f"{build}/tests/fuzz/fuzz_{target}"
    corpus = f"{build}/fuzz/corpus/{target}"
    folder = f"{build}/fuzz/findings"
    for path in (corpus, folder):
        os.makedirs(path, exist_ok=True)
    before = findings(folder, target)
    log = f"{build}/fuzz/{target}.log"
    with open(log, "w", encoding="utf-8") as out:
        done = subprocess.run(
            [program, f"-max_total_time={seconds}", f"-timeout={INPUT_SECONDS}",
             "-rss_limit_mb=2048", "-print_final_stats=1", "-use_value_profile=1",
             f"-artifact_prefix={folder}/{target}-", corpus,
             f"{HERE}/corpus/{target}"],
            env={**ENVIRONMENT, **os.environ}, stdout=out,
            stderr=subprocess.STDOUT, check=False)
    with open(log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    new = sorted(findings(folder, target) - before)
    executions = EXECUTIONS.search(text)
    if done.returncode or not executions:
        print(text[-6000:], file=sys.stderr)
        new = new or [f"no input, see {log}"]
    return int(executions.group(1)) if executions else 0, new


def main():
    seconds, build, targets = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    targets = targets or sorted(
        os.path.basename(path)[len("target_"):-len(".c")]
        for path in glob.glob(f"{HERE}/target_*.c"))
    print(ROW.format("target", "seconds", "CPU", "executions", "findings"), flush=True)
    total, found = 0, []
    for target in targets:
        before = processor_seconds()
        executions, new = run(build, target, seconds)
        print(ROW.format(target, seconds, round(processor_seconds() - before),
                         f"{executions:,}", len(new)), flush=True)
        total += executions
        found += new
    print(ROW.format("total", seconds * len(targets), round(processor_seconds()),
                     f"{total:,}", len(found)))
    for path in found:
        print(f"finding: {path}")
    sys.exit(1 if found else 0)


main()

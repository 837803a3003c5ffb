#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py BUILD [--tier 1 | --slice K/N] [--] [CTEST ARGUMENTS]

Runs the tests of a build folder by CTest, then prints the ten slowest and the
total. --tier 1 leaves out the tests with the label tier2. --slice K/N runs one
part of N of these. Each driver sweep (label sweep) is in every part, with one part
of its points, which it reads from PEAL_TEST_SLICE. The parts of one N are disjoint
and together complete. Exits as CTest does, or with 1 if no test is left.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml


def slice_of(text):
    """K/N as two numbers."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    part, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= part <= parts:
        raise argparse.ArgumentTypeError(
            f"slice '{text}': is no K/N with 1 <= K <= N; use 3/10")
    return part, parts


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--tier", type=int, choices=[1])
    part.add_argument("--slice", type=slice_of)
    own = sys.argv[1:]
    ctest = []
    if "--" in own:
        at = own.index("--")
        own, ctest = own[:at], own[at + 1:]
    options = parser.parse_args(own)
    options.ctest = ctest
    return options


def labels(test):
    for prop in test["properties"]:
        if prop["name"] == "LABELS":
            return prop["value"]
    return []


def in_slice(tests, part, parts):
    """Neighbours by name go to different parts: they take about as long. A sweep
    is in each part, and takes a part of its points."""
    tier2 = [t for t in tests if "tier2" in labels(t)]
    sweeps = {t["name"] for t in tier2 if "sweep" in labels(t)}
    names = sorted(t["name"] for t in tier2 if t["name"] not in sweeps)
    return sweeps | set(names[part - 1::parts])


def listed(options, arguments=()):
    """The tests that CTest lists."""
    done = subprocess.run(
        ["ctest", "--test-dir", options.build, "--show-only=json-v1",
         *arguments], capture_output=True, text=True)
    try:
        return json.loads(done.stdout)["tests"]
    except json.JSONDecodeError:
        sys.exit(f"folder '{options.build}': CTest lists no tests "
                 f"({(done.stderr or done.stdout).strip()[:200]}); use ./dev test")


def chosen(options):
    """The numbers of the tests to run, for CTest's -I. CTest counts the tests that
    its other arguments leave."""
    tests = listed(options)
    if options.slice:
        names = in_slice(tests, *options.slice)
    else:
        names = {t["name"] for t in tests if "tier2" not in labels(t)}
    left = listed(options, options.ctest) if options.ctest else tests
    numbers = [i for i, t in enumerate(left, 1) if t["name"] in names]
    if not numbers: # CTest takes an empty list for all tests
        part = "slice %d/%d" % options.slice if options.slice else "tier 1"
        sys.exit(f"{part}: has no test that matches the CTest arguments "
                 f"'{' '.join(options.ctest)}'; use --all for both tiers")
    return numbers


def run(options, folder):
    """CTest's exit status; its results are in the file junit of the folder."""
    command = ["ctest", "--test-dir", options.build, "-j", str(os.cpu_count()),
               "--output-on-failure", "--no-tests=error",
               "--output-junit", f"{folder}/junit"]
    if options.slice:
        os.environ["PEAL_TEST_SLICE"] = "%d/%d" % options.slice
    if options.slice or options.tier:
        # Without a newline CTest drops the last digit.
        with open(f"{folder}/numbers", "w") as numbers:
            print(0, 0, 0, *chosen(options), sep=",", file=numbers)
        command += ["-I", f"{folder}/numbers"]
    return subprocess.run(command + options.ctest).returncode


def report(path, wall):
    cases = [(float(case.get("time")), case.get("name"))
             for case in xml.parse(path).iter("testcase")]
    cases.sort(reverse=True)
    print("\nThe slowest tests:")
    for seconds, name in cases[:10]:
        print(f"{seconds:8.1f} s  {name}")
    print(f"{len(cases)} tests, {sum(s for s, _ in cases):.0f} s of tests "
          f"in {wall:.0f} s")


def main():
    options = arguments()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        status = run(options, folder)
        if os.path.exists(f"{folder}/junit") and status != 2:
            report(f"{folder}/junit", time.monotonic() - begin)
    return status


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stress.py SECONDS BUILD...: runs every test program with the label stress in
these build folders. Each case runs for SECONDS. Prints the sum of the verified
messages. Exits with 1 if a test failed or no message was verified."""
import json
import os
import re
import subprocess
import sys

VERIFIED = re.compile(r"^verified messages: (\d+)$", re.M)
CASES = re.compile(r"^(\d+) cases passed$", re.M)
# No test has so many cases: bounds the time of a test that never ends.
CASES_MAX = 100


def tests(build):
    """(name, command, environment) of the tests with the label."""
    listed = subprocess.run(
        ["ctest", "--test-dir", build, "-L", "^stress$", "--show-only=json-v1"],
        check=True, capture_output=True, text=True)
    for test in json.loads(listed.stdout)["tests"]:
        if any(os.path.basename(part) == "bash" for part in test["command"]):
            continue  # a script: it is long and ignores PEAL_STRESS_SECONDS
        properties = {p["name"]: p["value"] for p in test["properties"]}
        yield (test["name"], test["command"],
               dict(v.split("=", 1) for v in properties.get("ENVIRONMENT", [])))


def run(build, name, command, environment, seconds):
    """Returns the number of verified messages; None: the test failed."""
    environment = {**os.environ, **environment,
                   # under stress a thread may wait long for a core
                   "PEAL_CONTROL_TIMEOUT_MS": "60000",
                   "PEAL_STRESS_SECONDS": str(seconds)}
    try:
        done = subprocess.run(command, env=environment, capture_output=True,
                              text=True, timeout=600 + CASES_MAX * seconds)
        status, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        status, out, err = "no end", "", ""
    verified = sum(int(n) for n in VERIFIED.findall(out))
    cases = CASES.search(out)
    text = f"{verified:,} messages" if verified else "no messages"
    if cases:
        text += f", {cases.group(1)} cases"
    if status == 77:
        text = "skipped"
    elif status != 0:
        print(out[-2000:], err[-4000:], sep="\n")
        text = f"FAILED ({status})"
    print(f"{build}: {name}: {text}", flush=True)
    return verified if status in (0, 77) else None


def main():
    seconds, builds = int(sys.argv[1]), sys.argv[2:]
    total, failed = 0, 0
    for build in builds:
        for name, command, environment in tests(build):
            verified = run(build, name, command, environment, seconds)
            failed += verified is None
            total += verified or 0
    print(f"verified messages in all: {total:,}; {failed} tests failed")
    sys.exit(1 if failed or not total else 0)


main()

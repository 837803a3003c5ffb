#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu.py PEAL [--out FOLDER] [--seconds N]: all benchmarks on this machine's
GPUs, within 8 minutes, for `./dev bench --gpu`.

Writes FOLDER/<device>-<date>.json and .md, by default into bench/results.
Without a GPU it says why and ends with 77. Driver doubles are none; with
PEAL_BENCH_ALLOW_DOUBLE=1 they are taken, for the script's own test, and then
FOLDER has to be given and is not bench/results."""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import time

SKIPPED = 77
LIMIT_S = 480  # for everything
HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "results")
# Benchmarks, and their shares of the seconds.
SHARES = {"latency": 0.2, "throughput": 0.2, "stream": 0.12, "echo": 0.1,
          "request": 0.05, "actors": 0.03, "tells": 0.02, "moves": 0.01,
          "barrier": 0.09, "collectives": 0.03, "transfers": 0.03,
          "balance": 0.02, "work": 0.03, "tasks": 0.02,
          "idle": 0.05}
VERSUS = ("versus", "ratio", "ratio_min", "ratio_max")
TABLES = {
    "latency": ("subject", "route", "device_link", "lanes", "message_bytes",
                "latency_ns_p50", "latency_ns_p99", "latency_ns_max",
                "n_samples", "one_way_ns_p50", "one_way_ns_min",
                "one_way_ns_max", "alone_ns_p50", "copied_gigabytes_per_s",
                "versus_ns_p50"),
    "throughput": ("subject", "route", "device_link", "lanes", "message_bytes",
                   "batch", "megamessages_per_s", "gigabytes_per_s",
                   "versus_megamessages_per_s"),
    "stream": ("subject", "route", "device_link", "lanes", "message_bytes",
               "stages", "gigabytes_per_s", "frames_per_s"),
    "echo": ("route", "lanes", "message_bytes", "batch", "echo_ns_p50",
             "echo_ns_p99", "echo_ns_max", "n_samples", "versus_ns_p50"),
    "request": ("route", "lanes", "message_bytes", "batch", "request_ns_p50",
                "request_ns_p99", "request_ns_max", "n_samples",
                "versus_ns_p50"),
    "actors": ("subject", "lanes", "actors", "mega_per_s", "mega_per_s_min",
               "mega_per_s_max", "n_samples", "versus_mega_per_s"),
    "tells": ("subject", "lanes", "workers", "mega_per_s", "mega_per_s_min",
              "mega_per_s_max", "n_samples", "versus_mega_per_s"),
    "moves": ("subject", "lanes", "state_bytes", "waiting", "move_ns_p50",
              "move_ns_p99", "move_ns_max", "n_samples", "versus_ns_p50"),
    "barrier": ("subject", "device_link", "devices", "participants", "phase_ns_p50",
                "phase_ns_max", "versus_ns_p50"),
    "collectives": ("subject", "device_link", "devices", "lanes", "bytes",
                    "collective_ns_p50", "collective_ns_max", "n_samples",
                    "versus_ns_p50"),
    "transfers": ("subject", "route", "bytes", "copy_ns_p50", "copy_ns_max",
                  "gigabytes_per_s", "n_samples", "versus_ns_p50"),
    "balance": ("subject", "devices", "elements", "finish_ns_p50",
                "finish_ns_max", "n_active", "tasks", "imbalance",
                "n_samples", "versus_ns_p50"),
    "work": ("subject", "poppers", "workers", "message_bytes", "pop_ns",
             "megapops_per_s", "megapops_per_s_min", "megapops_per_s_max",
             "megaoperations_per_s", "n_samples", "versus_megapops_per_s",
             "versus_megaoperations_per_s"),
    "tasks": ("subject", "task_ns", "tasks", "per_task_ns", "per_task_ns_min",
              "per_task_ns_max", "device_ns", "overhead_ns", "break_even_ns",
              "n_samples", "versus_ns_p50"),
    "idle": ("subject", "devices", "workers", "cpu_percent_of_one_core",
             "gigabytes_per_s", "versus_gigabytes_per_s"),
}


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def refuse(text):
    say(text)
    sys.exit(SKIPPED)


def ask(command):
    """The JSON object that a command prints; {} if it prints none."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {}


def find_gpus(info, allow_double):
    """The devices to be measured; ends the script where there are none."""
    gpus = [d for d in info.get("devices", []) if d["backend"] != "host"]
    real = [d for d in gpus if not d["emulated"]]
    if real:
        return real
    if gpus and allow_double:
        return gpus
    if gpus:
        refuse("no GPU: the driver is a double, its devices are CPU threads")
    why = "; ".join(f"{b['name']}: {b['reason']}"
                    for b in info.get("backends", []) if b["name"] != "host")
    refuse(f"no GPU: {why or info.get('error', 'peal info says nothing')}")


def drivers(peal):
    """What `peal doctor` finds of the drivers that are there."""
    checks = ask([peal, "doctor", "--json"]).get("checks", [])
    return [c["finding"] for c in checks if c["check"].startswith("driver ")
            and c["status"] == "PASS"]


def run_one(peal, name, seconds, left_s):
    """The object of one benchmark and, if it failed, why."""
    say(f"{name}, about {seconds:.0f} s")
    command = [peal, "bench", name, "--seconds", f"{seconds:.2f}", "--json"]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL, check=False,
                              timeout=max(left_s, 1))
    except subprocess.TimeoutExpired:
        return {}, f"stopped: the {LIMIT_S} s for all benchmarks were over"
    try:
        data = json.loads(done.stdout)
    except ValueError:
        data = {}
    if done.returncode:
        return data, f"exit status {done.returncode}: " \
                     f"{data.get('error', 'see above')}"
    return data, None


def measure(peal, seconds):
    until = time.monotonic() + LIMIT_S
    result = {"rows": [], "failed": []}
    for name, share in SHARES.items():
        data, why = run_one(peal, name, seconds * share,
                            until - time.monotonic())
        result["rows"] += data.pop("rows", [])
        for key in ("schema_version", "peal_version", "machine"):
            if key in data:
                result[key] = data[key]
        if why:
            say(f"{name}: {why}")
            result["failed"].append({"benchmark": name, "why": why})
    return result


def cell(row, key):
    value = row.get(key)
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def markdown(result):
    lines = [f"# {result['devices'][0]['name']}, {result['date']}", "",
             f"{len(result['devices'])} device(s); driver: "
             f"{'; '.join(result['driver']) or 'not known'}; host: "
             f"{result.get('machine', {}).get('cpu', 'not known')}; peal "
             f"{result.get('peal_version', 'not known')}. Written by `./dev "
             "bench --gpu`; bench/README.md says what was measured."]
    if result["emulated"]:
        lines += ["", "The devices are CPU threads: no figure means anything."]
    for name, keys in TABLES.items():
        keys += VERSUS
        rows = [r for r in result["rows"] if r["benchmark"] == name]
        lines += ["", f"## {name}", ""]
        if not rows:
            lines.append("No rows.")
            continue
        lines += ["| " + " | ".join(keys) + " |", "| --- " * len(keys) + "|"]
        lines += ["| " + " | ".join(cell(r, k) for k in keys) + " |"
                  for r in rows]
    if result["failed"]:
        lines += ["", "## Failed", ""]
        lines += [f"- {f['benchmark']}: {f['why']}" for f in result["failed"]]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peal")
    parser.add_argument("--out", default=None)
    parser.add_argument("--seconds", type=float, default=300)
    arguments = parser.parse_args()
    allow_double = os.environ.get("PEAL_BENCH_ALLOW_DOUBLE") == "1"
    info = ask([arguments.peal, "info", "--json"])
    gpus = find_gpus(info, allow_double)
    emulated = gpus[0]["emulated"]
    out = os.path.realpath(arguments.out or RESULTS)
    if emulated and (not arguments.out or out == os.path.realpath(RESULTS)):
        say("results of doubles need a folder of their own: --out FOLDER")
        sys.exit(2)
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    result = {"device": gpus[0]["name"], "devices": gpus, "emulated": emulated,
              "driver": drivers(arguments.peal), "date": date}
    result.update(measure(arguments.peal, arguments.seconds))
    slug = re.sub(r"[^a-z0-9]+", "-", gpus[0]["name"].lower()).strip("-")
    stem = os.path.join(out, f"{slug}-{date}")
    os.makedirs(out, exist_ok=True)
    with open(stem + ".json", "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    with open(stem + ".md", "w", encoding="utf-8") as file:
        file.write(markdown(result))
    say(f"written: {stem}.json and {stem}.md")
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())

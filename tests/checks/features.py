# SPDX-License-Identifier: Apache-2.0
"""The rows of include/FEATURES.md: their calls, commands and tests exist, and the
tests use what their rows name."""
import collections
import functools
import glob
import os
import re

from tree import code_only, read

# A header or program that more tests include belongs to a harness. Its calls are
# of no test.
FEW = 10
# This test calls all functions in a child of fork, where each of them is refused.
FORKS = "runtime/forks"
# Tests in these folders run commands.
RUNS_COMMANDS = ("cli", "examples", "bench")

# A header of a test or an example, and a program that it runs.
INCLUDED = re.compile(r'^#include "([^"]+)"', re.M)
DECLARED = re.compile(r"^PEAL_DECLARE_PROGRAM\((\w+)\)", re.M)


def sources_of(name):
    """Returns the paths of a test, by its CTest name."""
    folder, _, test = name.partition("/")
    if folder == "examples":
        return glob.glob(f"examples/{test}.c")
    return [path for kind in ("c", "sh")
            for path in glob.glob(f"tests/{folder}/**/test_{test}.{kind}",
                                  recursive=True)]


def parts_of(path):
    """Returns the paths of headers and programs that a file names."""
    text = read(path)
    top = path.split("/", 1)[0]
    near = os.path.dirname(path)
    found = [os.path.normpath(os.path.join(folder, name))
             for name in INCLUDED.findall(text) for folder in (near, top)]
    for program in DECLARED.findall(text):
        found += glob.glob(f"{top}/**/programs/{program}.c", recursive=True)
    return [part for part in found
            if part.startswith(top + "/") and os.path.exists(part)]


@functools.lru_cache(maxsize=None)
def reached_from(path):
    """Returns the paths of a source, its headers and its programs."""
    paths = [path]
    for reached in paths: # grows
        paths += [part for part in parts_of(reached) if part not in paths]
    return tuple(paths)


@functools.lru_cache(maxsize=None)
def users_of_parts():
    """Returns the number of tests and examples that reach each path."""
    sources = glob.glob("tests/**/test_*.c", recursive=True)
    return collections.Counter(
        part for source in sources + glob.glob("examples/*.c")
        for part in reached_from(source))


@functools.lru_cache(maxsize=None)
def code_of_file(path, strings=False):
    """Returns the code of a file without comments, on demand with strings."""
    text = read(path)
    if path.endswith(".sh"):
        return re.sub(r"(^|\s)#.*", "", text)
    return code_only(text, not strings)


@functools.lru_cache(maxsize=None)
def code_of_test(name):
    """Returns the code of a test, and of its parts that few tests have."""
    users = users_of_parts()
    return "\n".join(code_of_file(part) for path in sources_of(name)
                     for part in reached_from(path)
                     if part == path or users[part] <= FEW)


def own_code(name):
    """Returns the code of a test itself, with strings."""
    return "\n".join(code_of_file(path, True) for path in sources_of(name))


def calls(name, test):
    return re.search(rf"\b{name}\s*\(", code_of_test(test))


def names_constant(name, test):
    return re.search(rf"\b{name}\b", code_of_test(test))


# A line of a script that expects a refusal. It shows no feature of the command.
REFUSED = re.compile(r"^.*\b(?:refuses|json_error|escapes)\b.*$", re.M)


def runs(command, test):
    """The test runs `peal WORD` with success, and has the other words."""
    word, *others = command.split()
    code = REFUSED.sub("", own_code(test).replace("\\\n", " "))
    return (test.partition("/")[0] in RUNS_COMMANDS and
            re.search(rf'\$\{{?(?:peal|PEAL)\}}?"?\s+{word}\b', code) and
            all(re.search(rf"\b{other}\b", code) for other in others))


def has_option(name, test):
    return re.search(rf"(?<![\w-]){name}(?![\w-])", own_code(test))


def has_member(name, test):
    return re.search(rf"(?:\.|->){name}\b", own_code(test))


# What a row names, and how a test uses it. Each row needs one of the first three.
USES = ((r"`(peal_\w+)", calls), (r"`(PEAL_\w+)", names_constant),
        (r"`peal ([a-z]+(?: [a-z]+)*)", runs), (r"(?<![\w-])(--[a-z][\w-]*)", has_option),
        (r"`(?!peal_)([a-z]\w*)`", has_member))
NEEDED = USES[:3]


def check_uses(check, where, call, tests):
    """Checks that the tests of a row use all that the row names, and each test
    some of it."""
    uses = [(name, used) for named, used in USES
            for name in re.findall(named, call)]
    if not any(re.search(named, call) for named, _ in NEEDED):
        check.fail(where, "names no call, constant or command")
    for name, used in uses:
        if not any(used(name, test) for test in tests):
            check.fail(where, f"{name} is used by no test of the row")
    for test in tests:
        if not any(used(name, test) for name, used in uses):
            check.fail(where, f"{test} uses nothing that the row names")


def check_row(check, where, cells, names):
    if len(cells) != 4 or not all(cells):
        check.fail(where, "not four cells with something in each")
        return
    for call in re.findall(r"`(peal_\w+)", cells[2]):
        if call not in names:
            check.fail(where, f"{call} is no call of a header")
    tests = re.findall(r"`(\w+/\w+)`", cells[3])
    for test in tests:
        if not sources_of(test):
            check.fail(where, f"there is no test {test}")
    if not tests:
        check.fail(where, "no test")
    if FORKS in tests and "fork" not in cells[1]:
        check.fail(where, f"{FORKS} shows refusals only")
    check_uses(check, where, cells[2], tests)


def check_features(check, path, names):
    """Checks the rows `| of | feature | call | test |`; returns their number."""
    count = 0
    for number, line in enumerate(read(path).splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or cells[0] in ("of", "---"):
            continue
        count += 1
        check_row(check, f"{path}:{number}", cells, names)
    if not count:
        check.fail(path, "found no rows")
    return count

# SPDX-License-Identifier: Apache-2.0
"""Shared by the checks in Python: the tree, its sources, failures."""
import os
import re
import sys

FOLDERS = ("include", "runtime", "queues", "p2p", "ringkernels", "tests",
           "bench", "examples")
# True: only the part of a check for `./dev test`. Else the whole check runs.
QUICK = os.environ.get("PEAL_CHECK_QUICK") == "1"
C_SUFFIXES = (".c", ".h", ".cc", ".cpp", ".cxx", ".cu")


class Check:
    def __init__(self, name):
        self.name = name
        self.failures = 0
        here = os.path.dirname(os.path.abspath(__file__))
        root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../..")
        self.tree = os.path.abspath(root)
        os.chdir(self.tree)

    @staticmethod
    def wanted(targets):
        """Returns the targets of the command line, or all."""
        named = sys.argv[2:] or targets
        unknown = [t for t in named if t not in targets]
        if unknown:
            sys.exit(f"no such target: {' '.join(unknown)}")
        return named

    def fail(self, where, what):
        print(f"FAIL: {where}: {what}")
        self.failures += 1

    def finish(self):
        """Prints the closing line and ends the process."""
        if self.failures:
            print(f"{self.name}: {self.failures} failed")
            sys.exit(1)
        print(f"{self.name}: ok")
        sys.exit(0)


def files(suffixes, folders=FOLDERS):
    """Returns the paths with a suffix, relative to the tree, sorted."""
    found = []
    for folder in folders:
        for base, dirs, names in os.walk(folder):
            dirs[:] = [d for d in dirs if not d.startswith((".", "build"))]
            found += [os.path.join(base, n) for n in names
                      if n.endswith(suffixes)]
    return sorted(found)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code_only(text, strings=False):
    """Returns the text with blanks for comments, and for strings on demand."""
    def blank(match):
        token = match.group(0)
        if token[0] in "\"'" and not strings:
            return token
        return re.sub(r"[^\n]", " ", token)
    return TOKEN.sub(blank, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M | re.S)
EXTERN_C = re.compile(r'extern\s+"C"\s*\{|\bPEAL_(?:BEGIN|END)_C\b'
                      r"|\bPEALI_NAMESAKES_(?:BEGIN|END)\b")
# A declaration or definition at depth 0: its words, its name, its bracket.
FUNCTION = re.compile(r"^([A-Za-z_][\w \t\n\*]*?[\s\*])(peali?_\w+)\s*\(", re.M)


def blank(text, pattern):
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def top_level(text):
    """Returns the text with blanks for everything inside braces."""
    out, depth = [], 0
    for char in text:
        if char == "}":
            depth = max(0, depth - 1)
        out.append(char if depth == 0 or char == "\n" else " ")
        if char == "{":
            depth += 1
    return "".join(out)


def functions(text):
    """Yields (offset of the declaration, its words, its name)."""
    code = blank(text, COMMENT)
    code = blank(code, EXTERN_C)
    code = top_level(blank(code, DIRECTIVE))
    for match in FUNCTION.finditer(code):
        if not match.group(1).startswith("typedef"):
            yield match.start(), match.group(1), match.group(2)

# SPDX-License-Identifier: Apache-2.0
"""Part of check_docs: names in Markdown files exist in the tree.

- A link leads to a file, and its anchor to a heading of that file.
- A path or file name in `code` is a file, a CTest test, or made by a build.
- A file in the first column of a table is in the folder of the page. If a page of a
  folder has such a table, each C file of the folder is on a page of the folder.
- A name with an underscore in `code` is a word of a source file.

Fenced blocks are left out: check_readme compiles or runs them. CHANGELOG.md has
old names."""
import fnmatch
import os
import re

from tree import FOLDERS, files, read

FENCED = re.compile(r"^```.*?^```", re.M | re.S)
MARK = re.compile(r"^<!-- file: (\S+) -->", re.M)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
# peal_link_info or in_flight_max, not a part of a placeholder.
NAME = re.compile(r"(?<![\w<*…])(?:peali?_\w+|PEALI?_\w+|[a-z][a-z0-9]*(?:_[a-z0-9]+)+)"
                  r"(?![\w*>/…])")
PATH = re.compile(r"\.{0,2}[\w./-]*[\w/]")
BRACES = re.compile(r"([\w/.]+)\.\{(\w+),(\w+)\}")
# A row of a table of files.
ROW = re.compile(r"^\| ((?:`[\w./{},*]+`(?:, )?)+) \|")
SUFFIX = re.compile(r"\.(c|h|cc|cpp|cu|py|sh|md|pml|txt|in|cmake|json|map)$")
# Where a page may begin a path, beside its own folder.
BASES = ("", "include/", "include/peal/", "include/peal/device/", "runtime/",
         "tests/")
# A word in capitals stands for a name: NAME.c, NN_name, PEAL_CACHE_DIR/images.
PLACEHOLDER = re.compile(r"(?<![A-Za-z])[A-Z]{2}")
# Folders that a build or an install makes, and folders of the system.
MADE = ("build/", "share/", "bench/results/", "/")
# Prefixes of CTest variants, and suffixes of twins: tests/CMakeLists.txt.
VARIANT = re.compile(r"^(double_cuda|double_hip|double_ptx|double_parts|gpu_cuda|gpu_hip)/")
# Files of the caches, and the stem x for any name.
FOREIGN = ("probe.json", "x.h", "x.c")
# Names of other systems in the last column of the glossary.
GLOSSARY = "docs/glossary.md"


def stem(path):
    return os.path.basename(path).split(".")[0]


class Tree:
    """The words of all sources, and the names of all files and tests."""

    def __init__(self):
        paths = files(("",)) + files(("",), ("docs",)) + \
            [p for p in os.listdir(".") if os.path.isfile(p)]
        self.names = {os.path.basename(path) for path in paths}
        self.words = set()
        self.tests = set()
        for path in paths:
            self.add_test(path)
            self.words |= {stem(path), re.sub("^test_", "", stem(path))}
            if not path.endswith(".md") and not path.startswith("tests/checks/"):
                self.add_words(path)

    def add_test(self, path):
        found = re.fullmatch(r"tests/(\w+)/(?:\w+/)?test_(\w+)\.(c|sh)", path) or \
            re.fullmatch(r"(examples)/(\w+)\.c", path) or \
            re.fullmatch(r"tests/(check)s/check_(\w+)", path)
        if found:
            name = f"{found[1]}/{found[2]}"
            self.tests |= {name, name + "_all"}

    def add_words(self, path):
        try:
            self.words |= set(re.findall(r"[A-Za-z_]\w*", read(path)))
        except UnicodeDecodeError:
            pass


def anchors(path):
    """Returns the anchors that a browser makes of the headings."""
    text = FENCED.sub("", read(path))
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
            for title in re.findall(r"^#+ (.*)", text, re.M)}


def check_link(check, where, folder, link):
    if re.match(r"\w+:", link):
        return
    path, _, anchor = link.partition("#")
    target = os.path.normpath(os.path.join(folder, path)) if path else \
        where.rsplit(":", 1)[0]
    if not os.path.exists(target):
        check.fail(where, f"the link {link} leads to no file")
    elif anchor and anchor not in anchors(target):
        check.fail(where, f"the link {link} leads to no heading")


def is_path(text):
    return bool(PATH.fullmatch(text) and ("/" in text or SUFFIX.search(text)))


def path_is_there(tree, folder, path):
    if "/" not in path and path in tree.names or path in FOREIGN:
        return True
    if SUFFIX.fullmatch(path) or PLACEHOLDER.search(path):
        return True
    if (path + "/").startswith(MADE) or VARIANT.sub("", path) in tree.tests | {""}:
        return True
    return any(os.path.exists(os.path.normpath(base + path))
               for base in BASES + (folder + "/",))


def paths_of(code):
    """Returns the paths that a piece of code names: a.{h,c} names two."""
    braces = BRACES.fullmatch(code)
    if braces:
        return [f"{braces[1]}.{kind}" for kind in braces.groups()[1:]]
    return [code] if is_path(code) else []


def check_code(check, tree, where, folder, code, own):
    paths = paths_of(code)
    for path in paths:
        if path not in own and not path_is_there(tree, folder, path):
            check.fail(where, f"`{path}` is no file and no test")
    for name in NAME.findall(code):
        if not paths and name not in tree.words:
            check.fail(where, f"`{name}` is in no source file")


def lines_of(path):
    """Returns the lines of a page, with empty ones for fenced blocks."""
    blank = FENCED.sub(lambda m: re.sub(r"[^\n]", "", m[0]), read(path))
    return blank.split("\n")


def below(folder, path):
    return any(os.path.exists(os.path.join(base, path))
               for base, _, _ in os.walk(folder or "."))


def check_rows(check, path):
    """Checks the tables of files on a page. Returns the number of their rows."""
    folder, n_rows = os.path.dirname(path), 0
    for number, line in enumerate(lines_of(path), 1):
        row = ROW.match(line)
        for code in CODE.findall(row[1]) if row and path.startswith(FOLDERS) else ():
            for name in paths_of(code):
                if not name.endswith((".c", ".h")) or PLACEHOLDER.search(name):
                    continue
                n_rows += 1
                if not os.path.exists(name) and not below(folder, name):
                    check.fail(f"{path}:{number}", f"`{name}` is not in {folder}/")
    return n_rows


def check_listing(check, folder, pages):
    """The C files of a folder are on its pages."""
    text = "".join(read(page) for page in pages)
    listed = [path for code in CODE.findall(text)
              for path in paths_of(code) + re.findall(r"[\w*]+\.[ch]", code)]
    for name in sorted(os.listdir(folder)):
        if name.endswith((".c", ".h")) and not any(
                fnmatch.fnmatch(name, os.path.basename(path)) for path in listed):
            check.fail(f"{folder}/{name}", "is on no page of its folder")


def check_page(check, tree, path):
    own = set(MARK.findall(read(path)))
    folder = os.path.dirname(path)
    for number, line in enumerate(lines_of(path), 1):
        where = f"{path}:{number}"
        for link in LINK.findall(line):
            check_link(check, where, folder, link)
        if path == GLOSSARY and line.startswith("|"):
            line = line.rsplit("|", 2)[0]
        for code in CODE.findall(line):
            check_code(check, tree, where, folder, code, own)


def check_markdown(check):
    """Checks all pages; returns their number."""
    tree = Tree()
    pages = files((".md",), FOLDERS + ("docs",)) + \
        [name for name in os.listdir(".") if name.endswith(".md")]
    pages = [page for page in pages if not page.endswith("CHANGELOG.md")]
    listing = {}
    for page in pages:
        check_page(check, tree, page)
        if check_rows(check, page):
            folder = os.path.dirname(page)
            listing[folder] = [p for p in pages if os.path.dirname(p) == folder]
    for folder, own in listing.items():
        check_listing(check, folder, own)
    if not pages or not tree.words:
        check.fail("tree", "found no Markdown files or no sources")
    return len(pages)

# SPDX-License-Identifier: Apache-2.0
"""Finds places for faults in PTX, and plants faults there."""
import os
import re

HELPERS = ("atomic_cuda.h", "atomic.h")
LOC = re.compile(r"\s*\.loc\s+(\d+) (\d+) (\d+)(?:, function_name [^,]+, "
                 r"inlined_at (\d+) (\d+) (\d+))?")
FILE = re.compile(r'\s*\.file\s+(\d+) "([^"]+)"')
FUNCTION = re.compile(r"^(?:[A-Za-z_][\w\s*]*?)?\b(\w+)\(")
NAMED = re.compile(r"^(?:PEALI_SLOW|PEALI_HOST_SLOW)\([^,]+, (\w+)|"
                   r"^(?:PEALI_DO|ROLE)\((\w+)")
ACCESS = re.compile(r"^\s*(@\S+\s+)?((?:ld|st|atom)\.\S+)\s")
ADDRESS = re.compile(r"\[(%rd\d+)(?:\+(-?\d+))?\]")
# These write messages to memory that is not zero at first.
MESSAGE_FILES = ("copy_bytes.h", "slot.h", "slot_write_direct.h")
MESSAGE_FUNCTIONS = ("peali_link_describe",)
PAST = 1 << 20 # bytes behind a table
HOST_ADDRESS = 0x7fffffffe000 # of a stack of the host
VECTOR = re.compile(r"\{(.*?)\}")


class Site:
    """A place in the source, with the lines of its copies in the PTX."""

    def __init__(self, file, line, kind):
        self.file, self.line, self.kind = file, line, kind
        self.copies = {} # program: numbers of lines
        self.choices = [] # of one place: (program, number, line)

    def add(self, program, number):
        self.copies.setdefault(program, []).append(number)


# ---- faults -----------------------------------------------------------------------
# Each takes a line of PTX and returns it with the fault.

def without(text):
    return "// planted: " + text.strip()


def relaxed(text):
    return re.sub(r"\.(acquire|release|acq_rel)\b", ".relaxed", text, count=1)


def no_acquire(text):
    return text.replace(".acq_rel", ".release", 1)


def no_release(text):
    return text.replace(".acq_rel", ".acquire", 1)


def split(text):
    """Makes four accesses of one of 16 bytes."""
    base, offset = ADDRESS.search(text).groups()
    registers = [r.strip() for r in VECTOR.search(text)[1].split(",")]
    opcode = text.split()[0].replace(".v4", "")
    places = [f"[{base}+{int(offset or 0) + 4 * i}]" for i in range(4)]
    if opcode.startswith("st"):
        return " ".join(f"{opcode} {at}, {r};" for at, r in zip(places, registers))
    return " ".join(f"{opcode} {r}, {at};" for at, r in zip(places, registers))


def past(text):
    base, offset = ADDRESS.search(text).groups()
    return ADDRESS.sub(f"[{base}+{int(offset or 0) + PAST}]", text, count=1)


def host_pointer(text):
    return ADDRESS.sub(f"[{HOST_ADDRESS}]", text, count=1)


def trap(text):
    return "trap;"


FAULTS = {
    "acquire, now relaxed": relaxed,
    "release, now relaxed": relaxed,
    "acq_rel, now relaxed": relaxed,
    "acq_rel without acquire": no_acquire,
    "acq_rel without release": no_release,
    "fence removed": without,
    "barrier removed": without,
    "warp barrier removed": without,
    "cluster barrier removed": without,
    "cluster barrier, now relaxed": relaxed,
    "split store": split,
    "split load": split,
    "index past a table": past,
    "host pointer": host_pointer,
    "undefined word": without,
}
ORDERS = [kind for kind in FAULTS if kind[0] in "arf" and "," in kind or
          "without" in kind or kind == "fence removed"]


def kinds_of(text):
    """Returns the faults that an instruction may get by its opcode."""
    opcode = text.split()[0] if text.strip() else ""
    if opcode.startswith("@"):
        opcode = text.split()[1]
    if opcode.startswith("ld.acquire"):
        return ["acquire, now relaxed"]
    if opcode.startswith("st.release"):
        return ["release, now relaxed"]
    if opcode.startswith("atom.acq_rel"):
        return ["acq_rel, now relaxed", "acq_rel without acquire",
                "acq_rel without release"]
    if opcode.startswith(("fence.", "membar.")):
        return ["fence removed"]
    if opcode.startswith("bar.warp"):
        return ["warp barrier removed"]
    if opcode.startswith("barrier.cluster"):
        return ["cluster barrier removed"] + (
            ["cluster barrier, now relaxed"] if ".release" in opcode else [])
    if opcode.startswith(("bar.", "barrier.")):
        return ["barrier removed"]
    if re.match(r"(ld|st)\.relaxed\S*\.v4\.u32", opcode):
        return ["split store" if opcode.startswith("st") else "split load"]
    return []


# ---- places in the source ---------------------------------------------------------

class Sources:
    """Names of the functions around lines of source files."""

    def __init__(self):
        self.names = {} # path: names by line

    def _read(self, path):
        names, name = [""], ""
        with open(path, encoding="utf-8") as file:
            for text in file:
                named = NAMED.match(text)
                found = FUNCTION.match(text)
                if named:
                    name = named[1] or named[2]
                elif found and not text.startswith(("#", "/", "}")):
                    name = found[1]
                names.append(name)
        return names

    def function(self, path, line):
        if path not in self.names:
            self.names[path] = self._read(path) if os.path.exists(path) else []
        names = self.names[path]
        return names[line] if line < len(names) else ""


class Reader:
    """Walks the lines of a module and knows the place of each."""

    def __init__(self, lines, sources):
        self.sources = sources
        self.files = {m[1]: os.path.normpath(m[2])
                      for m in map(FILE.match, lines) if m}
        self.parents = {} # place: place of its inlined call, or None
        self.place = None

    def see(self, text):
        found = LOC.match(text)
        if found:
            self.place = found.group(1, 2, 3)
            self.parents[self.place] = found.group(4, 5, 6) if found[4] else None

    def is_helper(self, place):
        path = self.files[place[0]]
        name = os.path.basename(path)
        return (name in HELPERS or "/peal/" not in path and "/ptx/" not in path or
                self.sources.function(path, int(place[1])) == "peal_sync")

    def source(self):
        """Returns path and line of the call of the innermost helper."""
        place, seen = self.place, set()
        while place and self.is_helper(place) and place not in seen:
            seen.add(place)
            if not self.parents.get(place):
                break
            place = self.parents[place]
        return (self.files[place[0]], int(place[1])) if place else ("", 0)


def leaves_undefined(path, function, text):
    """Whether the removal of a store leaves a word of a message undefined."""
    return (os.path.basename(path) in MESSAGE_FILES or function in MESSAGE_FUNCTIONS
            ) and re.match(r"\s*st\.(?:local\.|global\.)?(?:v\d\.)?[ubs]\d+\s", text)


class Finder:
    """Collects the sites of several programs."""

    def __init__(self, is_covered):
        self.is_covered = is_covered # of a path: 1 if its part is tested
        self.sources = Sources()
        self.sites = {} # (path, line, kind): Site
        self.others = {} # places of orders in other parts

    def _note(self, path, line, kind, program, number):
        if not self.is_covered(path):
            self.others[(path, line)] = 1
            return
        key = (path, line, kind)
        self.sites.setdefault(key, Site(path, line, kind)).add(program, number)

    def _address(self, path, line, kind, program, number):
        """Notes a choice for a fault of an address. A header gets one such fault,
        and each function an undefined word."""
        function = self.sources.function(path, line)
        key = (path, kind, function if kind == "undefined word" else "")
        site = self.sites.setdefault(key, Site(path, line, kind))
        if (line, program) not in [(c[2], c[0]) for c in site.choices]:
            site.choices.append((program, number, line))

    def read(self, program, lines):
        reader = Reader(lines, self.sources)
        for number, text in enumerate(lines):
            reader.see(text)
            kinds = kinds_of(text)
            access = ACCESS.match(text) and ADDRESS.search(text)
            if not kinds and not access:
                continue
            path, line = reader.source()
            for kind in kinds:
                self._note(path, line, kind, program, number)
            if access and line and self.is_covered(path):
                self._address(path, line, "index past a table", program, number)
                self._address(path, line, "host pointer", program, number)
                if leaves_undefined(path, self.sources.function(path, line), text):
                    self._address(path, line, "undefined word", program, number)

    def named(self):
        """Returns all sites by their names, which have no line numbers."""
        order = sorted(self.sites.values(), key=lambda s: (s.file, s.kind, s.line))
        result, counts = {}, {}
        for site in order:
            site.function = self.sources.function(site.file, site.line)
            if site.choices and site.kind != "undefined word":
                site.function = ""
            name = f"{os.path.basename(site.file)} {site.function}".strip()
            name += f": {site.kind}"
            counts[name] = counts.get(name, 0) + 1
            if counts[name] > 1:
                name += f" {counts[name]}"
            result[name] = site
        return result


def planted(lines, numbers, fault):
    """Returns the text of a module with a fault in some lines."""
    lines = list(lines)
    for number in numbers:
        lines[number] = fault(lines[number])
    return "\n".join(lines)

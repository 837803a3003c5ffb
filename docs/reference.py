#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reference.py TREE OUT VERSION: makes the API reference with doxygen.

OUT gets the folders html and man/man3. DOXYGEN names the command. The exit status
is 1 if a public function has no comment, or its comment does not fit it. Comments
of doxygen begin with /**. In our headers plain comments describe the members of
structs and the header itself. So doxygen reads copies with other comment marks.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

FOLDERS = (("host", "", "Host programs, peal/"),
           ("handlers", "device/", "Handlers, peal/device/"),
           ("layouts", "abi/", "Shared layouts, peal/abi/"))
TOKEN = re.compile(
    r"(?P<comment>/\*.*?\*/)"
    r"|(?P<directive>^[ \t]*#(?:[^\n\\]|\\.|\\\n)*)"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|(?P<mark>[{};])", re.S | re.M)
AGGREGATE = re.compile(r"\b(struct|union|enum)\b[^()]*$")
# A comment in front of a blank line or a forward declaration is about the header.
FREE = re.compile(r"\n(\n|struct \w+;)")
# Lines of a comment that a tab indents are code.
CODE = re.compile(r"((?:\n[ \t]*\*)?)((?:\n[ \t]*\*\t[^\n]*(?:\n[ \t]*\*(?=\n))*)+)")
# A call in a header or in a comment.
CALL = re.compile(r"\b(peal_\w+)\s*\(")
NAME = re.compile(r"(?<![\w`./])(?<!struct )(peal_\w+)\b(?![\w`(./])")
# Members of structs, macros and so on may go without a comment. A function may
# return one code for several causes. A header may have several texts.
ALLOWED = re.compile(
    r"\((variable|enumvalue|enumeration|typedef|macro definition)\) of .* is not "
    r"documented|Compound .* is not documented|has multiple documentation sections"
    r"|Refusing to add group")
# Lines that a copy has in front of those of its header.
AHEAD = 3


class Scope:
    """The braces around a position, and the code since the last statement."""

    def __init__(self):
        self.kinds, self.code = [], ""

    def mark(self, char):
        if char == "{":
            self.kinds.append(bool(AGGREGATE.search(self.code)))
        elif char == "}" and self.kinds:
            self.kinds.pop()
        self.code = ""

    def in_members(self):
        return bool(self.kinds) and self.kinds[-1]


def as_code(match):
    """Puts commands around lines of code, without new lines."""
    body = match[2].rstrip("\n *\t")
    kind = "{.c}" if re.search(r"[;{]$", body, re.M) else "{.unparsed}"
    return f"{match[1]} @code{kind}{body} @endcode{match[2][len(body):]}"


def marked(text, calls):
    """Escapes angle brackets and #. Doxygen links the name of a call with ()."""
    text = re.sub(r"([<>]|#(?=\w))", r"\\\1", text)
    return NAME.sub(lambda m: m[1] + "()" * (m[1] in calls), text)


def prepared(text, calls):
    """Marks the text of a comment, and what is code in it."""
    parts = re.split(r"(@code.*?@endcode)", CODE.sub(as_code, text), flags=re.S)
    parts[::2] = [marked(part, calls) for part in parts[::2]]
    return "".join(parts)


def is_beside(text, offset):
    """Returns whether there is code in front of the comment on its line."""
    return bool(text[text.rfind("\n", 0, offset) + 1:offset].strip())


def begun(text, match, scope, group):
    """Returns the beginning of the comment for doxygen, and the rest."""
    body = match["comment"][2:]
    if scope.in_members() and body[0] != "*":
        return "/**<" if is_beside(text, match.start()) else "/**", body
    if scope.kinds or body[0] != "\n" or not FREE.match(text, match.end()):
        return "/*", body
    if scope.code.strip(): # not the first text of the header
        body = re.sub(r"(\n[ \t]*\* )", r"\1@details ", body, count=1)
    return f"/** @addtogroup {group}", body


def filtered(text, group, calls):
    """Returns the text of a header with the comment marks of doxygen."""
    out, scope, at = [f"/** @addtogroup {group}\n * @{{\n */\n"], Scope(), 0
    for match in TOKEN.finditer(text):
        between = text[at:match.start()]
        out.append(between)
        scope.code += between
        if match["mark"]:
            scope.mark(match["mark"])
        token = match.group(0)
        if match["comment"]:
            begin, body = begun(text, match, scope, group)
            token = begin + prepared(body, calls)
        out.append(token)
        at = match.end()
    return "".join(out) + text[at:] + "/** @} */\n"


def group_of(folder, path):
    name = os.path.basename(path)[:-len(".h")]
    return "peal-" + folder.replace("/", "-") + name.replace("_", "-")


def calls_of(tree):
    """Returns the names in front of a bracket in the code of the headers."""
    found = set()
    for path in glob.glob(os.path.join(tree, "include/peal/**/*.h"), recursive=True):
        with open(path, encoding="utf-8") as file:
            found.update(CALL.findall(re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)))
    return found


def copy_headers(tree, source):
    """Copies the headers to source/peal and defines a group for each."""
    groups, calls = [], calls_of(tree)
    for parent, folder, title in FOLDERS:
        groups.append(f"/** @defgroup peal-{parent} {title} */\n")
        target = os.path.join(source, "peal", folder)
        os.makedirs(target, exist_ok=True)
        for path in sorted(glob.glob(os.path.join(tree, "include/peal", folder, "*.h"))):
            name, group = os.path.basename(path), group_of(folder, path)
            groups.append(f"/** @defgroup {group} peal/{folder}{name}\n"
                          f" * @ingroup peal-{parent}\n */\n")
            with open(path, encoding="utf-8") as file:
                text = filtered(file.read(), group, calls)
            write(os.path.join(target, name), text)
    write(os.path.join(source, "groups.h"), "".join(groups))


def run_doxygen(tree, out, version):
    with open(os.path.join(tree, "docs/Doxyfile.in"), encoding="utf-8") as file:
        text = file.read()
    for word, value in (("VERSION", version), ("SOURCE", out + "/source"),
                        ("OUTPUT", out)):
        text = text.replace(f"@{word}@", value)
    write(out + "/Doxyfile", text)
    subprocess.run([os.environ.get("DOXYGEN", "doxygen"), out + "/Doxyfile"], check=True)


def faults(out):
    """Yields the warnings that are errors, with the headers' own lines."""
    with open(out + "/warnings", encoding="utf-8") as file:
        for line in file.read().splitlines():
            found = re.match(rf"{re.escape(out)}/source/(.*?):(\d+): (.*)", line)
            if found and not ALLOWED.search(found[3]):
                yield f"include/{found[1]}:{int(found[2]) - AHEAD}: {found[3]}"
            elif not found and line.strip() and not ALLOWED.search(line):
                yield line.replace(out + "/source/", "include/")


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def finish_header_page(folder, name, text):
    """Joins the lines of the NAME section, and makes links for the functions and
    macros of the page."""
    write(f"{folder}/{name}.3", re.sub(r"\n\.PP\n \\- ", ": ", text, count=1))
    titles = "\n".join(re.findall(r"^\.(?:SS|RI) .*", text, re.M))
    titles = re.sub(r"\\f[BIP]", "", titles)
    for call in re.findall(r'^\.\w+ "[^"(]*\b((?:peal|PEAL)_\w+) ?\(', titles, re.M):
        write(f"{folder}/{call}.3", f".so man3/{name}.3\n")


def finish_man_pages(folder):
    """Gives structs the section 3type, as a call may have their name. Removes the
    links that doxygen makes for members of structs."""
    pages = {}
    for path in sorted(glob.glob(folder + "/*.3")):
        with open(path, encoding="utf-8") as file:
            # A quote at the beginning of a line of code is no macro.
            pages[os.path.basename(path)[:-len(".3")]] = re.sub(
                r"(?m)^'", r"\\&'", file.read())
        os.remove(path)
    for name, text in pages.items():
        if name.startswith("peal-"):
            finish_header_page(folder, name, text)
        elif name.startswith("peal_") and not text.startswith(".so "):
            write(f"{folder}/{name}.3type",
                  re.sub(r'(?m)^(\.TH "[^"]*") 3', r"\1 3type", text, count=1))


def main():
    tree, out, version = (os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]),
                          sys.argv[3])
    for name in ("source", "html", "man"):
        shutil.rmtree(os.path.join(out, name), ignore_errors=True)
    copy_headers(tree, out + "/source")
    shutil.copy(os.path.join(tree, "docs/reference.md"), out + "/source")
    run_doxygen(tree, out, version)
    finish_man_pages(out + "/man/man3")
    found = list(faults(out))
    print("".join(f"{line}\n" for line in found), end="", file=sys.stderr)
    sys.exit(1 if found else 0)


main()

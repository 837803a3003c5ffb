# SPDX-License-Identifier: Apache-2.0
"""installed_links.py FOLDER: every link of every Markdown page below FOLDER leads
to a file or folder, and its anchor to a heading. So do the links between pages for
browsers. Prints each link that does not, and exits with 1 then."""
import os
import re
import sys
from urllib.parse import unquote

FENCED = re.compile(r"^```.*?^```", re.M | re.S)
LINK = {".md": re.compile(r"\]\(([^)\s]+)\)"),
        ".html": re.compile(r"<a [^>]*href=\"([^\"]+)\"")}


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return FENCED.sub("", file.read())


def anchors(path):
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
            for title in re.findall(r"^#+ (.*)", text_of(path), re.M)}


def fault_of(page, link):
    """Returns the fault of a link, or an empty text."""
    path, _, anchor = unquote(link).partition("#")
    target = os.path.join(os.path.dirname(page), path) if path else page
    if not os.path.exists(target):
        return "leads to no installed file"
    if anchor and target.endswith(".md") and anchor not in anchors(target):
        return "leads to no heading"
    return ""


def pages_of(folder):
    for base, _, names in os.walk(folder):
        for name in sorted(names):
            if os.path.splitext(name)[1] in LINK:
                yield os.path.join(base, name)


def main():
    n_pages = n_links = n_faults = 0
    for page in pages_of(sys.argv[1]):
        n_pages += 1
        for link in LINK[os.path.splitext(page)[1]].findall(text_of(page)):
            if re.match(r"\w+:", link):
                continue
            n_links += 1
            fault = fault_of(page, link)
            if fault:
                n_faults += 1
                print(f"FAIL: {page}: the link {link} {fault}")
    print(f"{n_pages} pages, {n_links} links, {n_faults} faults")
    sys.exit(n_faults > 0 or n_links == 0)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""filters.py IN.y4m OUT.y4m LEVEL [FRAME...]: checks that the luma of OUT is
threshold(sobel(blur(IN))), and that its chroma is that of IN. Checks the named
frames, or all. Implements the definitions of the filters, without Peal's
sources. Prints the largest difference of a sample. Exits with 1 if it is more
than 1 grey level."""
import re
import sys


def read_y4m(path):
    with open(path, "rb") as file:
        data = file.read()
    end = data.index(b"\n")
    header = data[:end]
    width = int(re.search(rb" W(\d+)", header).group(1))
    height = int(re.search(rb" H(\d+)", header).group(1))
    size = width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2)
    frames, at = [], end + 1
    while at < len(data):
        line = data.index(b"\n", at)
        assert data[at:at + 5] == b"FRAME", path
        frames.append(data[line + 1:line + 1 + size])
        assert len(frames[-1]) == size, path
        at = line + 1 + size
    return header, width, height, frames


def blur(image, width, height):
    """5x5 Gaussian of binomial weights, border replicated, rounded."""
    weights = (1, 4, 6, 4, 1)
    rows = [image[y * width:(y + 1) * width] for y in range(height)]
    across = []
    for row in rows:
        wide = bytes((row[0],) * 2) + row + bytes((row[-1],) * 2)
        across.append([sum(w * wide[x + k] for k, w in enumerate(weights))
                       for x in range(width)])
    out = bytearray()
    for y in range(height):
        five = [across[min(max(y + k - 2, 0), height - 1)] for k in range(5)]
        out += bytes((sum(w * v for w, v in zip(weights, column)) + 128) // 256
                     for column in zip(*five))
    return bytes(out)


def sobel(image, width, height):
    """|gx| + |gy|, at most 255, border replicated."""
    out = bytearray()
    for y in range(height):
        rows = []
        for k in (-1, 0, 1):
            at = min(max(y + k, 0), height - 1) * width
            row = image[at:at + width]
            rows.append(row[:1] + row + row[-1:])
        a, b, c = rows
        for x in range(1, width + 1):
            gx = (a[x + 1] + 2 * b[x + 1] + c[x + 1]
                  - a[x - 1] - 2 * b[x - 1] - c[x - 1])
            gy = (c[x - 1] + 2 * c[x] + c[x + 1]
                  - a[x - 1] - 2 * a[x] - a[x + 1])
            out.append(min(abs(gx) + abs(gy), 255))
    return bytes(out)


def main():
    header, width, height, before = read_y4m(sys.argv[1])
    header_out, _, _, after = read_y4m(sys.argv[2])
    level = int(sys.argv[3])
    table = bytes(255 if v >= level else 0 for v in range(256))
    assert header == header_out, "the headers differ"
    assert len(before) == len(after), (len(before), len(after))
    most = 0
    n = width * height
    for i in [int(a) for a in sys.argv[4:]] or range(len(before)):
        luma = sobel(blur(before[i][:n], width, height), width, height)
        luma = luma.translate(table)
        if luma != after[i][:n]:
            most = max(most, max(abs(a - b) for a, b in zip(luma, after[i])))
        assert before[i][n:] == after[i][n:], f"chroma of frame {i} differs"
    print(most)
    sys.exit(most > 1)


main()

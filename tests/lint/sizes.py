#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Functions of at most 70 lines, files of at most 800 (C sources and headers; generated ones may be longer)."""
import tree

FUNCTION_LINES = 70
FILE_LINES = 800


def functions(lines):
    """(line number, lines) of every function: in our brace style both braces stand alone in column 0."""
    opened = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            opened = number
        elif line == "}" and opened is not None:
            yield opened, number - opened + 1
            opened = None


def main():
    complaints, looked_at = [], 0
    for path in tree.files({".c", ".h"}):
        looked_at += 1
        lines = tree.lines_of(path)
        generated = any(line.startswith("/* Written by ") for line in lines[:20])
        if len(lines) - 1 > FILE_LINES and not generated:
            complaints.append(f"{path}: {len(lines) - 1} lines, at most {FILE_LINES}: split by who owns the state")
        for number, length in functions(lines):
            if length > FUNCTION_LINES:
                complaints.append(f"{path}:{number}: function of {length} lines, at most {FUNCTION_LINES}")
    tree.finish("sizes", complaints, looked_at)


main()

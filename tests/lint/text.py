#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every source file names its licence, ends with a newline, and holds no trailing blanks, loose ends or banners;
the full fence has one door."""
import re

import tree

SUFFIXES = {".c", ".h", ".cc", ".hh", ".sh", ".py", ".in"}
NAMES = ("meson.build", "meson_options.txt", "quickstart", "check", "run")
EBPF_LICENCE = "(GPL-2.0-only OR BSD-3-Clause)"
# Written in pieces: this file obeys itself.
LOOSE_ENDS = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX|not impl" + r"emented)\b")
# A comment that begins or ends with a ruler: /* ---- x ---- */, # ====. Drawings begin with a blank or a letter.
BANNER = re.compile(r"^\s*(/\*+|\*|//|#|!) ?([-=#*~_])\2{2,}(?!>)|\s([-=#~_])\3{2,}\s*\*/$")
# Its door also knows ThreadSanitizer, which does not know bare fences.
FULL_FENCE = re.compile(r"thread_fence\(.*seq_cst", re.IGNORECASE)
FENCE_DOOR = "include/nof_private/fence.h"


def check(path, lines):
    head = "\n".join(lines[:3])
    if "SPDX-License-Identifier: " not in head:
        yield f"{path}:1: no SPDX-License-Identifier in the first three lines"
    elif path.name.endswith(".bpf.c") and EBPF_LICENCE not in head:
        yield f"{path}:1: a program for the kernel is licensed {EBPF_LICENCE}"
    if lines[-1] != "":
        yield f"{path}:{len(lines)}: no newline at the end"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield f"{path}:{number}: trailing blank"
        if path.suffix in (".c", ".h", ".cc", ".hh") and "\t" in line:
            yield f"{path}:{number}: tabulator; indent with spaces"
        if LOOSE_ENDS.search(line):
            yield f"{path}:{number}: a loose end; finish it, or make it an issue"
        if BANNER.search(line):
            yield f"{path}:{number}: a banner; a comment is a sentence, a file that needs chapters is two files"
        if FULL_FENCE.search(line) and str(path) != FENCE_DOOR:
            yield f"{path}:{number}: a bare full fence; nof_fence_full() ({FENCE_DOOR})"


def main():
    complaints, looked_at = [], 0
    for path in tree.files(SUFFIXES, NAMES):
        looked_at += 1
        complaints += check(path, tree.lines_of(path))
    tree.finish("text", complaints, looked_at)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""No line has more than 140 characters: two stand beside each other on a screen. But for what cannot be broken: rows of tables, single
words, and what a program writes."""
import tree

MOST = 140
SUFFIXES = {".c", ".h", ".cc", ".hh", ".sh", ".py", ".in", ".md", ".f", ".f90", ".ini", ".rules", ".yml"}
NAMES = ("meson.build", "meson_options.txt", "quickstart", "check", "run")
WRITTEN = ("host/libmpi_offload/include/mpi.h", "host/libmpi_offload/mpi.h.in", "docs/LOOPS.md", "docs/MPI_COVERAGE.md")


def breakable(path, line):
    words = line.split()
    if path.suffix == ".md" and words[0].startswith("|"):
        return False
    return len(words) > 1 and max(len(word) for word in words) < MOST - 20


def main():
    complaints, looked_at = [], 0
    for path in tree.files(SUFFIXES, NAMES):
        looked_at += 1
        if str(path) in WRITTEN:
            continue
        for number, line in enumerate(tree.lines_of(path), 1):
            if len(line) > MOST and breakable(path, line):
                complaints.append(f"{path}:{number}: {len(line)} characters; {MOST} at most")
    tree.finish("lines", complaints, looked_at)


main()

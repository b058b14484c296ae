# SPDX-License-Identifier: BSD-3-Clause
"""Writes mpi.h from mpi.h.in and the one table of functions.

usage: gen_mpi_h.py functions.tbl mpi.h.in mpi.h

A line of the table is a C prototype without the MPI_ prefix; it may continue on lines that start
with blanks. '#' starts a comment."""
import re
import sys


def read_table(path):
    text = re.sub(r"#.*", "", open(path, encoding="ascii").read())
    for proto in text.split(";"):
        proto = " ".join(proto.split())
        if not proto:
            continue
        found = re.match(r"(int|double|MPI_Aint) ([A-Z]\w*)(\(.*\))$", proto)
        if not found:
            sys.exit(f"{path}: not a prototype: {proto}")
        yield found.groups()


def main():
    table, template, out = sys.argv[1:4]
    lines = []
    functions = list(read_table(table))
    names = [name for _, name, _ in functions]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        sys.exit(f"{table}: listed twice: {', '.join(sorted(twice))}")
    for prefix in ("MPI_", "PMPI_"):
        lines += [f"{ret} {prefix}{name}{args};" for ret, name, args in functions]
    text = open(template, encoding="ascii").read().replace("@PROTOTYPES@", "\n".join(lines))
    with open(out, "w", encoding="ascii") as f:
        f.write(text)


main()

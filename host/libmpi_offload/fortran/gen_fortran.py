#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Fortran bindings, made from functions.tbl, fortran.rules and mpi.h.

usage: gen_fortran.py stubs functions.tbl fortran.rules OUT.c
       gen_fortran.py mpif functions.tbl fortran.rules mpi.h mpif.h.in OUT
       gen_fortran.py mpi functions.tbl fortran.rules mpi.h mpi.f90.in OUT
       gen_fortran.py f08 functions.tbl fortran.rules mpi.h mpi_f08.f90.in OUT

stubs  C functions mpi_x_ for every function that fortran.rules does not call hand-written.
mpif   mpif.h, which suits fixed and free form.
mpi    module mpi: mpif.h's constants and an explicit interface for each function.
f08    module mpi_f08."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import binding  # noqa: E402
import constants  # noqa: E402
import gen_mpi  # noqa: E402
import interfaces  # noqa: E402
import stubs  # noqa: E402


def bindings(table, rules):
    made = (binding.binding(rules, f) for f in gen_mpi.read_table(table))
    return [b for b in made if b is not None]


def write(path, template, **parts):
    text = open(template, encoding="ascii").read()
    for key, lines in parts.items():
        text = text.replace(f"@{key}@", "\n".join(lines))
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def make_stubs(all_bindings, rules, out):
    with open(out, "w", encoding="ascii") as f:
        f.write(stubs.source(all_bindings, rules))


def make_mpif(all_bindings, _, header, template, out):
    write(out, template, CONSTANTS=constants.mpif(header))


def make_mpi(all_bindings, _, header, template, out):
    write(out, template, INTERFACES=interfaces.mpi(all_bindings), SIZEOF=interfaces.sizeof_interface(),
          SIZEOF_BODIES=interfaces.sizeof_bodies())


def make_f08(all_bindings, _, header, template, out):
    write(out, template, TYPES=constants.f08_types(), CONSTANTS=constants.f08(header),
          INTERFACES=interfaces.f08(all_bindings), SIZEOF=interfaces.sizeof_interface(),
          ATTRIBUTE_FUNCTIONS=interfaces.attribute_functions(), PREDEFINED=interfaces.predefined_functions(),
          OPERATORS=constants.f08_operators(), BODIES=constants.f08_comparisons() + interfaces.sizeof_bodies())


def main():
    commands = {"stubs": make_stubs, "mpif": make_mpif, "mpi": make_mpi, "f08": make_f08}
    if len(sys.argv) < 5 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    rules = binding.Rules(sys.argv[3])
    commands[sys.argv[1]](bindings(sys.argv[2], rules), rules, *sys.argv[4:])


main()

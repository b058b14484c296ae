# SPDX-License-Identifier: BSD-3-Clause
"""The named constants of mpi.h, in Fortran."""
import re
import sys

import binding

# One less in Fortran: its strings have no terminating zero.
STRING_LENGTH = re.compile(r"MPI_MAX_\w+$")
# C alone: its own view of Fortran's status, addresses and functions (the templates name those by hand), tools.
SKIP = re.compile(r"(MPI_T_|MPI_F_|MPI_NOF_|MPI_H_|PMPI_).*|.*(_IGNORE|_FN|_FN_NULL|_FN_NULL_C)$"
                  r"|MPI_(BOTTOM|IN_PLACE|BUFFER_AUTOMATIC|UNWEIGHTED|WEIGHTS_EMPTY|ARGVS?_NULL)$")
COMPARED = sorted(binding.HANDLES)


def read(header):
    """(name, C type if it has another than int, value) of each constant, in the header's order."""
    text = re.sub(r"/\*.*?\*/", "", open(header, encoding="ascii").read(), flags=re.S)
    known, found = {}, []
    for defined, definition, enumerated, number in re.findall(
            r"^#define (MPIX?_\w+) (\S.*)$|\b(MPIX?_\w+) = (-?\w+)", text, re.M):
        name, value = defined or enumerated, definition or number
        if SKIP.match(name):
            continue
        cast = re.match(r"MPI_NOF_(?:CAST|NUMBER)_\((\w+), (-?\w+)\)$", value)
        if value in known:
            kind, number = known[value]
        elif cast:
            kind, number = cast[1], int(cast[2], 0)
        else:
            try:
                kind, number = "", int(value.strip("()"), 0)
            except ValueError:
                sys.exit(f"{header}: {name} is no constant: {value}")
        known[name] = kind, number
        found.append((name, kind, number - 1 if STRING_LENGTH.match(name) else number))
    return found


def mpif(header):
    """For both forms: from column 7 to 72, no continuation."""
    lines = []
    for name, kind, value in read(header):
        declaration = "INTEGER(KIND=MPI_OFFSET_KIND)" if kind == "MPI_Offset" else "INTEGER"
        lines += [f"      {declaration} {name}", f"      PARAMETER ({name}={value})"]
    return lines


def f08(header):
    lines = []
    for name, kind, value in read(header):
        if kind == "MPI_Offset":
            lines.append(f"  integer(MPI_OFFSET_KIND), parameter :: {name} = {value}")
        elif kind:
            lines.append(f"  type({kind}), parameter :: {name} = {kind}({value})")
        else:
            lines.append(f"  integer, parameter :: {name} = {value}")
    return lines


def f08_types():
    lines = []
    for kind in COMPARED:
        lines += [f"  type, bind(C) :: {kind}", "    integer :: MPI_VAL", f"  end type {kind}", ""]
    return lines


def f08_comparisons():
    """Bodies of == and /= for each handle type."""
    lines = []
    for kind in COMPARED:
        short = binding.HANDLES[kind]
        for word, operator in (("equal", "=="), ("differ", "/=")):
            lines += [f"  elemental logical function {short}_{word}(a, b)",
                      f"    type({kind}), intent(in) :: a, b",
                      f"    {short}_{word} = a%MPI_VAL {operator} b%MPI_VAL",
                      f"  end function {short}_{word}", ""]
    return lines


def f08_operators():
    lines = []
    for word, operator in (("equal", "=="), ("differ", "/=")):
        lines.append(f"  interface operator({operator})")
        lines += [f"    module procedure {binding.HANDLES[kind]}_{word}" for kind in COMPARED]
        lines.append(f"  end interface operator({operator})")
    return lines

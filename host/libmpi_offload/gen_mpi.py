# SPDX-License-Identifier: BSD-3-Clause
"""What is made from the one table of functions, functions.tbl.

usage: gen_mpi.py header functions.tbl mpi.h.in mpi.h
       gen_mpi.py unsupported functions.tbl unsupported_gen.c SOURCE...
       gen_mpi.py coverage functions.tbl MPI_COVERAGE.md SOURCE...

header       mpi.h: the template with each prototype as MPI_X and PMPI_X.
unsupported  bodies of the functions that no SOURCE implements: they raise
             MPI_ERR_UNSUPPORTED_OPERATION with a text that names the function.
coverage     the page that says what is implemented and what is not, and why.

A line of the table is a C prototype without the MPI_ prefix; it may continue on lines that start
with blanks. "[group] reason" opens a group. '#' starts a comment. A SOURCE implements X when it
says NOF_MPI(X) at the start of a line, or NOF_COLL_FORMS(X, IX, X_init, ...), which writes these three,
or NOF_COLLECTIVE(X, IX, X_init, ...), which writes their _c forms too."""
import collections
import re
import sys

Function = collections.namedtuple("Function", "group ret name text args")
Argument = collections.namedtuple("Argument", "type name array")  # `const int *`, `ranks`, `[][3]` or ``
Group = collections.namedtuple("Group", "name reason")

NULL_OF = {
    "MPI_Comm": "MPI_COMM_NULL",
    "MPI_Datatype": "MPI_DATATYPE_NULL",
    "MPI_Errhandler": "MPI_ERRHANDLER_NULL",
    "MPI_File": "MPI_FILE_NULL",
    "MPI_Group": "MPI_GROUP_NULL",
    "MPI_Info": "MPI_INFO_NULL",
    "MPI_Message": "MPI_MESSAGE_NULL",
    "MPI_Op": "MPI_OP_NULL",
    "MPI_Request": "MPI_REQUEST_NULL",
    "MPI_Session": "MPI_SESSION_NULL",
    "MPI_Win": "MPI_WIN_NULL",
}


# What the standard's ABI leaves out (MPI 5.0, 20): what depends on Fortran's INTEGER, and what was removed.
FOREIGN_TO_ABI = re.compile(r".*_(c2f|f2c|f2f08|f082f|c2f08|f082c)$")


def parse_argument(text):
    if text == "...":
        return Argument("...", "", "")
    found = re.match(r"(.*?[ *])(\w+)((?:\[\d*\])*)$", text)
    if not found:
        sys.exit(f"not an argument: {text}")
    return Argument(found[1].strip(), found[2], found[3])


def read_table(path):
    """All functions of the table, in its order."""
    functions, group, open_text = [], None, ""
    for line in open(path, encoding="ascii"):
        line = line.partition("#")[0].rstrip()
        header = re.match(r"\[(.+?)\] ?(.*)$", line)
        if header:
            group = Group(*header.groups())
            continue
        open_text = f"{open_text} {line.strip()}".strip()
        if not open_text.endswith(";"):
            continue
        found = re.match(r"(\w+) ([A-Z]\w*)\((.*)\);$", open_text)
        if not found or group is None:
            sys.exit(f"{path}: not a prototype in a group: {open_text}")
        ret, name, args = found.groups()
        args = [] if args == "void" else [parse_argument(a) for a in args.split(", ")]
        functions.append(Function(group, ret, name, found[3], args))
        open_text = ""
    names = [f.name for f in functions]
    twice = {n for n in names if names.count(n) > 1}
    if twice or open_text:
        sys.exit(f"{path}: listed twice or not ended by ';': {', '.join(sorted(twice))}{open_text}")
    return functions


def implemented(sources):
    names = set()
    for path in sources:
        if path.endswith(".c"):
            text = open(path, encoding="utf-8").read()
            names.update(re.findall(r"^NOF_MPI\((\w+)\)", text, re.M))
            for macro, *forms in re.findall(r"^(NOF_COLL\w+)\((\w+), (\w+), (\w+),", text, re.M):
                names.update(forms)
                names.update(f"{form}_c" for form in forms if macro == "NOF_COLLECTIVE")
    return names


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def is_in_abi(f):
    return not f.group.name.startswith("removed") and not FOREIGN_TO_ABI.match(f.name)


def header(table, template, out):
    lines = []
    for in_abi in (True, False):
        chosen = [f for f in read_table(table) if is_in_abi(f) == in_abi]
        lines += [f"{f.ret} {prefix}{f.name}({f.text});" for prefix in ("MPI_", "PMPI_") for f in chosen]
        lines.append("#ifndef MPI_NOF_STANDARD_ABI" if in_abi else "#endif")
    write(out, open(template, encoding="ascii").read().replace("@PROTOTYPES@", "\n".join(lines)))


def answer(f):
    """The call that raises the error with the handler of the object the function works on."""
    if f.name.startswith("T_"):
        return "MPI_T_ERR_NOT_SUPPORTED"
    why = f'"MPI_{f.name}", "{f.group.reason}"'
    if f.name.startswith("File_"):
        return f"nof_unsupported_file({why})"
    for a in f.args:
        if a.type == "MPI_Comm" and not a.array:
            return f"nof_unsupported_comm({a.name}, {why})"
    return f"nof_unsupported({why})"


def body(f):
    if f.ret != "int" or any(a.type == "..." for a in f.args):
        sys.exit(f"MPI_{f.name} cannot return an error code: it needs a NOF_MPI({f.name}) in a source")
    lines = [f"NOF_MPI({f.name})", f"int PMPI_{f.name}({f.text})", "{"]
    result = answer(f)
    for a in f.args:
        handle = a.type.removesuffix(" *")
        if a.type != handle and handle in NULL_OF and not a.array:
            lines += [f"    if ({a.name} != NULL)", f"        *{a.name} = {NULL_OF[handle]};"]
        elif f"({a.name}," not in result:
            lines.append(f"    (void){a.name};")
    return "\n".join(lines + [f"    return {result};", "}"])


def unsupported(table, out, *sources):
    done = implemented(sources)
    functions = read_table(table)
    unknown = done - {f.name for f in functions}
    if unknown:
        sys.exit(f"{table}: lacks the prototype of {', '.join(sorted(unknown))}")
    text = ["/* Written by gen_mpi.py: the functions of functions.tbl that no source implements. */",
            '#include "api/unsupported.h"']
    write(out, "\n\n".join(text + [body(f) for f in functions if f.name not in done]) + "\n")


def coverage(table, out, *sources):
    done = implemented(sources)
    groups = {}
    for f in read_table(table):
        groups.setdefault(f.group, []).append(f)
    text = ["<!-- SPDX-License-Identifier: BSD-3-Clause -->", "# Which functions of MPI are implemented", "",
            "Every function of MPI 5.0, and with it of MPI 4.1, is exported as `MPI_X` and `PMPI_X`. One that is not",
            "implemented raises `MPI_ERR_UNSUPPORTED_OPERATION` with the error handler of its communicator or file; the",
            "text names the function. A function with a large-count form `MPI_X_c` is listed once when both are alike.", "",
            "`ninja -C build mpi-coverage` writes this page from `host/libmpi_offload/functions.tbl` and the sources.", "",
            "| group | functions | implemented |", "|---|---|---|"]
    total = [0, 0]
    for group, functions in groups.items():
        have = sum(f.name in done for f in functions)
        total = [total[0] + len(functions), total[1] + have]
        text.append(f"| {group.name} | {len(functions)} | {'all' if have == len(functions) else have or 'none'} |")
    text.append(f"| together | {total[0]} | {total[1]} |")
    for group, functions in groups.items():
        text += ["", f"## {group.name.capitalize()}"]
        for title, wanted in (("Implemented", True), ("Not implemented", False)):
            names = [f.name for f in functions if (f.name in done) == wanted]
            if names:
                reason = "" if wanted or not group.reason else f" ({group.reason})"
                text += ["", f"{title}{reason}:"] + fold(names)
    write(out, "\n".join(text) + "\n")


def fold(names):
    """Names as lines of at most 118 characters; X and X_c become X(_c)."""
    shown = [f"MPI_{n}" + ("(_c)" if f"{n}_c" in names else "")
             for n in names if not (n.endswith("_c") and n[:-2] in names)]
    lines = [""]
    for n in shown:
        if len(lines[-1]) + len(n) > 114:
            lines.append("")
        lines[-1] += f"`{n}` "
    return [line.rstrip() for line in lines]


if __name__ == "__main__":
    commands = {"header": header, "unsupported": unsupported, "coverage": coverage}
    if len(sys.argv) < 4 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])

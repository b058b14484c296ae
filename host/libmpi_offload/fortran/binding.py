# SPDX-License-Identifier: BSD-3-Clause
"""What a function of the table is in Fortran: its parameters, sorted into kinds, from the C prototype and
fortran.rules."""
import dataclasses
import re

# C's handle types and the name that the conversion functions have for them.
HANDLES = {"MPI_Comm": "Comm", "MPI_Datatype": "Type", "MPI_Errhandler": "Errhandler", "MPI_File": "File",
           "MPI_Group": "Group", "MPI_Info": "Info", "MPI_Message": "Message", "MPI_Op": "Op",
           "MPI_Request": "Request", "MPI_Session": "Session", "MPI_Win": "Win"}
INTEGERS = {"int": "", "MPI_Fint": "", "MPI_Aint": "MPI_ADDRESS_KIND", "MPI_Count": "MPI_COUNT_KIND",
            "MPI_Offset": "MPI_OFFSET_KIND"}
C_ONLY = re.compile(r"T_|.*_(c2f|f2c|toint|fromint)$")


@dataclasses.dataclass
class Parameter:
    """One parameter. kind: handle, int, logical, status, choice, string, strings, callback, address, aint, oldint,
    f08_status."""
    name: str           # in Fortran
    c_name: str
    kind: str
    c_type: str         # without const and *: MPI_Comm, int, ...
    shape: str          # "value", "pointer", "array", "triples"
    const: bool
    length: str = ""    # handles: name of the parameter with the length, "peers" or "neighbours"
    position: str = ""  # int: "index" or "indices"
    outcount: str = ""  # indices: how many


@dataclasses.dataclass
class Binding:
    name: str
    ret: str
    parameters: list
    group: str = ""     # of functions.tbl
    callsite: bool = False
    old: bool = False
    by_hand: bool = False
    without: dict = dataclasses.field(default_factory=dict)  # C parameters that Fortran lacks: what C gets
    c_order: list = dataclasses.field(default_factory=list)  # names of all C parameters

    @property
    def large(self):
        return self.name.endswith("_c")


class Rules:
    def __init__(self, path):
        self.lists = {}
        for line in open(path, encoding="ascii"):
            words = line.partition("#")[0].split()
            if words:
                self.lists.setdefault(words[0], []).append(words[1:])

    def names(self, verb):
        return {n for words in self.lists.get(verb, []) for n in words}

    def has(self, verb, function, parameter):
        names = self.names(verb)
        return parameter in names or f"{base(function)}.{parameter}" in names

    def row(self, verb, key):
        return next((words[1:] for words in self.lists.get(verb, []) if words[0] == key), None)


def base(function):
    """The name without the _c of large counts."""
    return function.removesuffix("_c")


def kind_of(rules, function, c_type, name, pointer):
    if c_type in HANDLES:
        return "handle"
    if c_type in INTEGERS:
        return "logical" if rules.has("logical", function, name) else "int"
    if c_type in ("MPI_Status", "MPI_F08_status"):
        return "status"
    if c_type == "char":
        return "strings" if pointer == "strings" else "string"
    if c_type == "void":
        if rules.has("logical", function, name):
            return "logical"
        return next((k for k in ("address", "oldint", "aint") if rules.has(k, function, name)), "choice")
    if c_type.endswith(("_function", "_function_c")):
        return "callback"
    raise ValueError(f"{function}: no Fortran form known for {c_type} {name}")


def parameter(rules, function, argument, all_names):
    const = argument.type.startswith("const ")
    c_type = argument.type.removeprefix("const ").replace("*", "").strip()
    stars = argument.type.count("*")
    is_array = bool(argument.array) or rules.has("array", function, argument.name)
    shape = "triples" if argument.array == "[][3]" else "array" if is_array else "pointer" if stars else "value"
    strings = c_type == "char" and (stars + bool(argument.array)) > 1
    kind = kind_of(rules, function, c_type, argument.name, "strings" if strings else "")
    renamed = rules.row("rename", argument.name)
    made = Parameter(renamed[0] if renamed else argument.name, argument.name, kind, c_type, shape, const)
    if kind == "handle" and shape == "array":
        lengths = rules.row("length", argument.name) or []
        made.length = next((n for n in lengths if n in all_names), "")
        for verb in ("peers", "neighbours"):
            if base(function) in rules.names(verb):
                made.length = verb
    if rules.has("index", function, argument.name):
        made.position = "index"
    if rules.row("indices", argument.name):
        made.position, made.outcount = "indices", rules.row("indices", argument.name)[0]
    return made


def binding(rules, function):
    """The Binding of a function of the table, None where Fortran has none."""
    if C_ONLY.match(function.name) or function.name in rules.names("nowhere"):
        return None
    made = Binding(function.name, function.ret, [], group=function.group.name, old=function.name in rules.names("old"),
                   by_hand=base(function.name) in rules.names("hand"))
    all_names = {a.name for a in function.args}
    for argument in function.args:
        made.c_order.append(argument.name)
        passed = rules.row("without", f"{function.name}.{argument.name}") or rules.row("without", argument.name)
        if passed and function.name in ("Init", "Init_thread", "Info_create_env"):
            made.without[argument.name] = passed[0]
            continue
        made.parameters.append(parameter(rules, function.name, argument, all_names))
    receives_or_sends = "source" in all_names or any(a.type.endswith("void *") for a in function.args)
    made.callsite = receives_or_sends and bool(all_names & rules.names("callsite"))
    return made

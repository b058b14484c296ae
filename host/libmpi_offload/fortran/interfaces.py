# SPDX-License-Identifier: BSD-3-Clause
"""The explicit interfaces of the modules mpi and mpi_f08."""
import binding
import descriptors

WIDTH = 120
# (type, kinds, what the procedure is called)
SIZED = (("integer", (1, 2, 4, 8, 16)), ("real", (4, 8, 10, 16)), ("complex", (4, 8, 10, 16)),
         ("logical", (1, 2, 4, 8, 16)))


def wrapped(line, indent):
    """A statement in lines of at most WIDTH characters."""
    lines, room = [], WIDTH - 2
    while len(line) > room:
        cut = line.rindex(" ", 0, room)
        lines.append(line[:cut] + " &")
        line = indent + "    " + line[cut + 1:]
    return lines + [line]


def dimensions(p, in_f08):
    if p.shape == "triples":
        return "(3, *)"
    if p.c_type == "MPI_Status" and not in_f08:
        return "(MPI_STATUS_SIZE, *)" if p.shape == "array" else "(MPI_STATUS_SIZE)"
    if p.name == "f_status":
        return "(MPI_STATUS_SIZE)"
    return "(*)" if p.shape == "array" else ""


def intent(p):
    return ", intent(in)" if p.const or p.shape == "value" else ""


def is_loose(b):
    """Collectives with counts or types per process. In module mpi their parameters are not checked: programs pass
    what they like where MPI_IN_PLACE makes an array insignificant, and older modules mpi had no interface for them."""
    return any(p.kind == "choice" for p in b.parameters) and \
        any(p.shape == "array" and p.kind in ("int", "handle") for p in b.parameters)


def declared(p, in_f08, loose, is_asynchronous, needed):
    """Declaration lines of a parameter; the names they need from the module go to `needed`."""
    name = p.name + dimensions(p, in_f08)
    if p.kind == "choice" and in_f08:
        asynchronous = ", asynchronous" if is_asynchronous else ""
        return [f"type(*), dimension(..){intent(p)}{asynchronous} :: {p.name}"]
    if p.kind == "choice" or loose or (p.kind == "address" and not in_f08):
        return [f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {p.name}", f"type(*), dimension(*){intent(p)} :: {p.name}"]
    if p.kind == "address":
        needed.add("c_ptr")
        return [f"type(c_ptr) :: {p.name}"]
    if p.kind == "callback":
        if not in_f08:
            return [f"external :: {p.name}"]
        needed.add(p.c_type)
        return [f"procedure({p.c_type}) :: {p.name}"]
    if p.kind == "string":
        return [f"character(len=*){', intent(in)' if p.const else ''} :: {p.name}"]
    if p.kind == "strings":
        return [f"character(len=*), intent(in) :: {p.name}({'count, ' if 'argv' in p.name and p.name != 'argv' else ''}*)"]
    if p.kind == "oldint":
        return [f"integer :: {p.name}"]
    if p.kind == "aint":
        needed.add("MPI_ADDRESS_KIND")
        return [f"integer(MPI_ADDRESS_KIND) :: {p.name}"]
    if p.kind == "logical":
        return [f"logical{intent(p)} :: {name}"]
    if "MPI_STATUS_SIZE" in name:
        needed.add("MPI_STATUS_SIZE")
    if p.kind in ("handle", "status") and in_f08:
        kind = "MPI_Status" if p.kind == "status" else p.c_type
        needed.add(kind)
        return [f"type({kind}){intent(p)} :: {name}"]
    kind = binding.INTEGERS.get(p.c_type, "") if p.kind == "int" else ""
    if kind:
        needed.add(kind)
    return [f"integer{f'({kind})' if kind else ''}{intent(p)} :: {name}"]


RESULTS = {"double": "double precision", "MPI_Aint": "integer(MPI_ADDRESS_KIND)"}


def procedure(b, name, in_f08, indent="    "):
    """Interface body of one binding under one name."""
    needed, lines = set(), []
    names = [p.name for p in b.parameters] + (["ierror"] if b.ret == "int" else [])
    loose = not in_f08 and is_loose(b)
    for p in b.parameters:
        declaration = declared(p, in_f08, loose, descriptors.is_asynchronous(b), needed)
        lines += [line if line.startswith("!") else f"{indent}  {line}" for line in declaration]
    word = "subroutine" if b.ret == "int" else "function"
    if b.ret == "int":
        lines.append(f"{indent}  integer, {'optional, ' if in_f08 else ''}intent(out) :: ierror")
    else:
        lines.append(f"{indent}  {RESULTS[b.ret]} :: {name}")
        if b.ret == "MPI_Aint":
            needed.add("MPI_ADDRESS_KIND")
    linked = f' bind(C, name="{name.lower()}_")' if name.endswith("_f08ts") else ""
    head = wrapped(f"{indent}{word} {name}({', '.join(names)}){linked}", indent)
    imports = wrapped(f"{indent}  import :: {', '.join(sorted(needed))}", indent) if needed else []
    return head + imports + lines + [f"{indent}end {word} {name}"]


def mpi(all_bindings):
    """Functions that return a value stay as mpif.h declares them, large counts are mpi_f08's."""
    lines = []
    for b in all_bindings:
        if b.large or b.ret != "int" or any(p.c_type == "MPI_F08_status" for p in b.parameters):
            continue
        lines.append("  interface")
        for prefix in ("MPI_", "PMPI_"):
            lines += procedure(b, prefix + b.name, False)
        lines.append("  end interface")
    return lines


def same_arguments(a, b):
    """No call could tell one from the other: kinds of integers are 4 or 8 bytes, whatever their names."""
    def seen(x):
        return [(p.kind, p.c_type if p.kind != "int" else p.c_type == "int") for p in x.parameters if p.kind != "callback"]
    return seen(a) == seen(b)


def specific(prefix, b):
    """The standard's name of the procedure behind a generic one (MPI 5.0, 19.1.5)."""
    return f"{prefix}{b.name}_f08{'ts' if descriptors.has_descriptors(b) else ''}"


def f08(all_bindings):
    large = {binding.base(b.name): b for b in all_bindings if b.large}
    lines = []
    for b in all_bindings:
        if b.large or b.old:
            continue
        other = large.get(b.name)
        for prefix in ("MPI_", "PMPI_"):
            lines.append(f"  interface {prefix}{b.name}")
            lines += procedure(b, specific(prefix, b), True)
            if other and not same_arguments(b, other):
                lines += procedure(other, specific(prefix, other), True)
            lines.append(f"  end interface {prefix}{b.name}")
            if other and same_arguments(b, other):
                lines.append(f"  interface {prefix}{other.name}")
                lines += procedure(other, specific(prefix, other), True)
                lines.append(f"  end interface {prefix}{other.name}")
    return lines


def sized():
    for kind, sizes in SIZED:
        for size in sizes:
            yield f"{kind}({size})", f"sizeof_{kind}_{size}"
    yield "character(len=*)", "sizeof_character"


def sizeof_interface():
    return ["  interface MPI_Sizeof"] + [f"    module procedure {name}" for _, name in sized()] + \
        ["  end interface MPI_Sizeof"]


def sizeof_bodies():
    lines = []
    for declaration, name in sized():
        lines += [f"  subroutine {name}(x, size, ierror)",
                  f"    {declaration}, intent(in) :: x(..)",
                  "    integer, intent(out) :: size",
                  "    integer, optional, intent(out) :: ierror",
                  "    size = storage_size(x) / 8",
                  "    if (present(ierror)) ierror = MPI_SUCCESS",
                  f"  end subroutine {name}", ""]
    return lines


ATTRIBUTED = (("Comm", "comm", "oldcomm"), ("Type", "datatype", "oldtype"), ("Win", "win", "oldwin"))


def attribute_procedure(short, what, name):
    """Interface body of an attribute copy or delete function."""
    handle = {"Comm": "MPI_Comm", "Type": "MPI_Datatype", "Win": "MPI_Win"}[short]
    _, now, before = next(row for row in ATTRIBUTED if row[0] == short)
    values = "attribute_val_in, attribute_val_out" if what == "copy" else "attribute_val"
    keyval = f"{now if short != 'Type' else 'type'}_keyval"
    own = before if what == "copy" else now
    tail = "extra_state, " + values + ", flag" if what == "copy" else values + ", extra_state"
    lines = wrapped(f"    subroutine {name}({own}, {keyval}, {tail}, ierror)", "    ")
    lines += [f"      import :: MPI_ADDRESS_KIND, {handle}",
              f"      type({handle}) :: {own}",
              f"      integer :: {keyval}, ierror",
              f"      integer(MPI_ADDRESS_KIND) :: extra_state, {values}"]
    if what == "copy":
        lines.append("      logical :: flag")
    return lines + [f"    end subroutine {name}"]


def attribute_functions():
    """Bodies for an abstract interface: what a program's own functions look like."""
    lines = []
    for short, _, _ in ATTRIBUTED:
        for what in ("copy", "delete"):
            lines += attribute_procedure(short, what, f"MPI_{short}_{what}_attr_function")
    return lines


def predefined_functions():
    lines = ["  interface"]
    for short, _, _ in ATTRIBUTED:
        for name, what in (("NULL_COPY", "copy"), ("DUP", "copy"), ("NULL_DELETE", "delete")):
            lines += attribute_procedure(short, what, f"MPI_{short.upper()}_{name}_FN")
    return lines + ["  end interface"]

# SPDX-License-Identifier: BSD-3-Clause
"""The C functions behind mpi_f08's procedures with choice buffers, mpi_x_f08ts_: buffers come as C descriptors
(ISO_Fortran_binding.h), which say how a section of an array lies. What they use is in nof_f_section.h."""
import dataclasses

import binding

COLLECTIVE = ("collectives", "neighbourhood collectives")
# What a descriptor means to the function.
#   data         with a count and a datatype: a datatype that is made from the descriptor
#   partitioned  the same, for each partition
#   side         a buffer of a collective: its schedule works on a copy
#   linear       bytes, or operands of one call: a copy
#   block        a memory that is used as such: one that is not contiguous is refused
#   begin        where it begins says all


@dataclasses.dataclass
class Buffer:
    parameter: binding.Parameter
    means: str
    count: binding.Parameter = None
    type: binding.Parameter = None


def has_descriptors(b):
    return any(p.kind == "choice" for p in b.parameters) and not b.old and not b.by_hand


def is_asynchronous(b):
    """Whether the buffer is the library's beyond the call."""
    return b.group == "one-sided communication" or b.group == "buffers" or b.name in ("Get_address", "Free_mem") or \
        binding.base(b.name).endswith(("_begin", "_end")) or any(p.c_type == "MPI_Request" for p in b.parameters)


def buffers(b, rules):
    found = []
    for i, p in enumerate(b.parameters):
        if p.kind != "choice":
            continue
        after = b.parameters[i + 1:i + 4]
        shapes = [(q.kind, q.shape) for q in after]
        data = shapes[:2] == [("int", "value"), ("handle", "value")] and after[1].c_type == "MPI_Datatype"
        means = next((m for m in ("linear", "block", "begin") if rules.has(m, b.name, p.c_name)), "")
        if means:
            found.append(Buffer(p, means))
        elif b.group in COLLECTIVE:
            name = p.name.replace("buf", "type") if p.name in ("sendbuf", "recvbuf") else "datatype"
            types = [q for q in b.parameters if q.c_type == "MPI_Datatype" and q.shape == "value"]
            own = [q for q in types if q.name == name] or types
            found.append(Buffer(p, "side", type=own[0] if own else None))
        elif data:
            found.append(Buffer(p, "data", after[0], after[1]))
        elif binding.base(b.name) in ("Psend_init", "Precv_init"):
            found.append(Buffer(p, "partitioned", after[1], after[2]))
        else:
            raise ValueError(f"{b.name}: what is the section {p.name}? fortran.rules must say it")
    return found


def signature(b, words):
    """Of the plain function's words: descriptors in place of buffers and strings, no lengths."""
    made = []
    for p, word in zip(b.parameters, words):
        is_descriptor = p.kind == "choice" or p.kind == "string"
        made.append(f"CFI_cdesc_t *{p.name}" if is_descriptor else word)
    return ", ".join(made + ["MPI_Fint *ierror"])


def prepared(f):
    """(what sets it up, its arguments by name, what ends it) of one buffer."""
    p, n = f.parameter, f.parameter.name
    if f.means == "begin":
        return [], {n: f"{n}->base_addr"}, []
    if f.means == "block":
        return [f"rc = nof_f_worst(rc, nof_f_block({n}));"], {n: f"{n}->base_addr"}, []
    if f.means == "side":
        kind = f.type.name if f.type else "NULL"
        return [f"rc = nof_f_worst(rc, nof_f_side({n}, {kind}, {str(p.const).lower()}));"], {n: f"{n}->base_addr"}, []
    if f.means == "linear":
        return [f"rc = nof_f_worst(rc, nof_f_linear_in(&s_{n}, {n}));"], {n: f"s_{n}.copy"}, \
            [f"nof_f_linear_out(&s_{n}, {str(p.const).lower()});"]
    partitions = ", *partitions" if f.means == "partitioned" else ""
    number = "MPI_Fint" if f.count.c_type == "int" else f.count.c_type
    return [f"rc = nof_f_worst(rc, nof_f_{f.means}_in(&s_{n}, {n}{partitions}, *{f.count.name}, *{f.type.name}));",
            f"{number} n_{n} = ({number})s_{n}.count;"], \
        {n: f"s_{n}.buf", f.count.name: f"&n_{n}", f.type.name: f"&s_{n}.type"}, [f"nof_f_data_out(&s_{n});"]


def stub(b, rules, words):
    name, found = b.name.lower(), buffers(b, rules)
    before, after, replaced = [], [], {}
    for f in found:
        kind = {"data": "data", "partitioned": "data", "linear": "linear"}.get(f.means)
        if kind:
            before.append(f"struct nof_f_{kind} s_{f.parameter.name};")
    before.append("int rc = MPI_SUCCESS;")
    for f in found:
        setup, arguments, end = prepared(f)
        before += setup
        after += end
        replaced.update(arguments)
    if any(f.means == "side" for f in found):
        after.append("nof_fortran_hooks.forget_sections();")
    strings = [p.name for p in b.parameters if p.kind == "string"]
    replaced.update({s: f"{s}->base_addr" for s in strings})
    arguments = [replaced.get(p.name, p.name) for p in b.parameters] + ["&rc"] + [f"{s}->elem_len" for s in strings]
    if b.callsite:
        arguments.append("__builtin_return_address(0)")
    call = f"{'nof_f_' + name if b.callsite else 'pmpi_' + name + '_'}({', '.join(arguments)});"
    args = signature(b, words)
    lines = [f"NOF_F_TS({name}, ({args}))", f"void pmpi_{name}_f08ts_({args})", "{"]
    lines += ["    " + line for line in before]
    lines += ["    if (rc == MPI_SUCCESS)", "        " + call]
    lines += ["    " + line for line in after]
    return lines + ["    nof_f_ierror(ierror, rc);", "}", ""]

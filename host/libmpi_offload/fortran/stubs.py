# SPDX-License-Identifier: BSD-3-Clause
"""The C functions that Fortran programs call: mpi_x_, with every argument by address and lengths of strings last.
What they use is in nof_f.h."""
import binding
import descriptors

HEAD = """/* SPDX-License-Identifier: BSD-3-Clause */
/* Written by gen_fortran.py from functions.tbl and fortran.rules. */
#include "fortran/nof_f_section.h"
"""
POINTERS = {"handle": "MPI_Fint", "logical": "MPI_Fint", "status": "MPI_Fint", "choice": "void", "address": "void",
            "aint": "MPI_Aint", "oldint": "MPI_Fint"}


def is_output_string(p):
    return p.kind == "string" and not p.const


def words_of(b):
    """Declarations of the parameters."""
    words = []
    for p in b.parameters:
        if p.kind in POINTERS:
            words.append(f"{POINTERS[p.kind]} *{p.name}")
        elif p.kind == "int":
            words.append(f"{'MPI_Fint' if p.c_type == 'int' else p.c_type} *{p.name}")
        elif p.kind == "callback":
            words.append(f"nof_f_function *{p.name}")
        else:
            words.append(f"{'const ' if p.const else ''}char *{p.name}")
    return words


def signature(b):
    words = words_of(b)
    if b.ret == "int":
        words.append("MPI_Fint *ierror")
    words += [f"size_t {p.name}_len" for p in b.parameters if p.kind == "string"]
    return ", ".join(words) or "void"


def handle(p, b, before, after, checks):
    """C argument for a handle or an array of them."""
    name = binding.HANDLES[p.c_type]
    if p.shape == "value":
        return f"MPI_{name}_f2c(*{p.name})"
    if p.shape == "pointer":
        before.append(f"{p.c_type} c_{p.name} = MPI_{name}_f2c(*{p.name});")
        after.append(f"*{p.name} = MPI_{name}_c2f(c_{p.name});")
        return f"&c_{p.name}"
    count = {"peers": "nof_f_peers(c_comm)", "neighbours": f"nof_f_neighbours(c_comm, {int('recv' in p.name)})"}
    before.append(f"struct nof_f_handles h_{p.name};")
    length = count.get(p.length) or f"*{p.length}"
    if p.length in count:
        buffer = "recvbuf" if "recv" in p.name else "sendbuf"
        length = f"nof_f_buffer({buffer}) == MPI_IN_PLACE ? 0 : {length}"
    checks.append(f"nof_f_handles_in(&h_{p.name}, NOF_F_{name.upper()}, {p.name}, {length})")
    write_back = "NULL" if p.const else p.name
    after.append(f"nof_f_handles_out(&h_{p.name}, {write_back});")
    return f"({p.c_type} *)h_{p.name}.items"


def number(p, before, after):
    """C argument for an int, MPI_Aint, MPI_Count, MPI_Offset or LOGICAL."""
    if p.position == "index":
        before.append(f"int c_{p.name} = MPI_UNDEFINED;")
        after.append(f"*{p.name} = nof_f_position(c_{p.name});")
        return f"&c_{p.name}"
    if p.position == "indices":
        before.append(f"*{p.outcount} = 0;")
        after.append(f"nof_f_positions({p.name}, *{p.outcount});")
    if p.shape == "value":
        return f"*{p.name}"
    if p.shape == "triples":
        return f"(int(*)[3]){p.name}"
    if "weights" in p.name:
        return f"nof_f_weights({p.name})"
    return f"nof_f_errcodes({p.name})" if "errcodes" in p.name else p.name


def attribute(b, p, before, after):
    """C argument for the word of an attribute or its state: an integer in place of C's pointer."""
    if "get" not in b.name.lower():
        return f"(void *)(MPI_Aint)*{p.name}"
    before.append(f"MPI_Aint c_{p.name} = 0;")
    after.append(f"if (rc == MPI_SUCCESS && *flag)\n        *{p.name} = ({POINTERS[p.kind]})c_{p.name};")
    return f"&c_{p.name}"


def string(p, before, after):
    if is_output_string(p):
        before.append(f"char c_{p.name}[NOF_F_STRING_MAX];")
        before.append(f"c_{p.name}[0] = '\\0';")
        after.append(f"if (rc == MPI_SUCCESS)\n        nof_f_string_out(c_{p.name}, {p.name}, {p.name}_len);")
        return f"c_{p.name}"
    before.append(f"char *c_{p.name} = nof_f_string_in({p.name}, {p.name}_len);")
    after.append(f"free(c_{p.name});")
    return f"c_{p.name}"


def body(b):
    before, after, checks, arguments = [], [], [], dict(b.without)
    if any(p.length in ("peers", "neighbours") for p in b.parameters):
        before.append("MPI_Comm c_comm = MPI_Comm_f2c(*comm);")
    for p in b.parameters:
        if p.kind == "handle":
            c = handle(p, b, before, after, checks)
        elif p.kind in ("int", "logical"):
            c = number(p, before, after)
        elif p.kind == "status":
            c = f"({p.c_type} *)nof_f_status({p.name})"
        elif p.kind == "choice":
            c = f"nof_f_buffer({p.name})"
        elif p.kind == "string":
            c = string(p, before, after)
        elif p.kind in ("aint", "oldint"):
            before.append(f"nof_fortran_hooks.attributes({str(p.kind == 'oldint').lower()});")
            c = attribute(b, p, before, after)
        elif p.kind == "callback":
            c = f"({p.c_type} *){p.name}"
        else:
            c = p.name
        arguments[p.c_name] = c
    call = f"MPI_{b.name}({', '.join(arguments[n] for n in b.c_order)})"
    return before, checks, call, after


def stub(b):
    before, checks, call, after = body(b)
    name = b.name.lower()
    exported = [f"NOF_F({name}, {b.ret if b.ret != 'int' else 'void'}, ({signature(b)}))",
                f"{b.ret if b.ret != 'int' else 'void'} pmpi_{name}_({signature(b)})", "{"]
    if b.ret != "int":
        return exported + [f"    return {call};", "}", ""]
    lines = exported
    if b.callsite: # one body for the bindings with descriptors and without: both say where the program called
        lines = [f"static void nof_f_{name}({signature(b)}, const void *site)", "{"]
    lines += ["    " + line for line in before]
    if b.callsite:
        lines.append("    nof_fortran_hooks.callsite(site);")
    if checks:
        # All are called, whatever the others say: each sets up what is taken down below.
        lines += ["    int rc = MPI_SUCCESS;"]
        lines += [f"    rc = nof_f_worst(rc, {check});" for check in checks]
        lines += ["    if (rc == MPI_SUCCESS)", f"        rc = {call};"]
    else:
        lines.append(f"    int rc = {call};")
    if b.callsite:
        lines.append("    nof_fortran_hooks.callsite(NULL);")
    lines += ["    " + line for line in after] + ["    nof_f_ierror(ierror, rc);", "}", ""]
    if b.callsite:
        names = [p.name for p in b.parameters] + ["ierror"] + [f"{p.name}_len" for p in b.parameters if p.kind == "string"]
        lines += exported + [f"    nof_f_{name}({', '.join(names)}, __builtin_return_address(0));", "}", ""]
    return lines


def source(all_bindings, rules):
    lines = [HEAD]
    for b in all_bindings:
        if not b.by_hand:
            lines += stub(b)
        if descriptors.has_descriptors(b):
            lines += descriptors.stub(b, rules, words_of(b))
    return "\n".join(lines)

/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of begin and receive. Fortran gives the addresses of all, and of a last one for the error; requests and datatypes are
 * integers, with mpi_f08 structures of one. */
#include "delta.hh"

bool is_fortran(const gimple *call)
{
    tree decl = gimple_call_fndecl(call);
    const char *name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(decl));
    return name[strlen(name) - 1] == '_';
}

tree request_type(const gimple *call)
{
    return is_fortran(call) ? integer_type_node : ptr_type_node;
}

tree request_at(const gimple *call, tree pointer)
{
    tree type = request_type(call);
    tree any = build_pointer_type_for_mode(type, ptr_mode, true);
    return build2(MEM_REF, type, pointer, build_int_cst(any, 0));
}

static tree integer_at(tree pointer)
{
    tree any = build_pointer_type_for_mode(integer_type_node, ptr_mode, true);
    return build2(MEM_REF, integer_type_node, unshare_expr(pointer), build_int_cst(any, 0));
}

/* What the statement has stored into the object: null if nothing of it, error_mark_node if that cannot be told. */
static tree stored_by(gimple *stmt, tree object)
{
    ao_ref memory;
    ao_ref_init(&memory, object);
    if (!stmt_may_clobber_ref_p_1(stmt, &memory, false))
        return NULL_TREE;
    if (!gimple_assign_single_p(stmt) || get_base_address(gimple_assign_lhs(stmt)) != object)
        return error_mark_node;
    tree value = gimple_assign_rhs1(stmt);
    return TREE_CODE(value) == INTEGER_CST ? value : error_mark_node;
}

/* The constant that an argument of Fortran points to; null: none. */
static tree constant_behind(gimple *call, tree pointer)
{
    tree object = TREE_CODE(pointer) == ADDR_EXPR ? TREE_OPERAND(pointer, 0) : NULL_TREE;
    if (!object || (!VAR_P(object) && TREE_CODE(object) != CONST_DECL))
        return NULL_TREE;
    tree initial = ctor_for_folding(object);
    if (initial && TREE_CODE(initial) == INTEGER_CST)
        return initial;
    if (!VAR_P(object))
        return NULL_TREE;
    tree memory = gimple_vuse(call);
    for (int steps = 0; memory && !SSA_NAME_IS_DEFAULT_DEF(memory) && steps < 64; steps++) {
        gimple *stmt = SSA_NAME_DEF_STMT(memory);
        if (gimple_code(stmt) == GIMPLE_PHI)
            return NULL_TREE;
        tree value = stored_by(stmt, object);
        if (value)
            return value == error_mark_node ? NULL_TREE : value;
        memory = gimple_vuse(stmt);
    }
    return NULL_TREE;
}

tree constant_type(gcall *call)
{
    tree type = gimple_call_arg(call, 2);
    if (is_fortran(call))
        return constant_behind(call, type);
    return TREE_CODE(type) == INTEGER_CST ? type : NULL_TREE;
}

tree message_count(gcall *call)
{
    tree count = gimple_call_arg(call, 1);
    if (!is_fortran(call))
        return count;
    tree value = make_ssa_name(integer_type_node);
    gimple_seq before = NULL;
    gimple_seq_add_stmt(&before, gimple_build_assign(value, integer_at(count)));
    insert_before(call, before);
    return value;
}

tree call_result(gcall *call, gimple_seq *after)
{
    tree result = gimple_call_lhs(call);
    if (is_fortran(call)) {
        result = make_ssa_name(integer_type_node);
        gimple_seq_add_stmt(after, gimple_build_assign(result, integer_at(gimple_call_arg(call, 7))));
    } else if (!result) {
        result = make_ssa_name(integer_type_node);
        gimple_call_set_lhs(call, result);
        update_stmt(call);
    }
    return result;
}

tree request_handle(const gimple *call, tree request, gimple_seq *seq)
{
    if (!is_fortran(call))
        return request;
    tree type = build_function_type_list(ptr_type_node, integer_type_node, NULL_TREE);
    tree handle = make_ssa_name(ptr_type_node);
    gcall *convert = gimple_build_call(library_function("MPI_Request_f2c", type), 1, request);
    gimple_call_set_lhs(convert, handle);
    gimple_seq_add_stmt(seq, convert);
    return handle;
}

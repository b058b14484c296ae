/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta.hh"

delta_options options = {nullptr, 1024};

static FILE *report_file;

void report_open()
{
    if (!options.report)
        return;
    report_file = strcmp(options.report, "stderr") == 0 ? stderr : fopen(options.report, "a");
    if (!report_file)
        error("delta: cannot write the report %qs: %m", options.report);
}

std::string line_of(location_t where)
{
    expanded_location at = expand_location(where);
    return std::to_string(at.line);
}

void report(location_t where, const char *kind, const std::string &text)
{
    if (!report_file)
        return;
    expanded_location at = expand_location(where);
    fprintf(report_file, "%s:%d: delta: %s: %s\n", at.file ? at.file : "?", at.line, kind, text.c_str());
    fflush(report_file);
}

void refuse(location_t where, const std::string &reason)
{
    report(where, "not pipelined", reason);
}

static const char *callee_name(const gimple *stmt)
{
    tree decl = is_gimple_call(stmt) ? gimple_call_fndecl(stmt) : NULL_TREE;
    if (!decl || !TREE_PUBLIC(decl) || !DECL_NAME(decl))
        return "";
    return IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(decl));
}

/* Functions of libm write errno at most, which is no part of a message. */
static bool is_math(const gimple *stmt)
{
    if (!gimple_call_builtin_p(stmt, BUILT_IN_NORMAL))
        return false;
    switch (DECL_FUNCTION_CODE(gimple_call_fndecl(stmt))) {
        CASE_FLT_FN(BUILT_IN_ACOS)
            : CASE_FLT_FN(BUILT_IN_ACOSH)
            : CASE_FLT_FN(BUILT_IN_ASIN)
            : CASE_FLT_FN(BUILT_IN_ASINH)
            : CASE_FLT_FN(BUILT_IN_ATAN)
            : CASE_FLT_FN(BUILT_IN_ATAN2)
            : CASE_FLT_FN(BUILT_IN_ATANH)
            : CASE_FLT_FN(BUILT_IN_CBRT)
            : CASE_FLT_FN(BUILT_IN_COS)
            : CASE_FLT_FN(BUILT_IN_COSH)
            : CASE_FLT_FN(BUILT_IN_ERF)
            : CASE_FLT_FN(BUILT_IN_ERFC)
            : CASE_FLT_FN(BUILT_IN_EXP)
            : CASE_FLT_FN(BUILT_IN_EXP2)
            : CASE_FLT_FN(BUILT_IN_EXPM1)
            : CASE_FLT_FN(BUILT_IN_FMOD)
            : CASE_FLT_FN(BUILT_IN_HYPOT)
            : CASE_FLT_FN(BUILT_IN_LDEXP)
            : CASE_FLT_FN(BUILT_IN_LOG)
            : CASE_FLT_FN(BUILT_IN_LOG10)
            : CASE_FLT_FN(BUILT_IN_LOG1P)
            : CASE_FLT_FN(BUILT_IN_LOG2)
            : CASE_FLT_FN(BUILT_IN_POW)
            : CASE_FLT_FN(BUILT_IN_REMAINDER)
            : CASE_FLT_FN(BUILT_IN_SIN)
            : CASE_FLT_FN(BUILT_IN_SINH)
            : CASE_FLT_FN(BUILT_IN_SQRT)
            : CASE_FLT_FN(BUILT_IN_TAN)
            : CASE_FLT_FN(BUILT_IN_TANH) : CASE_FLT_FN(BUILT_IN_TGAMMA) : return true;
    default:
        return false;
    }
}

static const struct delta_name {
    const char *name;
    delta_call kind;
    unsigned arguments;
} delta_names[] = {
    {"Delta_send_begin", CALL_SEND_BEGIN, 7},
    {"Delta_send_data", CALL_SEND_DATA, 3},
    {"Delta_send_end", CALL_SEND_END, 1},
    {"Delta_wait", CALL_SEND_END, 2},
    {"Delta_recv", CALL_RECV, 7},
    {"Delta_wait_data", CALL_WAIT_DATA, 2},
    {"Delta_recv_wait", CALL_RECV_WAIT, 2},
    {"Delta_send_end_count", CALL_SEND_END, 2},
};

/* The same in Fortran, whose procedures have one argument more: mpi_name_, mpix_name_. */
static const delta_name *fortran_name_of(const char *name)
{
    static delta_name fortran_names[ARRAY_SIZE(delta_names)];
    if (strncmp(name, "mpi", 3) != 0)
        return NULL;
    name += name[3] == 'x' ? 4 : 3;
    for (const delta_name &entry : delta_names) {
        size_t length = strlen(entry.name);
        if (name[0] != '_' || strncasecmp(name + 1, entry.name, length) != 0 ||
            strcmp(name + 1 + length, "_") != 0)
            continue;
        delta_name *found = &fortran_names[&entry - delta_names];
        *found = delta_name{entry.name, entry.kind, entry.arguments + 1};
        return found;
    }
    return NULL;
}

/* MPI_NAME, MPIX_NAME, and both with P before. */
static const delta_name *delta_name_of(const char *name)
{
    if (name[0] == 'm')
        return fortran_name_of(name);
    if (name[0] == 'P')
        name++;
    if (strncmp(name, "MPI", 3) != 0)
        return NULL;
    name += name[3] == 'X' ? 4 : 3;
    for (const delta_name &entry : delta_names)
        if (name[0] == '_' && strcmp(name + 1, entry.name) == 0)
            return &entry;
    return NULL;
}

bool is_delta_function(const char *name)
{
    return delta_name_of(name) != NULL;
}

delta_call call_kind(const gimple *stmt)
{
    const char *name = callee_name(stmt);
    const delta_name *known = delta_name_of(name);
    if (known && gimple_call_num_args(stmt) == known->arguments)
        return known->kind;
    for (const char *harmless :
         {"MPI_Wtime", "PMPI_Wtime", "MPI_Send", "PMPI_Send", "mpi_wtime_", "mpi_send_"})
        if (strcmp(name, harmless) == 0)
            return CALL_HARMLESS;
    return is_math(stmt) ? CALL_HARMLESS : CALL_OTHER;
}

std::string describe(gimple *stmt)
{
    if (gimple_code(stmt) == GIMPLE_ASM)
        return "an asm statement";
    if (!is_gimple_call(stmt))
        return "a statement";
    tree decl = gimple_call_fndecl(stmt);
    if (decl && DECL_NAME(decl))
        return "the call of " + std::string(IDENTIFIER_POINTER(DECL_NAME(decl)));
    return gimple_call_internal_p(stmt) ? "a call of the compiler's own" : "a call through a pointer";
}

bool is_the_end(gimple *stmt)
{
    static const char *const names[] = {"exit", "_gfortran_stop_string", "_gfortran_stop_numeric",
                                        "_gfortran_error_stop_string", "_gfortran_error_stop_numeric"};
    for (const char *name : names)
        if (strcmp(callee_name(stmt), name) == 0)
            return true;
    return is_abrupt_end(stmt);
}

bool is_abrupt_end(gimple *stmt)
{
    static const char *const names[] = {"abort",     "_exit",      "_Exit",     "__assert_fail",
                                        "MPI_Abort", "PMPI_Abort", "mpi_abort_"};
    if (gimple_call_builtin_p(stmt, BUILT_IN_UNREACHABLE) || gimple_call_builtin_p(stmt, BUILT_IN_TRAP))
        return true;
    for (const char *name : names)
        if (strcmp(callee_name(stmt), name) == 0)
            return true;
    return false;
}

bool shortens(gimple *stmt)
{
    return strcasestr(callee_name(stmt), "delta_send_end_count") != NULL;
}

bool is_mpi_call(gimple *stmt)
{
    const char *name = callee_name(stmt);
    return strncmp(name, "MPI_", 4) == 0 || strncmp(name, "PMPI_", 5) == 0 || strncmp(name, "mpi_", 4) == 0 ||
           delta_name_of(name);
}

bool jumps(gimple *stmt)
{
    return is_gimple_call(stmt) &&
           ((gimple_call_flags(stmt) & ECF_RETURNS_TWICE) || strstr(callee_name(stmt), "longjmp"));
}

void message_memory(ao_ref *ref, tree buffer)
{
    ao_ref_init_from_ptr_and_size(ref, buffer, NULL_TREE);
}

static bool pointees_overlap(tree buffer, ao_ref *memory)
{
    ao_ref other;
    message_memory(&other, buffer);
    return refs_may_alias_p_1(&other, memory, false);
}

bool may_write(gimple *stmt, ao_ref *memory)
{
    if (!gimple_vdef(stmt) || is_gimple_debug(stmt))
        return false;
    switch (call_kind(stmt)) {
    case CALL_SEND_BEGIN:
    case CALL_SEND_DATA:
    case CALL_SEND_END:
    case CALL_WAIT_DATA:
    case CALL_RECV_WAIT:
    case CALL_HARMLESS:
        return false;
    case CALL_RECV:
        return pointees_overlap(gimple_call_arg(stmt, 0), memory);
    case CALL_OTHER:
        break;
    }
    return stmt_may_clobber_ref_p_1(stmt, memory, false);
}

bool may_read(gimple *stmt, ao_ref *memory)
{
    if (!gimple_vuse(stmt) || is_gimple_debug(stmt))
        return false;
    switch (call_kind(stmt)) {
    case CALL_SEND_BEGIN: /* reads nothing before the first increment is announced */
    case CALL_WAIT_DATA:
        return false;
    case CALL_HARMLESS:
        return !is_math(stmt);
    case CALL_SEND_DATA:
        return pointees_overlap(gimple_call_arg(stmt, 1), memory);
    case CALL_RECV:
    case CALL_RECV_WAIT:
        return pointees_overlap(gimple_call_arg(stmt, 0), memory);
    case CALL_SEND_END: /* whose message is judged by who asks */
        return false;
    case CALL_OTHER:
        break;
    }
    return ref_maybe_used_by_stmt_p(stmt, memory, false);
}

/* As may_write(), for memory of any kind: also requests and statuses are set. */
static bool sets(gimple *stmt, ao_ref *memory)
{
    switch (call_kind(stmt)) {
    case CALL_OTHER:
        return may_write(stmt, memory);
    case CALL_HARMLESS:
        return false;
    default:
        break;
    }
    for (unsigned i = 0; i < gimple_call_num_args(stmt); i++) {
        tree argument = gimple_call_arg(stmt, i);
        if (POINTER_TYPE_P(TREE_TYPE(argument)) && TREE_CODE(argument) != INTEGER_CST &&
            pointees_overlap(argument, memory))
            return true;
    }
    return false;
}

/* Is the memory that both loads read the same at both? */
static bool same_memory(gimple *a, gimple *b)
{
    ao_ref memory;
    if (!operand_equal_p(gimple_assign_rhs1(a), gimple_assign_rhs1(b), 0) ||
        TREE_THIS_VOLATILE(gimple_assign_rhs1(a)))
        return false;
    ao_ref_init(&memory, gimple_assign_rhs1(a));
    std::vector<tree> todo(1, gimple_vuse(b));
    std::set<tree> seen;
    while (!todo.empty()) {
        tree name = todo.back();
        todo.pop_back();
        if (name == gimple_vuse(a) || !seen.insert(name).second)
            continue;
        gimple *def = SSA_NAME_DEF_STMT(name);
        if (SSA_NAME_IS_DEFAULT_DEF(name))
            return false;
        if (gphi *phi = dyn_cast<gphi *>(def)) {
            for (unsigned i = 0; i < gimple_phi_num_args(phi); i++)
                todo.push_back(gimple_phi_arg_def(phi, i));
            continue;
        }
        if (sets(def, &memory))
            return false;
        todo.push_back(gimple_vuse(def));
    }
    return true;
}

bool same_value(tree a, tree b, int depth)
{
    if (operand_equal_p(a, b, 0))
        return true;
    if (depth == 0 || TREE_CODE(a) != SSA_NAME || TREE_CODE(b) != SSA_NAME)
        return false;
    gimple *da = SSA_NAME_DEF_STMT(a), *db = SSA_NAME_DEF_STMT(b);
    if (gphi *phi = dyn_cast<gphi *>(db)) {
        for (unsigned i = 0; i < gimple_phi_num_args(phi); i++)
            if (!same_value(a, gimple_phi_arg_def(phi, i), depth - 1))
                return false;
        return true;
    }
    if (!is_gimple_assign(da) || !is_gimple_assign(db) ||
        gimple_assign_rhs_code(da) != gimple_assign_rhs_code(db) ||
        !types_compatible_p(TREE_TYPE(a), TREE_TYPE(b)))
        return false;
    if (gimple_assign_load_p(da) && gimple_assign_load_p(db))
        return gimple_vuse(da) && gimple_vuse(db) && same_memory(da, db);
    if (gimple_vuse(da) || gimple_vuse(db) || gimple_num_ops(da) != gimple_num_ops(db))
        return false;
    for (unsigned i = 1; i < gimple_num_ops(da); i++)
        if (!same_value(gimple_op(da, i), gimple_op(db, i), depth - 1))
            return false;
    return true;
}

int same_request(gimple *begin, gimple *end)
{
    ao_ref ra, rb;
    tree a = gimple_call_arg(begin, 6), b = gimple_call_arg(end, 0),
         bytes = TYPE_SIZE_UNIT(request_type(begin));
    if (same_value(a, b))
        return 1;
    ao_ref_init_from_ptr_and_size(&ra, a, bytes);
    ao_ref_init_from_ptr_and_size(&rb, b, bytes);
    return refs_may_alias_p_1(&ra, &rb, false) ? 0 : -1;
}

/* Is the address used by nothing but calls of MPI? */
static bool only_for_mpi(tree address, int depth)
{
    imm_use_iterator i;
    use_operand_p use;
    FOR_EACH_IMM_USE_FAST(use, i, address)
    {
        gimple *stmt = USE_STMT(use);
        if (is_gimple_debug(stmt) || is_mpi_call(stmt))
            continue;
        tree result = is_gimple_assign(stmt) ? gimple_assign_lhs(stmt) : NULL_TREE;
        if (!result || TREE_CODE(result) != SSA_NAME || depth == 0 || !only_for_mpi(result, depth - 1))
            return false;
    }
    return true;
}

struct address_of {
    tree object;
    bool taken;
};

static bool takes_address(gimple *, tree base, tree, void *data)
{
    address_of *a = static_cast<address_of *>(data);
    a->taken = a->taken || get_base_address(base) == a->object;
    return false;
}

bool request_is_private(gcall *begin)
{
    tree pointer = gimple_call_arg(begin, 6);
    if (TREE_CODE(pointer) == SSA_NAME && is_gimple_assign(SSA_NAME_DEF_STMT(pointer)))
        pointer = gimple_assign_rhs1(SSA_NAME_DEF_STMT(pointer));
    tree object = TREE_CODE(pointer) == ADDR_EXPR ? get_base_address(TREE_OPERAND(pointer, 0)) : NULL_TREE;
    if (!object || !VAR_P(object) || !auto_var_in_fn_p(object, current_function_decl))
        return false;
    basic_block bb;
    FOR_EACH_BB_FN(bb, cfun)
    {
        address_of a = {object, false};
        for (gphi_iterator i = gsi_start_phis(bb); !gsi_end_p(i); gsi_next(&i))
            walk_stmt_load_store_addr_ops(i.phi(), &a, NULL, NULL, takes_address);
        if (a.taken)
            return false;
        for (gimple_stmt_iterator i = gsi_start_bb(bb); !gsi_end_p(i); gsi_next(&i)) {
            gimple *stmt = gsi_stmt(i);
            a.taken = false;
            if (is_gimple_debug(stmt) || is_mpi_call(stmt))
                continue;
            walk_stmt_load_store_addr_ops(stmt, &a, NULL, NULL, takes_address);
            if (!a.taken)
                continue;
            tree result = is_gimple_assign(stmt) ? gimple_assign_lhs(stmt) : NULL_TREE;
            if (!result || TREE_CODE(result) != SSA_NAME || !only_for_mpi(result, 4))
                return false;
        }
    }
    return true;
}

bool may_move_request(gcall *begin, gimple *stmt, bool own)
{
    ao_ref request;
    if (is_gimple_debug(stmt) || !gimple_vdef(stmt) || is_mpi_call(stmt) || is_math(stmt) ||
        gimple_clobber_p(stmt))
        return false;
    if (is_gimple_call(stmt) && own)
        return false;
    tree type = request_type(begin);
    ao_ref_init_from_ptr_and_size(&request, gimple_call_arg(begin, 6), TYPE_SIZE_UNIT(type));
    request.ref_alias_set = request.base_alias_set = is_fortran(begin) ? 0 : get_alias_set(type);
    if (gimple_assign_single_p(stmt)) {
        ao_ref store;
        if (own && !DECL_P(get_base_address(gimple_get_lhs(stmt))))
            return false;
        /* Strict aliasing, also at -O1. */
        if (FLOAT_TYPE_P(TREE_TYPE(gimple_get_lhs(stmt))))
            return false;
        ao_ref_init(&store, gimple_get_lhs(stmt));
        return refs_may_alias_p_1(&store, &request, true);
    }
    return stmt_may_clobber_ref_p_1(stmt, &request, true);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta.hh"

int plugin_is_GPL_compatible;

static void delta_calls(function *fun, std::vector<gcall *> *begins, std::vector<gcall *> *receives)
{
    basic_block bb;
    FOR_EACH_BB_FN(bb, fun)
    for (gimple_stmt_iterator i = gsi_start_bb(bb); !gsi_end_p(i); gsi_next(&i)) {
        gcall *call = dyn_cast<gcall *>(gsi_stmt(i));
        if (call && call_kind(call) == CALL_SEND_BEGIN)
            begins->push_back(call);
        if (call && call_kind(call) == CALL_RECV)
            receives->push_back(call);
    }
}

static unsigned annotate(function *fun)
{
    std::vector<gcall *> begins, calls, at_once;
    delta_calls(fun, &begins, &calls);
    if (begins.empty() && calls.empty())
        return 0;
    loop_optimizer_init(LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
    mark_irreducible_loops();
    calculate_dominance_info(CDI_DOMINATORS);
    scev_initialize();
    count_latches();
    std::vector<receive *> receives = judge_receives(calls, begins, &at_once);
    std::vector<send *> sends = judge_sends(begins);
    for (gcall *call : at_once)
        receive_at_once(call);
    open_receives(receives);
    insert_sends(sends, receives);
    insert_receives(receives);
    strips_insert();
    scev_finalize();
    free_numbers_of_iterations_estimates(fun);
    free_dominance_info(CDI_DOMINATORS);
    free_dominance_info(CDI_POST_DOMINATORS);
    mark_virtual_operands_for_renaming(fun);
    loops_state_set(LOOPS_NEED_FIXUP);
    update_ssa(TODO_update_ssa);
    loop_optimizer_finalize();
    return TODO_cleanup_cfg;
}

/* Without optimization there are no loops to look at. */
static unsigned leave_alone(function *fun)
{
    std::vector<gcall *> begins, calls;
    delta_calls(fun, &begins, &calls);
    for (gcall *call : begins)
        refuse(gimple_location(call), "needs -O1 or more (and not -Og)");
    for (gcall *call : calls) {
        refuse(gimple_location(call), "needs -O1 or more (and not -Og)");
        receive_at_once(call);
    }
    if (!calls.empty())
        mark_virtual_operands_for_renaming(fun);
    return calls.empty() ? 0 : TODO_update_ssa;
}

static const pass_data annotate_data = {
    GIMPLE_PASS, "delta", OPTGROUP_LOOP, TV_PLUGIN_RUN, PROP_cfg | PROP_ssa, 0, 0, 0, 0};
static const pass_data alone_data = {
    GIMPLE_PASS, "delta_alone", OPTGROUP_NONE, TV_PLUGIN_RUN, PROP_cfg | PROP_ssa, 0, 0, 0, 0};

struct annotate_pass : gimple_opt_pass {
    annotate_pass() : gimple_opt_pass(annotate_data, g)
    {
    }
    unsigned execute(function *fun) override
    {
        return annotate(fun);
    }
};

struct alone_pass : gimple_opt_pass {
    alone_pass() : gimple_opt_pass(alone_data, g)
    {
    }
    bool gate(function *) override
    {
        return !optimize || optimize_debug;
    }
    unsigned execute(function *fun) override
    {
        return leave_alone(fun);
    }
};

static bool take_options(plugin_name_args *info)
{
    for (int i = 0; i < info->argc; i++) {
        const char *key = info->argv[i].key, *value = info->argv[i].value;
        if (strcmp(key, "report") == 0 && value) {
            options.report = value;
        } else if (strcmp(key, "strip") == 0 && value) {
            char *rest;
            unsigned long bytes = strtoul(value, &rest, 10);
            if (*rest || bytes < 1 || bytes > 1 << 20) {
                error("delta: %<strip%> is a number of bytes from 1 to 1048576, not %qs", value);
                return false;
            }
            options.strip_bytes = bytes;
        } else {
            error("delta: unknown option %qs; there are %<report=FILE|stderr%> and %<strip=BYTES%>", key);
            return false;
        }
    }
    return true;
}

/* The library's functions throw nothing, which their declarations in C++ do not say. */
static void declared(void *decl_, void *)
{
    tree decl = static_cast<tree>(decl_);
    if (TREE_CODE(decl) == FUNCTION_DECL && TREE_PUBLIC(decl) && DECL_NAME(decl) &&
        is_delta_function(IDENTIFIER_POINTER(DECL_NAME(decl))))
        TREE_NOTHROW(decl) = 1;
}

static void unit_begins(void *, void *)
{
    if (flag_lto && !in_lto_p)
        error("delta: loops are looked at when a file is compiled, so not with %<-flto%>");
    if (POINTER_SIZE != 64)
        error("delta: for machines of 64 bits alone");
}

int plugin_init(plugin_name_args *info, plugin_gcc_version *version)
{
    if (!plugin_default_version_check(version, &gcc_version)) {
        error("delta: built for gcc %s, this is %s", gcc_version.basever, version->basever);
        return 1;
    }
    if (!take_options(info))
        return 1;
    report_open();
    register_pass_info loops = {new annotate_pass, "fix_loops", 1, PASS_POS_INSERT_BEFORE};
    register_pass_info alone = {new alone_pass, "optimized", 1, PASS_POS_INSERT_BEFORE};
    register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &loops);
    register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &alone);
    register_callback(info->base_name, PLUGIN_FINISH_DECL, declared, NULL);
    register_callback(info->base_name, PLUGIN_START_UNIT, unit_begins, NULL);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta.hh"

tree u_type()
{
    return size_type_node;
}

tree u_const(unsigned HOST_WIDE_INT value)
{
    return build_int_cstu(u_type(), value);
}

tree to_u(tree value)
{
    value = unshare_expr(value);
    return fold_convert(u_type(), value);
}

tree u_var(const char *name)
{
    return create_tmp_reg(u_type(), name);
}

tree plus(tree a, tree b)
{
    return fold_build2(PLUS_EXPR, u_type(), a, b);
}

tree times(tree a, tree b)
{
    return fold_build2(MULT_EXPR, u_type(), a, b);
}

tree negative(tree a)
{
    return fold_build1(NEGATE_EXPR, u_type(), a);
}

tree least(tree a, tree b)
{
    return fold_build2(MIN_EXPR, u_type(), a, b);
}

tree greatest(tree a, tree b)
{
    return fold_build2(MAX_EXPR, u_type(), a, b);
}

tree truth(tree_code op, tree a, tree b)
{
    return fold_convert(u_type(), fold_build2(op, boolean_type_node, a, b));
}

tree both(tree a, tree b)
{
    return fold_build2(BIT_AND_EXPR, u_type(), a, b);
}

static tree short_step(tree step)
{
    return truth(LE_EXPR, sign_of(step) < 0 ? negative(to_u(step)) : to_u(step), u_const(MAX_STEP));
}

/* Are the numbers small enough, and where the sign of a step is not known, is it no negative one? Addresses of iterations that the
 * program never stores or loads in may lie anywhere: none may wrap. */
tree in_range(const mem_access &a)
{
    tree ok = u_const(1), least_address = to_u(a.base);
    size_t steps = 0;
    for (const level &l : a.levels) {
        if (!l.step)
            continue;
        steps++;
        if (sign_of(l.step) < 0 && l.niter)
            least_address = plus(least_address, times(to_u(l.step), to_u(l.niter)));
        ok = both(ok, short_step(l.step));
        if (l.niter)
            ok = both(ok, truth(LE_EXPR, to_u(l.niter), u_const(MAX_COUNT)));
    }
    if (steps > MAX_STEPS)
        return u_const(0);
    ok = both(ok, truth(LE_EXPR, to_u(a.base), u_const(MAX_ADDRESS)));
    ok = both(ok, truth(LE_EXPR, least_address, u_const(MAX_ADDRESS)));
    for (const narrow &n : a.narrows) {
        tree low = n.value.base, high = n.value.base;
        for (size_t i = 0; i < a.levels.size(); i++) {
            tree step = n.value.steps[i];
            if (!step)
                continue;
            ok = both(ok, short_step(step));
            tree all = times(to_u(step), to_u(a.levels[i].niter));
            if (sign_of(step) < 0)
                low = plus(to_u(low), all);
            else
                high = plus(to_u(high), all);
        }
        tree most = u_const((HOST_WIDE_INT_1U << n.bits) - 1);
        ok = both(ok, both(truth(LE_EXPR, to_u(low), most), truth(LE_EXPR, to_u(high), most)));
    }
    return ok;
}

tree strip_iterations(tree step)
{
    tree forward = greatest(step, u_const(1));
    return fold_build2(TRUNC_DIV_EXPR, u_type(), plus(forward, u_const(options.strip_bytes - 1)), forward);
}

tree compute(gimple_seq *seq, tree expression)
{
    gimple_seq stmts = NULL;
    tree value = force_gimple_operand(unshare_expr(expression), &stmts, true, NULL_TREE);
    gimple_seq_add_seq(seq, stmts);
    return value;
}

void assign(gimple_seq *seq, tree variable, tree expression)
{
    tree value = compute(seq, expression);
    gimple_seq_add_stmt(seq, gimple_build_assign(variable, value));
}

void insert_on_entry(gimple_seq seq)
{
    edge e = single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(cfun));
    basic_block bb = single_pred_p(e->dest) ? e->dest : split_edge(e);
    gimple_stmt_iterator gsi = gsi_after_labels(bb);
    gsi_insert_seq_before(&gsi, seq, GSI_SAME_STMT);
}

void insert_before(gimple *stmt, gimple_seq seq)
{
    gimple_stmt_iterator gsi = gsi_for_stmt(stmt);
    gsi_insert_seq_before(&gsi, seq, GSI_SAME_STMT);
}

void insert_after(gimple *stmt, gimple_seq seq)
{
    if (!stmt_ends_bb_p(stmt)) {
        gimple_stmt_iterator gsi = gsi_for_stmt(stmt);
        gsi_insert_seq_after(&gsi, seq, GSI_SAME_STMT);
        return;
    }
    edge e = find_fallthru_edge(gimple_bb(stmt)->succs);
    basic_block bb = split_edge(e);
    gimple_stmt_iterator gsi = gsi_after_labels(bb);
    gsi_insert_seq_before(&gsi, seq, GSI_SAME_STMT);
}

basic_block append_if(basic_block bb, tree_code op, tree a, tree b, gimple_seq then)
{
    gimple *last = last_stmt(bb);
    edge e = last ? split_block(bb, last) : split_block_after_labels(bb);
    basic_block join = e->dest, taken = create_empty_bb(bb);
    if (current_loops)
        add_bb_to_loop(taken, bb->loop_father);
    e->flags = (e->flags & ~EDGE_FALLTHRU) | EDGE_FALSE_VALUE;
    e->probability = profile_probability::even();
    edge to = make_edge(bb, taken, EDGE_TRUE_VALUE);
    to->probability = profile_probability::even();
    taken->count = bb->count.apply_probability(to->probability);
    edge on = make_edge(taken, join, EDGE_FALLTHRU);
    on->probability = profile_probability::always();
    gimple_stmt_iterator gsi = gsi_last_bb(bb);
    gsi_insert_after(&gsi, gimple_build_cond(op, a, b, NULL_TREE, NULL_TREE), GSI_NEW_STMT);
    gsi = gsi_after_labels(taken);
    gsi_insert_seq_before(&gsi, then, GSI_SAME_STMT);
    return join;
}

basic_block block_before(gimple *stmt)
{
    gimple_stmt_iterator gsi = gsi_for_stmt(stmt);
    gsi_prev(&gsi);
    basic_block bb = gimple_bb(stmt);
    edge e = gsi_end_p(gsi) || gimple_code(gsi_stmt(gsi)) == GIMPLE_LABEL ? split_block_after_labels(bb)
                                                                          : split_block(bb, gsi_stmt(gsi));
    return split_edge(e);
}

void message_open(message *m, const char *name)
{
    gimple_seq entry = NULL, after = NULL;
    m->low = u_var(name);
    m->high = u_var(name);
    assign(&entry, m->low, u_const(0));
    assign(&entry, m->high, u_const(0));
    insert_on_entry(entry);
    tree result = call_result(m->call, &after);
    tree count =
        fold_build2(MAX_EXPR, ssizetype, fold_convert(ssizetype, message_count(m->call)), ssize_int(0));
    tree bytes = times(fold_convert(u_type(), count), u_const(m->type_bytes));
    bytes = times(bytes, truth(EQ_EXPR, result, integer_zero_node));
    assign(&after, m->low, to_u(gimple_call_arg(m->call, 0)));
    assign(&after, m->high, plus(m->low, bytes));
    insert_after(m->call, after);
}

tree library_function(const char *name, tree type)
{
    tree decl = build_fn_decl(name, type);
    TREE_NOTHROW(decl) = 1;
    return decl;
}

gcall *call_send_data(tree request, tree address, tree bytes)
{
    tree type = build_function_type_list(integer_type_node, ptr_type_node, const_ptr_type_node,
                                         long_long_integer_type_node, NULL_TREE);
    return gimple_build_call(library_function("MPIX_Delta_send_data", type), 3, request, address, bytes);
}

gcall *call_wait_data(tree address, tree bytes)
{
    tree type = build_function_type_list(integer_type_node, const_ptr_type_node, long_long_integer_type_node,
                                         NULL_TREE);
    return gimple_build_call(library_function("MPIX_Delta_wait_data", type), 2, address, bytes);
}

struct planned {
    class loop *loop;
    std::vector<strip_item *> items;
    tree count; /* of the loop's counter */
};

static std::vector<planned *> plans;

static planned *plan_of(class loop *loop)
{
    for (planned *p : plans)
        if (p->loop == loop)
            return p;
    plans.push_back(new planned{loop, std::vector<strip_item *>(), NULL_TREE});
    return plans.back();
}

tree counter(class loop *loop)
{
    planned *p = plan_of(loop);
    if (!p->count) {
        gimple_stmt_iterator gsi;
        bool after;
        tree next;
        standard_iv_increment_position(loop, &gsi, &after);
        create_iv(u_const(0), u_const(1), NULL_TREE, loop, &gsi, after, &p->count, &next);
    }
    return p->count;
}

/* The exit test is the last thing of an iteration, and what it decides can be counted. */
bool can_strip(class loop *loop)
{
    edge exit = single_exit(loop);
    if (!exit || !empty_block_p(loop->latch) || !single_pred_p(loop->latch) ||
        single_pred(loop->latch) != exit->src || (exit->flags & EDGE_COMPLEX))
        return false;
    gimple *last = last_stmt(exit->src);
    return last && gimple_code(last) == GIMPLE_COND && latch_count(loop);
}

void strip_add(class loop *loop, strip_item *item)
{
    plan_of(loop)->items.push_back(item);
}

/* Without an end that can be counted, each iteration is a strip. */
static void every_iteration(planned *p)
{
    tree number = counter(p->loop);
    basic_block bb = split_edge(loop_latch_edge(p->loop));
    for (strip_item *item : p->items) {
        gcc_assert(!item->from_begin);
        bb = item->end(bb, p->loop, number);
    }
}

/* Around the loop comes one of strips:
 *
 *   strip: first = number; last = min(first + strip - 1, count); begin()
 *   body:  ... if (number < last) goto body
 *          if (number < count) { end(); goto strip } */
static void strip_mine(planned *p, tree count)
{
    class loop *loop = p->loop;
    tree number = counter(loop);
    edge entry = loop_preheader_edge(loop), exit = single_exit(loop);
    basic_block header = loop->header, latch = loop->latch;
    gimple_seq before = NULL, start = NULL, decide = NULL;

    count = compute(&before, to_u(count));
    tree strip = NULL_TREE;
    for (strip_item *item : p->items) {
        tree wanted = item->iterations(&before, loop);
        if (wanted)
            strip = strip ? compute(&before, build2(MIN_EXPR, u_type(), strip, wanted)) : wanted;
    }
    gimple_stmt_iterator gsi = gsi_last_bb(entry->src);
    if (!gsi_end_p(gsi) && stmt_ends_bb_p(gsi_stmt(gsi))) {
        basic_block room = split_edge(entry);
        gsi = gsi_last_bb(room);
    }
    gsi_insert_seq_after(&gsi, before, GSI_CONTINUE_LINKING);

    basic_block strip_head = split_edge(loop_preheader_edge(loop));
    edge into = single_succ_edge(strip_head), outside = single_pred_edge(strip_head);
    basic_block decision = split_edge(exit);
    exit = single_pred_edge(decision);
    edge leave = single_succ_edge(decision);
    basic_block again = create_empty_bb(decision);
    add_bb_to_loop(again, decision->loop_father);
    leave->flags = (leave->flags & ~EDGE_FALLTHRU) | EDGE_FALSE_VALUE;
    leave->probability = profile_probability::even();
    edge on = make_edge(decision, again, EDGE_TRUE_VALUE);
    on->probability = profile_probability::even();
    again->count = decision->count;
    edge back = make_edge(again, strip_head, EDGE_FALLTHRU);
    back->probability = profile_probability::always();

    /* What the loop carries goes through the head of the strips. */
    tree first = NULL_TREE;
    edge around = find_edge(latch, header);
    for (gphi_iterator i = gsi_start_phis(header); !gsi_end_p(i); gsi_next(&i)) {
        gphi *phi = i.phi();
        tree result = gimple_phi_result(phi);
        if (virtual_operand_p(result))
            continue;
        gphi *copy = create_phi_node(make_ssa_name(TREE_TYPE(result)), strip_head);
        add_phi_arg(copy, PHI_ARG_DEF_FROM_EDGE(phi, into), outside, UNKNOWN_LOCATION);
        add_phi_arg(copy, PHI_ARG_DEF_FROM_EDGE(phi, around), back, UNKNOWN_LOCATION);
        SET_USE(PHI_ARG_DEF_PTR_FROM_EDGE(phi, into), gimple_phi_result(copy));
        if (result == number)
            first = gimple_phi_result(copy);
    }

    tree left = build2(MINUS_EXPR, u_type(), count, first), last = count;
    if (strip) {
        tree more = build2(MINUS_EXPR, u_type(), strip, u_const(1));
        last = build2(PLUS_EXPR, u_type(), first, build2(MIN_EXPR, u_type(), more, left));
    }
    last = compute(&start, last);
    gsi = gsi_after_labels(strip_head);
    gsi_insert_seq_before(&gsi, start, GSI_SAME_STMT);

    gcond *test = as_a<gcond *>(last_stmt(exit->src));
    gimple_cond_set_condition(test, LT_EXPR, number, last);
    update_stmt(test);
    edge stay = find_edge(exit->src, latch);
    stay->flags = (stay->flags & ~(EDGE_TRUE_VALUE | EDGE_FALSE_VALUE)) | EDGE_TRUE_VALUE;
    exit->flags = (exit->flags & ~(EDGE_TRUE_VALUE | EDGE_FALSE_VALUE)) | EDGE_FALSE_VALUE;

    gimple_seq_add_stmt(&decide, gimple_build_cond(LT_EXPR, number, count, NULL_TREE, NULL_TREE));
    gsi = gsi_last_bb(decision);
    gsi_insert_seq_after(&gsi, decide, GSI_CONTINUE_LINKING);

    basic_block bb = strip_head;
    for (strip_item *item : p->items)
        bb = item->begin(bb, loop, first, last);
    bb = again;
    for (strip_item *item : p->items)
        bb = item->end(bb, loop, number);
}

void strips_insert()
{
    /* While the loops are as they were judged. */
    for (planned *p : plans)
        counter(p->loop);
    for (planned *p : plans) {
        if (can_strip(p->loop))
            strip_mine(p, latch_count(p->loop));
        else
            every_iteration(p);
    }
    for (planned *p : plans) {
        for (strip_item *item : p->items)
            delete item;
        delete p;
    }
    plans.clear();
}

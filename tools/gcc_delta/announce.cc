/* SPDX-License-Identifier: BSD-3-Clause */
/* Announcing: variables of the message behind its begin, the questions of a nest in front of it, and what each strip has
 * made final at the strip's end. */
#include "send.hh"

static tree key_step(int direction, tree step)
{
    return direction < 0 ? negative(to_u(step)) : to_u(step);
}

static tree key_base(int direction, const mem_access &a)
{
    return direction < 0 ? negative(plus(to_u(a.base), u_const(a.bytes))) : to_u(a.base);
}

/* What the levels from `from` on take off a key at most. */
static tree below_base(int direction, const mem_access &a, size_t from)
{
    tree sum = u_const(0);
    for (size_t i = from; i < a.levels.size(); i++)
        if (a.levels[i].step && sign_of(a.levels[i].step) * direction < 0)
            sum = plus(sum, times(key_step(direction, a.levels[i].step), to_u(a.levels[i].niter)));
    return sum;
}

static tree clamp(const send &s, int direction, tree key)
{
    tree low = direction < 0 ? negative(s.m.high) : s.m.low,
         high = direction < 0 ? negative(s.m.low) : s.m.high;
    return least(greatest(key, low), high);
}

/* The lowest key that the access can have after the iteration `number` of the loop. */
static tree least_later(int direction, const mem_access &a, class loop *loop, tree number)
{
    tree prefix = key_base(direction, a), result = NULL_TREE;
    for (size_t i = 0; i < a.levels.size(); i++) {
        const level &l = a.levels[i];
        bool here = l.loop == loop;
        if (!here && !flow_loop_nested_p(l.loop, loop))
            break;
        tree step = l.step ? key_step(direction, l.step) : NULL_TREE;
        tree at = here ? number : l.step ? counter(l.loop) : NULL_TREE;
        tree next = step ? plus(prefix, times(plus(at, u_const(1)), step)) : prefix;
        next = plus(next, below_base(direction, a, i + 1));
        result = result ? least(result, next) : next;
        if (step)
            prefix = plus(prefix, times(at, step));
        if (here)
            return result;
        /* The access may be in another loop, whose turn of this iteration has yet to come. */
        bool deeper = i + 1 < a.levels.size() &&
                      (a.levels[i + 1].loop == loop || flow_loop_nested_p(a.levels[i + 1].loop, loop));
        if (!deeper)
            return least(result, plus(prefix, below_base(direction, a, i + 1)));
    }
    return result;
}

struct announcement : strip_item {
    const send *s;
    const group *g;
    tree step; /* of the loop that it is for */

    announcement(const send *s, const group *g, tree step) : strip_item(false), s(s), g(g), step(step)
    {
    }

    tree iterations(gimple_seq *seq, class loop *) override
    {
        tree number = strip_iterations(key_step(g->direction, step));
        /* As long as the loop where nothing can be announced. */
        tree never = fold_build2(MINUS_EXPR, u_type(), g->ok, u_const(1));
        return compute(seq, fold_build2(BIT_IOR_EXPR, u_type(), number, never));
    }

    basic_block begin(basic_block bb, class loop *, tree, tree) override
    {
        return bb;
    }

    basic_block end(basic_block bb, class loop *loop, tree number) override
    {
        tree key = NULL_TREE;
        for (const mem_access &a : g->stores) {
            tree later = least_later(g->direction, a, loop, number);
            key = key ? least(key, later) : later;
        }
        gimple_seq seq = NULL, call = NULL;
        key = compute(&seq, clamp(*s, g->direction, key));
        tree enough = compute(&seq, plus(g->frontier, u_const(options.strip_bytes)));
        gimple_stmt_iterator gsi = gsi_last_bb(bb);
        gsi_insert_seq_after(&gsi, seq, GSI_CONTINUE_LINKING);

        tree bytes = fold_build2(MINUS_EXPR, u_type(), key, g->frontier);
        bytes = compute(&call, fold_convert(long_long_integer_type_node, bytes));
        tree address = g->direction < 0 ? negative(key) : g->frontier;
        address = compute(&call, fold_convert(ptr_type_node, address));
        gimple_seq_add_stmt(&call, call_send_data(s->handle, address, bytes));
        gimple_seq_add_stmt(&call, gimple_build_assign(g->frontier, key));
        return append_if(bb, GE_EXPR, key, enough, call);
    }
};

/* Bytes that the access touches in the whole nest: first, and behind the last. */
static void bounds(const mem_access &a, tree *low, tree *high)
{
    *low = to_u(a.base);
    *high = plus(to_u(a.base), u_const(a.bytes));
    for (const level &l : a.levels) {
        if (!l.step)
            continue;
        tree all = times(to_u(l.step), to_u(l.niter));
        if (sign_of(l.step) < 0)
            *low = plus(*low, all);
        else
            *high = plus(*high, all);
    }
}

static tree apart_at_run_time(const mem_access &a, const mem_access &b)
{
    tree low_a, high_a, low_b, high_b;
    bounds(a, &low_a, &high_a);
    bounds(b, &low_b, &high_b);
    return fold_build2(BIT_IOR_EXPR, u_type(), truth(LE_EXPR, high_a, low_b), truth(LE_EXPR, high_b, low_a));
}

static void ask(gimple_seq *seq, tree ok, tree condition)
{
    assign(seq, ok, both(ok, condition));
}

/* In front of the nest: may the group be announced, and from where on? */
static void open_group(gimple_seq *seq, const send &s, const nest &n, group *g,
                       const std::vector<receive *> &receives)
{
    g->ok = u_var("delta_ok");
    g->frontier = u_var("delta_frontier");
    assign(seq, g->ok, truth(NE_EXPR, s.m.high, u_const(0)));
    /* A call in between that was given the request may have waited for it. */
    tree now = make_ssa_name(request_type(s.m.call));
    gimple_seq_add_stmt(seq, gimple_build_assign(now, request_at(s.m.call, s.where)));
    ask(seq, g->ok, truth(EQ_EXPR, now, s.kept));
    for (const mem_access &a : g->stores)
        ask(seq, g->ok, in_range(a));
    for (const mem_access &b : n.others) {
        ask(seq, g->ok, in_range(b));
        for (const mem_access &a : g->stores)
            ask(seq, g->ok, apart_at_run_time(a, b));
    }
    for (const group &h : n.announced)
        if (&h != g)
            for (const mem_access &b : h.stores) {
                ask(seq, g->ok, in_range(b));
                for (const mem_access &a : g->stores)
                    ask(seq, g->ok, apart_at_run_time(a, b));
            }
    /* Bytes between those of the stores may still be on their way in. */
    for (const receive *r : receives) {
        tree from, to;
        outstanding(r, &from, &to);
        ask(seq, g->ok,
            fold_build2(BIT_IOR_EXPR, u_type(), truth(LE_EXPR, s.m.high, from),
                        truth(LE_EXPR, to, greatest(s.m.low, from))));
    }
    tree start = NULL_TREE;
    for (const mem_access &a : g->stores) {
        tree key = plus(key_base(g->direction, a), below_base(g->direction, a, 0));
        start = start ? least(start, key) : key;
    }
    start = clamp(s, g->direction, start);
    tree value = compute(seq, start),
         never = compute(seq, fold_build2(MINUS_EXPR, u_type(), g->ok, u_const(1)));
    /* So that one strip more would be behind all keys. */
    tree strip = u_const(HOST_WIDE_INT_M1U - options.strip_bytes);
    never = compute(seq, both(never, strip));
    assign(seq, g->frontier, greatest(value, never));
}

/* The levels at whose strips the group is announced: the outermost, and within long rows the next that goes forward. */
static void add_announcements(const send &s, const group &g)
{
    const mem_access *deepest = &g.stores[0];
    for (const mem_access &a : g.stores)
        if (a.levels.size() > deepest->levels.size())
            deepest = &a;
    for (const mem_access &a : g.stores)
        for (const level &l : a.levels)
            if (l.step)
                counter(l.loop);
    size_t at = 0;
    while (at < deepest->levels.size()) {
        const level &l = deepest->levels[at];
        counter(l.loop);
        strip_add(l.loop, new announcement(&s, &g, l.step));
        tree step = fold_convert(ssizetype, l.step);
        if (tree_fits_shwi_p(step) && absu_hwi(tree_to_shwi(step)) <= (unsigned HOST_WIDE_INT)LONG_ROW_BYTES)
            return;
        size_t next = at + 1;
        while (next < deepest->levels.size() && !deepest->levels[next].step)
            next++;
        for (const mem_access &a : g.stores)
            for (size_t i = 0; i < a.levels.size() && i <= next && next < deepest->levels.size(); i++)
                if (a.levels[i].step &&
                    (a.levels[i].loop == deepest->levels[next].loop ||
                     flow_loop_nested_p(a.levels[i].loop, deepest->levels[next].loop)) &&
                    sign_of(a.levels[i].step) * g.direction < 0)
                    return;
        at = next;
    }
}

static void open_send(send *s)
{
    message_open(&s->m, "delta_message");
    tree type = request_type(s->m.call);
    s->handle = create_tmp_reg(ptr_type_node, "delta_handle");
    s->kept = create_tmp_reg(type, "delta_request");
    s->where = create_tmp_reg(ptr_type_node, "delta_where");
    /* What is looked at while there is no request. */
    tree none = create_tmp_var(type, "delta_none");
    TREE_ADDRESSABLE(none) = 1;
    gimple_seq entry = NULL, after = NULL;
    gimple_seq_add_stmt(&entry, gimple_build_assign(none, build_zero_cst(type)));
    gimple_seq_add_stmt(&entry, gimple_build_assign(s->kept, build_zero_cst(type)));
    gimple_seq_add_stmt(&entry, gimple_build_assign(s->handle, null_pointer_node));
    gimple_seq_add_stmt(&entry, gimple_build_assign(s->where, build_fold_addr_expr(none)));
    insert_on_entry(entry);
    tree where = make_ssa_name(ptr_type_node), value = make_ssa_name(type);
    gimple_seq_add_stmt(&after, gimple_build_assign(where, unshare_expr(gimple_call_arg(s->m.call, 6))));
    gimple_seq_add_stmt(&after, gimple_build_assign(value, request_at(s->m.call, where)));
    gimple_seq_add_stmt(&after, gimple_build_assign(s->kept, value));
    tree handle = request_handle(s->m.call, value, &after);
    gimple_seq_add_stmt(&after, gimple_build_assign(s->handle, handle));
    gimple_seq_add_stmt(&after, gimple_build_assign(s->where, where));
    insert_after(s->m.call, after);
    for (gcall *end : s->ends) {
        gimple_seq ended = NULL;
        assign(&ended, s->m.low, u_const(0));
        assign(&ended, s->m.high, u_const(0));
        gimple_seq_add_stmt(&ended, gimple_build_assign(s->where, build_fold_addr_expr(none)));
        insert_before(end, ended);
    }
}

void insert_sends(std::vector<send *> &sends, const std::vector<receive *> &receives)
{
    for (send *s : sends)
        open_send(s);
    for (send *s : sends)
        for (nest &n : s->nests) {
            gimple_seq seq = NULL;
            for (group &g : n.announced)
                open_group(&seq, *s, n, &g, receives);
            basic_block bb = split_edge(loop_preheader_edge(n.loop));
            gimple_stmt_iterator gsi = gsi_after_labels(bb);
            gsi_insert_seq_before(&gsi, seq, GSI_SAME_STMT);
            for (const group &g : n.announced)
                add_announcements(*s, g);
        }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What of a receive must be waited for, and where. From the receive on every path is followed: a nest of loops whose uses
 * of the buffer are all understood waits for what each strip uses, a load or store outside of loops for its own bytes, and
 * in front of all else, at the latest where the function returns, the whole message is waited for. */
#include "delta.hh"

/* Loads and stores outside of loops that are waited for one by one. */
static const size_t SINGLE_MAX = 16;

struct single {
    gimple *stmt;
    tree address, bytes;
};

struct use {
    mem_access a;
    class loop *loop; /* at whose strips it is waited for; null: before the nest */
    tree step; /* in that loop */
};

struct reading {
    class loop *loop;
    std::vector<use> uses;
    /* All go forward together: everything up to the highest is waited for, by the mark. */
    bool forward;
};

struct receive {
    message m;
    tree mark; /* variable: all before it has come */
    std::vector<reading> nests;
    std::vector<single> singles;
    std::vector<gimple *> whole_before;
    std::vector<class loop *> whole_before_loop;
    std::vector<gcall *> begins; /* of the function */
    std::string reason; /* why a nest, or all, is not pipelined */
    bool said;
};

void outstanding(const receive *r, tree *from, tree *to)
{
    *from = r->mark;
    *to = r->m.high;
}

/* Does this end a send whose message may have to do with what is received? */
static bool end_reads(const receive &r, gimple *end, ao_ref *memory)
{
    bool known = false;
    for (gcall *begin : r.begins) {
        int same = same_request(begin, end);
        ao_ref other;
        message_memory(&other, gimple_call_arg(begin, 0));
        if (same >= 0 && refs_may_alias_p_1(&other, memory, false))
            return true;
        known = known || same == 1;
    }
    return !known;
}

static bool touches(const receive &r, gimple *stmt, ao_ref *memory)
{
    if (is_gimple_debug(stmt) || is_abrupt_end(stmt))
        return false;
    if (call_kind(stmt) == CALL_SEND_END)
        return end_reads(r, stmt, memory);
    return stmt_can_throw_external(cfun, stmt) || may_read(stmt, memory) || may_write(stmt, memory);
}

/* The references of an assignment that may reach the buffer; false if there is more than that. */
static bool references(gimple *stmt, ao_ref *memory, std::vector<tree> *out, std::vector<bool> *stores)
{
    if (!gimple_assign_single_p(stmt) || gimple_clobber_p(stmt) || stmt_can_throw_external(cfun, stmt))
        return false;
    for (int i = 0; i < 2; i++) {
        tree ref = gimple_op(stmt, i);
        ao_ref a;
        if (TREE_CODE(ref) == SSA_NAME || is_gimple_min_invariant(ref) || TREE_CODE(ref) == CONSTRUCTOR)
            continue;
        ao_ref_init(&a, ref);
        if (!refs_may_alias_p_1(&a, memory, false))
            continue;
        tree size = TYPE_SIZE_UNIT(TREE_TYPE(ref));
        if (!size || !tree_fits_shwi_p(size) || TREE_CODE(ref) == BIT_FIELD_REF ||
            (TREE_CODE(ref) == COMPONENT_REF && DECL_BIT_FIELD(TREE_OPERAND(ref, 1))))
            return false;
        out->push_back(ref);
        stores->push_back(i == 0);
    }
    return true;
}

/* Chooses the loop at whose strips the use is waited for. */
static const char *place(use *u, bool inner)
{
    u->loop = NULL;
    for (size_t i = 0; i < u->a.levels.size(); i++) {
        const level &l = u->a.levels[i];
        if (!l.step)
            continue;
        HOST_WIDE_INT step = 0;
        tree value = fold_convert(ssizetype, l.step);
        if (tree_fits_shwi_p(value))
            step = tree_to_shwi(value);
        if (absu_hwi(step) > MAX_STEP)
            return "its steps are too long";
        if (u->loop && !can_strip(l.loop))
            break;
        if (!u->loop && !can_strip(l.loop))
            return "the iterations of its loop cannot be counted";
        u->loop = l.loop;
        u->step = l.step;
        if (!inner || (step != 0 && absu_hwi(step) <= (unsigned HOST_WIDE_INT)LONG_ROW_BYTES))
            break;
    }
    bool deeper = false;
    for (const level &l : u->a.levels) {
        if (deeper && l.step && !l.niter)
            return "how far an inner loop goes is not known before it";
        deeper = deeper || l.loop == u->loop;
    }
    return NULL;
}

/* All uses begin at the receive's own pointer and go forward together. */
static bool go_forward(const reading &n, tree root)
{
    const mem_access *first = NULL;
    const level *carries = NULL;
    for (const use &u : n.uses) {
        if (u.a.root != root)
            continue;
        const level *outer = NULL;
        for (const level &l : u.a.levels)
            if (l.step && !outer)
                outer = &l;
        for (const level &l : u.a.levels)
            if (l.step && sign_of(l.step) < 0)
                return false;
        if (!outer)
            return false;
        if (!first) {
            first = &u.a;
            carries = outer;
            continue;
        }
        HOST_WIDE_INT d;
        if (outer->loop != carries->loop || !operand_equal_p(outer->step, carries->step, 0))
            return false;
        if (base_difference(u.a, *first, &d) ? absu_hwi(d) >= (unsigned HOST_WIDE_INT)LONG_ROW_BYTES
                                             : sign_of(outer->step) != 0)
            return false;
    }
    return first != NULL;
}

static std::string judge_reading(const receive &r, ao_ref *memory, tree root, reading *n)
{
    std::string reason;
    edge below = loop_preheader_edge(n->loop);
    basic_block *body = get_loop_body(n->loop);
    for (unsigned b = 0; b < n->loop->num_nodes && reason.empty(); b++)
        for (gimple_stmt_iterator i = gsi_start_bb(body[b]); !gsi_end_p(i) && reason.empty(); gsi_next(&i)) {
            gimple *stmt = gsi_stmt(i);
            std::string where = " at line " + line_of(gimple_location(stmt));
            std::vector<tree> refs;
            std::vector<bool> stores;
            if (!touches(r, stmt, memory))
                continue;
            if (!references(stmt, memory, &refs, &stores)) {
                reason = describe(stmt) + where + " may use the buffer";
                break;
            }
            for (size_t k = 0; k < refs.size() && reason.empty(); k++) {
                if (TREE_THIS_VOLATILE(refs[k])) {
                    reason = "the use" + where + " is volatile";
                    break;
                }
                use u = {{stmt,
                          address_before(stmt, refs[k]),
                          tree_to_shwi(TYPE_SIZE_UNIT(TREE_TYPE(refs[k]))),
                          (bool)stores[k],
                          body[b]->loop_father,
                          NULL_TREE,
                          NULL_TREE,
                          {},
                          {}},
                         NULL,
                         NULL_TREE};
                const char *why = analyze(&u.a, below, n->loop);
                if (why)
                    reason = "of the use" + where + ", which may be of the buffer, " + why;
                n->uses.push_back(u);
            }
        }
    free(body);
    if (!reason.empty() || n->uses.empty())
        return reason;
    n->forward = go_forward(*n, root);
    for (use &u : n->uses) {
        const char *why = place(&u, n->forward && u.a.root == root);
        if (why)
            return "the use at line " + line_of(gimple_location(u.a.stmt)) + ": " + why;
    }
    return "";
}

struct walk {
    receive *r;
    ao_ref memory;
    tree root;
    std::set<int> seen, nests;
    std::vector<basic_block> todo;
};

static void say(receive *r, const std::string &reason)
{
    if (!r->said)
        refuse(gimple_location(r->m.call), reason);
    r->said = true;
}

/* Another receive: what it has in common with the message must have come. */
static bool receives_known(gimple *stmt, std::vector<single> *out)
{
    const char *why = NULL;
    unsigned bytes = call_kind(stmt) == CALL_RECV ? element_bytes(as_a<gcall *>(stmt), &why) : 0;
    if (bytes == 0 || is_fortran(stmt) || stmt_can_throw_external(cfun, stmt))
        return false;
    tree count = fold_convert(ssizetype, gimple_call_arg(stmt, 1));
    count = fold_build2(MULT_EXPR, ssizetype, fold_build2(MAX_EXPR, ssizetype, count, ssize_int(0)),
                        ssize_int(bytes));
    out->push_back(single{stmt, gimple_call_arg(stmt, 0), count});
    return true;
}

/* Goes through a block from a statement on; true if the path goes on behind it. */
static bool walk_block(walk *w, gimple_stmt_iterator i)
{
    receive *r = w->r;
    for (; !gsi_end_p(i); gsi_next(&i)) {
        gimple *stmt = gsi_stmt(i);
        std::vector<tree> refs;
        std::vector<bool> stores;
        bool returns = gimple_code(stmt) == GIMPLE_RETURN;
        if (stmt == r->m.call) {
            /* Received into once more: what is left of the message before is forgotten then. */
            r->whole_before.push_back(stmt);
            return false;
        }
        if (!returns && !touches(*r, stmt, &w->memory))
            continue;
        bool simple = !returns &&
                      (receives_known(stmt, &r->singles) || references(stmt, &w->memory, &refs, &stores)) &&
                      r->singles.size() + refs.size() <= SINGLE_MAX;
        if (!simple) {
            r->whole_before.push_back(stmt);
            if (r->nests.empty() && r->reason.empty())
                r->reason = returns ? "the function returns before a loop uses the buffer"
                                    : describe(stmt) + " at line " + line_of(gimple_location(stmt)) +
                                          " may use the buffer before a loop does";
            return false;
        }
        for (tree ref : refs)
            r->singles.push_back(single{stmt, address_before(stmt, ref), TYPE_SIZE_UNIT(TREE_TYPE(ref))});
    }
    return true;
}

static void walk_into(walk *w, class loop *loop)
{
    receive *r = w->r;
    reading n = {loop, {}, false};
    if (!w->nests.insert(loop->num).second)
        return;
    std::string reason = judge_reading(*r, &w->memory, w->root, &n);
    if (!reason.empty()) {
        say(r, reason);
        r->whole_before_loop.push_back(loop);
        return;
    }
    bool own = false;
    std::string where;
    for (const use &u : n.uses)
        if (u.a.root == w->root && !own) {
            own = true;
            where = line_of(gimple_location(u.a.stmt));
        }
    if (own)
        report(gimple_location(r->m.call), "pipelined", "receive, in the loop at line " + where);
    r->said = r->said || own;
    if (!n.uses.empty())
        r->nests.push_back(n);
    auto_vec<edge> exits = get_loop_exit_edges(loop);
    for (edge e : exits)
        if (w->seen.insert(e->dest->index).second)
            w->todo.push_back(e->dest);
}

static void walk_paths(walk *w)
{
    receive *r = w->r;
    basic_block origin = gimple_bb(r->m.call);
    gimple_stmt_iterator i = gsi_for_stmt(r->m.call);
    gsi_next(&i);
    w->todo.push_back(origin);
    for (bool first = true; !w->todo.empty(); first = false) {
        basic_block bb = w->todo.back();
        w->todo.pop_back();
        class loop *nest = first ? NULL : nest_around(bb, origin);
        if (nest) {
            walk_into(w, nest);
            continue;
        }
        if (!walk_block(w, first ? i : gsi_start_bb(bb)))
            continue;
        edge e;
        edge_iterator at;
        FOR_EACH_EDGE(e, at, bb->succs)
        {
            if (e->flags & (EDGE_ABNORMAL | EDGE_IRREDUCIBLE_LOOP)) {
                r->whole_before.push_back(last_stmt(bb));
                say(r, "a jump that is not followed");
                break;
            }
            if (e->dest != EXIT_BLOCK_PTR_FOR_FN(cfun) && w->seen.insert(e->dest->index).second)
                w->todo.push_back(e->dest);
        }
    }
}

/* Jumps of which a wait cannot stand in front. */
static bool walkable()
{
    basic_block bb;
    if (cfun->calls_setjmp || cfun->has_nonlocal_label)
        return false;
    FOR_EACH_BB_FN(bb, cfun)
    {
        edge e;
        edge_iterator i;
        FOR_EACH_EDGE(e, i, bb->succs)
        if (((e->flags & (EDGE_ABNORMAL | EDGE_IRREDUCIBLE_LOOP)) && !last_stmt(bb)) ||
            (e->flags & EDGE_IRREDUCIBLE_LOOP && loop_depth(bb->loop_father) > 0))
            return false;
    }
    return true;
}

/* Types with gaps are received as a whole by the library; of others the true extent says where they lie. In Fortran also what lies at
 * MPI_BOTTOM is not told by its address: all that is on its way to this process is waited for. */
void receive_at_once(gcall *call)
{
    if (is_fortran(call)) {
        gimple_seq all = NULL;
        gimple_seq_add_stmt(&all,
                            call_wait_data(null_pointer_node, TYPE_MAX_VALUE(long_long_integer_type_node)));
        insert_after(call, all);
        return;
    }
    tree index = long_integer_type_node;
    tree low = create_tmp_var(index, "delta_lower"), extent = create_tmp_var(index, "delta_extent");
    tree pointer = build_pointer_type(index);
    tree type = build_function_type_list(integer_type_node, ptr_type_node, pointer, pointer, NULL_TREE);
    gimple_seq seq = NULL;
    for (tree variable : {low, extent}) {
        TREE_ADDRESSABLE(variable) = 1;
        gimple_seq_add_stmt(&seq, gimple_build_assign(variable, build_int_cst(index, 0)));
    }
    gimple_seq_add_stmt(&seq, gimple_build_call(library_function("MPI_Type_get_true_extent", type), 3,
                                                gimple_call_arg(call, 2), build_fold_addr_expr(low),
                                                build_fold_addr_expr(extent)));
    tree loaded_low = make_ssa_name(index), loaded_extent = make_ssa_name(index);
    gimple_seq_add_stmt(&seq, gimple_build_assign(loaded_low, low));
    gimple_seq_add_stmt(&seq, gimple_build_assign(loaded_extent, extent));
    tree count = fold_build2(MAX_EXPR, integer_type_node, gimple_call_arg(call, 1), integer_zero_node);
    tree bytes =
        fold_build2(MULT_EXPR, long_long_integer_type_node, fold_convert(long_long_integer_type_node, count),
                    fold_convert(long_long_integer_type_node, loaded_extent));
    tree address = plus(to_u(gimple_call_arg(call, 0)), to_u(loaded_low));
    address = compute(&seq, fold_convert(ptr_type_node, address));
    bytes = compute(&seq, bytes);
    gimple_seq_add_stmt(&seq, call_wait_data(address, bytes));
    insert_after(call, seq);
}

std::vector<receive *> judge_receives(const std::vector<gcall *> &calls, const std::vector<gcall *> &begins,
                                      std::vector<gcall *> *at_once_out)
{
    std::vector<receive *> receives;
    bool can_walk = walkable();
    for (gcall *call : calls) {
        const char *why = NULL;
        unsigned bytes = element_bytes(call, &why);
        if (!why && (!can_walk || stmt_ends_bb_p(call)))
            why = "jumps of the function are not followed";
        if (why) {
            refuse(gimple_location(call), why);
            at_once_out->push_back(call);
            continue;
        }
        receive *r = new receive;
        r->m = message{call, NULL_TREE, NULL_TREE, bytes};
        r->begins = begins;
        r->said = false;
        walk w;
        w.r = r;
        message_memory(&w.memory, gimple_call_arg(call, 0));
        w.root = root_of(gimple_call_arg(call, 0));
        walk_paths(&w);
        if (!r->said && !r->nests.empty())
            report(gimple_location(call), "pipelined",
                   "receive, in the loop at line " + line_of(gimple_location(r->nests[0].uses[0].a.stmt)) +
                       ", if that is its buffer");
        else if (!r->said)
            say(r, r->reason.empty() ? "no loop behind it uses the buffer" : r->reason);
        receives.push_back(r);
    }
    return receives;
}

static void append(basic_block bb, gimple_seq seq)
{
    gimple_stmt_iterator gsi = gsi_last_bb(bb);
    gsi_insert_seq_after(&gsi, seq, GSI_CONTINUE_LINKING);
}

/* Waits for [low, high), as far as it is of the message. */
static basic_block wait_exactly(const receive &r, basic_block bb, tree low, tree high)
{
    gimple_seq seq = NULL, call = NULL;
    low = compute(&seq, greatest(low, r.m.low));
    high = compute(&seq, least(high, r.m.high));
    append(bb, seq);
    tree bytes = compute(
        &call, fold_convert(long_long_integer_type_node, fold_build2(MINUS_EXPR, u_type(), high, low)));
    tree address = compute(&call, fold_convert(ptr_type_node, low));
    gimple_seq_add_stmt(&call, call_wait_data(address, bytes));
    return append_if(bb, LT_EXPR, low, high, call);
}

/* Waits for all up to `high`, a strip at least, if it has not been. */
static basic_block wait_up_to(const receive &r, basic_block bb, tree high, tree at_least)
{
    gimple_seq seq = NULL, call = NULL;
    high = compute(&seq, least(high, r.m.high));
    append(bb, seq);
    tree up = least(greatest(high, plus(r.mark, at_least)), r.m.high);
    up = compute(&call, up);
    tree bytes = compute(
        &call, fold_convert(long_long_integer_type_node, fold_build2(MINUS_EXPR, u_type(), up, r.mark)));
    tree address = compute(&call, fold_convert(ptr_type_node, r.mark));
    gimple_seq_add_stmt(&call, call_wait_data(address, bytes));
    gimple_seq_add_stmt(&call, gimple_build_assign(r.mark, up));
    return append_if(bb, LT_EXPR, r.mark, high, call);
}

static basic_block wait_whole(const receive &r, basic_block bb)
{
    return wait_up_to(r, bb, r.m.high, u_const(0));
}

/* What the use touches in the iterations `first` to `last` of its loop. */
static void touched(const use &u, tree first, tree last, tree *low, tree *high)
{
    *low = to_u(u.a.base);
    *high = plus(to_u(u.a.base), u_const(u.a.bytes));
    bool deeper = !u.loop;
    for (const level &l : u.a.levels) {
        bool backward = l.step && sign_of(l.step) < 0, here = l.loop == u.loop;
        if (l.step && deeper) {
            tree all = times(to_u(l.step), to_u(l.niter));
            *(backward ? low : high) = plus(*(backward ? low : high), all);
        } else if (l.step) {
            tree a = here ? first : counter(l.loop), b = here ? last : a;
            *low = plus(*low, times(to_u(l.step), backward ? b : a));
            /* Before the first address there is. */
            if (backward && !l.niter)
                *low = fold_build2(BIT_AND_EXPR, u_type(), *low,
                                   negative(truth(LE_EXPR, *low, u_const(MAX_ADDRESS))));
            *high = plus(*high, times(to_u(l.step), backward ? a : b));
        }
        deeper = deeper || here;
    }
}

struct waiting : strip_item {
    const receive *r;
    const use *u;
    bool forward;

    waiting(const receive *r, const use *u, bool forward) : strip_item(true), r(r), u(u), forward(forward)
    {
    }

    tree iterations(gimple_seq *seq, class loop *) override
    {
        tree step = to_u(u->step);
        return compute(seq, strip_iterations(sign_of(u->step) < 0 ? negative(step) : step));
    }

    basic_block begin(basic_block bb, class loop *, tree first, tree last) override
    {
        tree low, high;
        touched(*u, first, last, &low, &high);
        return forward ? wait_up_to(*r, bb, high, u_const(options.strip_bytes))
                       : wait_exactly(*r, bb, low, high);
    }

    basic_block end(basic_block bb, class loop *, tree) override
    {
        return bb;
    }
};

static void insert_reading(const receive &r, const reading &n, tree root)
{
    tree ok = u_const(1);
    gimple_seq seq = NULL;
    for (const use &u : n.uses)
        ok = both(ok, in_range(u.a));
    basic_block bb = split_edge(loop_preheader_edge(n.loop));
    if (!integer_onep(ok)) {
        /* Numbers that are too large for sums: nothing is left to the strips. */
        tree none = fold_build2(MINUS_EXPR, u_type(), ok, u_const(1));
        none = compute(&seq, both(r.m.high, none));
        append(bb, seq);
        bb = wait_up_to(r, bb, none, u_const(0));
    }
    for (const use &u : n.uses) {
        tree low, high;
        if (!u.loop) {
            touched(u, NULL_TREE, NULL_TREE, &low, &high);
            bb = wait_exactly(r, bb, low, high);
            continue;
        }
        for (const level &l : u.a.levels)
            if (l.step)
                counter(l.loop);
        strip_add(u.loop, new waiting(&r, &u, n.forward && u.a.root == root));
    }
}

void open_receives(std::vector<receive *> &receives)
{
    for (receive *r : receives) {
        message_open(&r->m, "delta_received");
        gimple_seq entry = NULL, after = NULL;
        r->mark = u_var("delta_mark");
        assign(&entry, r->mark, u_const(0));
        insert_on_entry(entry);
        assign(&after, r->mark, to_u(gimple_call_arg(r->m.call, 0)));
        insert_after(r->m.call, after);
    }
}

void insert_receives(std::vector<receive *> &receives)
{
    for (receive *r : receives) {
        for (const single &one : r->singles) {
            tree low = to_u(one.address);
            wait_exactly(*r, block_before(one.stmt), low, plus(low, to_u(one.bytes)));
        }
        for (gimple *stmt : r->whole_before)
            wait_whole(*r, block_before(stmt));
        for (class loop *loop : r->whole_before_loop)
            wait_whole(*r, split_edge(loop_preheader_edge(loop)));
        tree root = root_of(gimple_call_arg(r->m.call, 0));
        for (const reading &n : r->nests)
            insert_reading(*r, n, root);
    }
}

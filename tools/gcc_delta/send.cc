/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be announced of a send. Between begin and end every store that may reach the message must be known. The
 * outermost loops in between are judged one by one, with the frontier as the proof: the lowest address that any later
 * iteration of the nest stores to (of decreasing addresses: the highest). What lies before it is final if the other
 * stores of the nest, and those behind it, go elsewhere; where that hangs on numbers that the program knows, it asks
 * when it runs, in front of the nest. Keys are addresses, or, of decreasing ones, their negatives. */
#include "send.hh"

/* That are compared with each other when the program runs. */
static const size_t STORES_MAX = 32;

/* The statements between a begin and its ends. */
struct region {
    gcall *begin;
    std::set<int> blocks; /* entered at their first statement */
    std::vector<gcall *> ends;
    std::string reason; /* not empty: refused */
};

struct guard {
    gcond *test;
    bool taken;
};

static std::vector<guard> guards_of(basic_block bb)
{
    std::vector<guard> guards;
    for (basic_block d = get_immediate_dominator(CDI_DOMINATORS, bb); d;
         d = get_immediate_dominator(CDI_DOMINATORS, d)) {
        gcond *test = safe_dyn_cast<gcond *>(last_stmt(d));
        edge e;
        edge_iterator i;
        if (!test)
            continue;
        FOR_EACH_EDGE(e, i, d->succs)
        if (single_pred_p(e->dest) && dominated_by_p(CDI_DOMINATORS, bb, e->dest))
            guards.push_back(guard{test, (e->flags & EDGE_TRUE_VALUE) != 0});
    }
    return guards;
}

/* Which way a test goes that asks what a guard of the begin has asked: 1, 0, or -1 for another question. */
static int known_outcome(gcond *test, const std::vector<guard> &guards)
{
    for (const guard &g : guards) {
        tree_code code = gimple_cond_code(g.test);
        if (g.test == test || !same_value(gimple_cond_lhs(g.test), gimple_cond_lhs(test)) ||
            !same_value(gimple_cond_rhs(g.test), gimple_cond_rhs(test)))
            continue;
        if (code == gimple_cond_code(test))
            return g.taken;
        if (code == invert_tree_comparison(gimple_cond_code(test), HONOR_NANS(gimple_cond_lhs(test))))
            return !g.taken;
    }
    return -1;
}

/* An end of this begin, or what ends the walk of the region. */
static bool ends_here(region *r, gimple *stmt)
{
    if (jumps(stmt))
        r->reason = describe(stmt) + " may come back twice, or leave the function";
    if (call_kind(stmt) == CALL_SEND_DATA)
        r->reason = "line " + line_of(gimple_location(stmt)) + " announces by hand";
    if (call_kind(stmt) != CALL_SEND_END)
        return false;
    int same = same_request(r->begin, stmt);
    if (same == 0)
        r->reason =
            "the end at line " + line_of(gimple_location(stmt)) + " may be of this request or of another";
    if (same != 1)
        return false;
    if (shortens(stmt))
        r->reason = "the message may become shorter at line " + line_of(gimple_location(stmt));
    r->ends.push_back(as_a<gcall *>(stmt));
    return true;
}

static void walk_region(region *r)
{
    basic_block origin = gimple_bb(r->begin);
    std::vector<guard> guards = guards_of(origin);
    std::vector<basic_block> todo(1, origin);
    bool started = false;
    while (!todo.empty() && r->reason.empty()) {
        basic_block bb = todo.back();
        todo.pop_back();
        gimple_stmt_iterator i = started ? gsi_start_bb(bb) : gsi_for_stmt(r->begin);
        if (!started)
            gsi_next(&i);
        started = true;
        bool ended = false;
        gimple *last = NULL;
        for (; !gsi_end_p(i) && !ended; gsi_next(&i)) {
            if (is_gimple_debug(gsi_stmt(i)))
                continue;
            last = gsi_stmt(i);
            ended = ends_here(r, last);
        }
        if (ended)
            continue;
        if (EDGE_COUNT(bb->succs) == 0 && !(last && is_the_end(last)))
            r->reason = "the function may be left before the send's end or wait";
        gcond *test = safe_dyn_cast<gcond *>(last_stmt(bb));
        int outcome = test ? known_outcome(test, guards) : -1;
        edge e;
        edge_iterator at;
        FOR_EACH_EDGE(e, at, bb->succs)
        {
            if (outcome >= 0 && outcome != ((e->flags & EDGE_TRUE_VALUE) != 0))
                continue;
            if (e->dest == EXIT_BLOCK_PTR_FOR_FN(cfun))
                r->reason = "a path to the function's end has neither the send's end nor its wait";
            else if (e->dest == origin || (e->dest == e->dest->loop_father->header &&
                                           flow_bb_inside_loop_p(e->dest->loop_father, origin)))
                r->reason = "the send may not have ended when its loop goes on";
            else if (e->flags & EDGE_IRREDUCIBLE_LOOP)
                r->reason = "a loop with several entries";
            else if (r->blocks.insert(e->dest->index).second)
                todo.push_back(e->dest);
        }
    }
}

/* All statements of the region in a block. */
template <typename Visit> static void visit_block(const region &r, basic_block bb, Visit visit)
{
    for (gimple_stmt_iterator i = gsi_start_bb(bb); !gsi_end_p(i); gsi_next(&i)) {
        gimple *stmt = gsi_stmt(i);
        for (gcall *end : r.ends)
            if (stmt == end)
                return;
        if (!is_gimple_debug(stmt))
            visit(stmt);
    }
}

/* Until its end the request must stay where it is. */
static void follow_request(region *r)
{
    bool own = request_is_private(r->begin);
    auto look = [&](gimple *stmt) {
        if (r->reason.empty() && may_move_request(r->begin, stmt, own))
            r->reason =
                describe(stmt) + " at line " + line_of(gimple_location(stmt)) + " may change the request";
    };
    gimple_stmt_iterator i = gsi_for_stmt(r->begin);
    bool ended = false;
    for (gsi_next(&i); !gsi_end_p(i) && !ended; gsi_next(&i)) {
        for (gcall *end : r->ends)
            ended = ended || gsi_stmt(i) == end;
        if (!ended)
            look(gsi_stmt(i));
    }
    for (int index : r->blocks)
        visit_block(*r, BASIC_BLOCK_FOR_FN(cfun, index), look);
}

/* Takes the store as an access, seen from before `below`; the reason if that cannot be. */
static std::string take_store(gimple *stmt, edge below, class loop *outermost, std::vector<mem_access> *out)
{
    std::string where = " at line " + line_of(gimple_location(stmt));
    if (!gimple_assign_single_p(stmt) || gimple_clobber_p(stmt))
        return describe(stmt) + where + " may write to the buffer";
    if (gimple_has_volatile_ops(stmt))
        return "the store" + where + " is volatile";
    tree ref = gimple_assign_lhs(stmt), size = TYPE_SIZE_UNIT(TREE_TYPE(ref));
    if (!size || !tree_fits_shwi_p(size) ||
        (TREE_CODE(ref) == COMPONENT_REF && DECL_BIT_FIELD(TREE_OPERAND(ref, 1))) ||
        TREE_CODE(ref) == BIT_FIELD_REF)
        return "the store" + where + " is not of whole bytes";
    mem_access a = {stmt,
                    address_before(stmt, ref),
                    tree_to_shwi(size),
                    true,
                    gimple_bb(stmt)->loop_father,
                    NULL_TREE,
                    NULL_TREE,
                    {},
                    {}};
    const char *why = analyze(&a, below, outermost);
    if (why)
        return "of the store" + where + ", which may reach the buffer, " + why;
    out->push_back(a);
    return "";
}

/* Stores of the nest (or, behind it, of the rest of the region) that may reach the message. */
static std::string collect(const region &r, ao_ref *memory, basic_block bb, edge below, class loop *outermost,
                           std::vector<mem_access> *out)
{
    std::string reason;
    visit_block(r, bb, [&](gimple *stmt) {
        if (!reason.empty())
            return;
        if (stmt_can_throw_external(cfun, stmt))
            reason =
                describe(stmt) + " at line " + line_of(gimple_location(stmt)) + " may leave the function";
        else if (may_write(stmt, memory))
            reason = take_store(stmt, below, outermost, out);
    });
    return reason;
}

/* Blocks of the region behind the nest. */
static std::set<int> blocks_behind(const region &r, class loop *loop)
{
    std::set<int> behind;
    std::vector<basic_block> todo;
    auto_vec<edge> exits = get_loop_exit_edges(loop);
    for (edge e : exits)
        todo.push_back(e->dest);
    while (!todo.empty()) {
        basic_block bb = todo.back();
        todo.pop_back();
        if (!r.blocks.count(bb->index) || !behind.insert(bb->index).second)
            continue;
        bool ended = false;
        for (gcall *end : r.ends)
            ended = ended || gimple_bb(end) == bb;
        edge e;
        edge_iterator i;
        if (!ended)
            FOR_EACH_EDGE(e, i, bb->succs)
        todo.push_back(e->dest);
    }
    return behind;
}

static HOST_WIDE_INT constant_or(tree value, HOST_WIDE_INT otherwise)
{
    if (!value)
        return otherwise;
    value = fold_convert(ssizetype, value);
    return tree_fits_shwi_p(value) ? tree_to_shwi(value) : otherwise;
}

/* Where the access goes can be bounded before the nest. */
static bool bounded(const mem_access &a)
{
    for (const level &l : a.levels)
        if (l.step && !l.niter)
            return false;
    return true;
}

/* Do both certainly hit the same bytes? */
static bool collide(const mem_access &a, const mem_access &b)
{
    HOST_WIDE_INT d;
    return base_difference(a, b, &d) && d > -a.bytes && d < b.bytes;
}

static bool together(const group &g, const mem_access &a)
{
    const mem_access &b = g.stores[0];
    HOST_WIDE_INT d;
    if (a.levels[0].loop != b.levels[0].loop || !operand_equal_p(a.levels[0].step, b.levels[0].step, 0) ||
        a.root != b.root)
        return false;
    HOST_WIDE_INT step = constant_or(a.levels[0].step, 0);
    if (base_difference(a, b, &d))
        return absu_hwi(d) < MAX((unsigned HOST_WIDE_INT)LONG_ROW_BYTES, absu_hwi(step));
    return step == 0;
}

/* Why the store cannot be announced, or null. */
static const char *unfit(const mem_access &a)
{
    int direction = 0;
    for (const level &l : a.levels) {
        if (!l.step) {
            if (direction == 0)
                return "each iteration of the outermost loop stores to the same place again";
            continue;
        }
        int sign = sign_of(l.step);
        HOST_WIDE_INT step = constant_or(l.step, 0);
        if (direction == 0)
            direction = sign < 0 ? -1 : 1;
        if (absu_hwi(step) > MAX_STEP)
            return "its steps are too long";
        if (sign == 0 ? direction < 0 : sign != direction && !l.niter)
            return "its directions cannot be told";
    }
    const level &outer = a.levels[0];
    HOST_WIDE_INT count = constant_or(outer.niter, -1), step = constant_or(outer.step, 0);
    for (size_t i = 1; i < a.levels.size(); i++)
        if (step != 0 && absu_hwi(constant_or(a.levels[i].step, 0)) > absu_hwi(step))
            return "it stores across the buffer: nothing is complete before the last iterations";
    if (count >= 0 && count < (HOST_WIDE_INT)MAX_COUNT && step != 0 &&
        (count + 1) * (HOST_WIDE_INT)absu_hwi(step) < (HOST_WIDE_INT)options.strip_bytes)
        return "it stores less than a strip";
    return NULL;
}

/* Deals the nest's stores: which are announced, which must go elsewhere. */
static std::string deal(nest *n, const std::vector<mem_access> &stores, tree root, bool foreign)
{
    for (const mem_access &a : stores) {
        if (!foreign && a.root != root) {
            n->others.push_back(a);
            continue;
        }
        const char *why = unfit(a);
        if (why)
            return "the store at line " + line_of(gimple_location(a.stmt)) + ": " + why;
        bool placed = false;
        for (group &g : n->announced)
            if (!placed && together(g, a)) {
                g.stores.push_back(a);
                placed = true;
            }
        if (!placed)
            n->announced.push_back(group{sign_of(a.levels[0].step) < 0 ? -1 : 1, {a}, NULL_TREE, NULL_TREE});
    }
    return n->announced.empty() ? "none" : "";
}

/* Whatever is not one group must be told apart at run time, by where it begins and ends. */
static std::string apart(const nest &n, size_t behind)
{
    std::vector<const mem_access *> all;
    for (const group &g : n.announced)
        for (const mem_access &a : g.stores)
            all.push_back(&a);
    if (n.announced.size() < 2 && n.others.empty())
        return "";
    for (const mem_access &a : n.others)
        all.push_back(&a);
    if (all.size() > STORES_MAX)
        return "too many stores may reach the buffer";
    for (const mem_access *a : all)
        if (!bounded(*a))
            return "where the store at line " + line_of(gimple_location(a->stmt)) +
                   " ends is not known before the loop";
    for (const group &g : n.announced)
        for (const mem_access &a : g.stores)
            for (size_t i = 0; i < n.others.size(); i++)
                if (collide(a, n.others[i]))
                    return (i < behind ? "the loop stores twice to the same place, at line "
                                       : "it is stored to again at line ") +
                           line_of(gimple_location(n.others[i].stmt));
    for (const group &g : n.announced)
        for (const group &h : n.announced)
            for (const mem_access &a : g.stores)
                for (const mem_access &b : h.stores)
                    if (&g != &h && collide(a, b))
                        return "the loop stores twice to the same place, at line " +
                               line_of(gimple_location(b.stmt));
    return "";
}

static std::string judge_nest(const region &r, ao_ref *memory, class loop *loop, tree root, bool foreign,
                              nest *n)
{
    std::vector<mem_access> stores;
    edge below = loop_preheader_edge(loop);
    n->loop = loop;
    for (gcall *end : r.ends)
        if (flow_bb_inside_loop_p(loop, gimple_bb(end)))
            return "the send's end is inside the loop";
    basic_block *body = get_loop_body(loop);
    std::string reason;
    for (unsigned i = 0; i < loop->num_nodes && reason.empty(); i++)
        reason = collect(r, memory, body[i], below, loop, &stores);
    free(body);
    if (!reason.empty())
        return reason;
    reason = stores.empty() ? "none" : deal(n, stores, root, foreign);
    if (!reason.empty())
        return reason;
    size_t behind = n->others.size();
    for (int index : blocks_behind(r, loop)) {
        basic_block bb = BASIC_BLOCK_FOR_FN(cfun, index);
        reason = collect(r, memory, bb, below, nest_around(bb, gimple_bb(r.begin)), &n->others);
        if (!reason.empty())
            return "behind the loop, " + reason;
    }
    return apart(*n, behind);
}

static void judge_nests(const region &r, ao_ref *memory, send *s)
{
    location_t where = gimple_location(r.begin);
    tree root = root_of(gimple_call_arg(r.begin, 0));
    std::vector<class loop *> loops;
    for (int index : r.blocks) {
        class loop *loop = nest_around(BASIC_BLOCK_FOR_FN(cfun, index), gimple_bb(r.begin));
        bool known = !loop;
        for (class loop *l : loops)
            known = known || l == loop;
        if (!known)
            loops.push_back(loop);
    }
    bool said = false;
    /* Stores that begin at the send's own pointer; if there is none, those that may be the same. */
    for (int foreign = 0; foreign < 2 && s->nests.empty() && !said; foreign++)
        for (class loop *loop : loops) {
            nest n;
            std::string reason = judge_nest(r, memory, loop, root, foreign, &n);
            if (reason.empty()) {
                s->nests.push_back(n);
                report(where, "pipelined",
                       "send, in the loop at line " +
                           line_of(gimple_location(n.announced[0].stores[0].stmt)));
            } else if (reason != "none") {
                said = true;
                refuse(where, reason);
            }
        }
    if (s->nests.empty() && !said)
        refuse(where, "no loop between begin and end stores into the buffer");
}

unsigned element_bytes(gcall *call, const char **reason)
{
    tree type = constant_type(call);
    if (!type) {
        *reason = "the datatype is not a constant of mpi.h";
        return 0;
    }
    unsigned bytes = delta_type_bytes(TREE_INT_CST_LOW(type));
    if (bytes == 0)
        *reason = "the datatype is not a predefined one without gaps";
    return bytes;
}

std::vector<send *> judge_sends(const std::vector<gcall *> &begins)
{
    std::vector<send *> sends;
    for (gcall *begin : begins) {
        const char *why = NULL;
        region r = {begin, {}, {}, ""};
        unsigned bytes = element_bytes(begin, &why);
        if (why)
            r.reason = why;
        else if (cfun->calls_setjmp || cfun->has_nonlocal_label)
            r.reason = "jumps of the function are not followed";
        else if (stmt_can_throw_internal(cfun, begin))
            r.reason = "the begin may throw";
        if (r.reason.empty())
            walk_region(&r);
        if (r.reason.empty())
            follow_request(&r);
        if (!r.reason.empty()) {
            refuse(gimple_location(begin), r.reason);
            continue;
        }
        ao_ref memory;
        message_memory(&memory, gimple_call_arg(begin, 0));
        send *s = new send;
        s->m = message{begin, NULL_TREE, NULL_TREE, bytes};
        s->ends = r.ends;
        judge_nests(r, &memory, s);
        if (s->nests.empty())
            delete s;
        else
            sends.push_back(s);
    }
    return sends;
}

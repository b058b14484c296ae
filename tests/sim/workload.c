/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the model program does: messages and receives at random times (phase one), then receive what
 * is left (drain), then look into every corner once more (sweep). */
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define TICK_FIRST_NS 20000u
#define TICK_MAX_NS 10000000u
#define DRAIN_RECEIVES 3u /* outstanding per context */

static const uint64_t classes[][2] = {{0, 0},        {1, 32},        {33, 1024},
                                      {1025, 16384}, {16385, 65536}, {65537, NOF_MESSAGE_MAX_BYTES}};
static const unsigned class_percent[] = {8, 24, 34, 24, 8, 2};

struct nof_job *nof_world_job(struct nof_world *w)
{
    struct nof_job *job = calloc(1, sizeof(*job));
    if (job == NULL)
        abort();
    job->id = nof_rng_next(&w->rng) | 1;
    for (unsigned i = 0; i < sizeof(job->key); i++)
        job->key[i] = (uint8_t)nof_rng_next(&w->rng);
    w->job[w->njobs++] = job;
    return job;
}

struct nof_message *nof_world_message(struct nof_world *w, struct nof_rank *src, struct nof_rank *dst)
{
    if (w->nmessages == w->message_room) {
        w->message_room = w->message_room != 0 ? 2 * w->message_room : 512;
        w->message = realloc(w->message, w->message_room * sizeof(struct nof_message *));
        if (w->message == NULL)
            abort();
    }
    struct nof_message *m = calloc(1, sizeof(*m));
    if (m == NULL)
        abort();
    unsigned c = 0;
    unsigned dice = (unsigned)nof_rng_below(&w->rng, 100);
    while (dice >= class_percent[c])
        dice -= class_percent[c++];
    m->len = nof_rng_between(&w->rng, classes[c][0], classes[c][1]);
    m->src = src;
    m->dst = dst;
    m->ctx = 1 + (uint32_t)nof_rng_below(&w->rng, NOF_WORLD_CTXS);
    m->tag = (int32_t)nof_rng_below(&w->rng, NOF_WORLD_TAGS);
    m->sync = nof_rng_chance(&w->rng, 10);
    w->message[w->nmessages++] = m;
    m->id = w->nmessages;
    return m;
}

static void do_cancel(struct nof_cluster *c, void *user, uint64_t arg)
{
    (void)c;
    (void)arg;
    nof_rank_cancel(user);
}

static void do_send(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_message *m = user;
    (void)arg;
    struct nof_job *job = m->src->job;
    for (uint32_t i = 0; i < job->size && !m->src->alive; i++) /* somebody else has something to say */
        m->src = job->rank[((uint32_t)m->src->number + 1) % job->size];
    struct nof_op *op = nof_rank_send(m->src, m);
    if (op != NULL && nof_rng_chance(&m->src->rng, m->src->world->cancel_percent))
        nof_cluster_at(c, nof_cluster_now(c) + nof_rng_below(&m->src->rng, 300000), do_cancel, op, 0);
    if (nof_rng_chance(&m->src->rng, 3))
        (void)nof_rank_flush(m->src);
}

static uint64_t pick_capacity(struct nof_rng *rng, uint64_t len)
{
    unsigned dice = (unsigned)nof_rng_below(rng, 100);
    if (dice < 50)
        return len;
    if (dice < 60)
        return nof_rng_below(rng, len + 1); /* truncates */
    return len + nof_rng_below(rng, 5000);
}

/* A receive made for message m; what it really gets is up to MPI's rules. */
static void do_receive(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_message *m = user;
    struct nof_rank *r = m->dst;
    struct nof_rng *rng = &r->rng;
    (void)arg;
    int32_t peer = nof_rng_chance(rng, r->world->locals ? 60 : 30) ? NOF_ANY_SOURCE : m->src->number;
    int32_t tag = nof_rng_chance(rng, 25) ? NOF_ANY_TAG : m->tag;
    uint64_t capacity = pick_capacity(rng, m->len);
    unsigned dice = (unsigned)nof_rng_below(rng, 100);
    if (dice < 8) {
        (void)nof_rank_probe(r, NOF_DESC_MPROBE, true, m->ctx, peer, tag);
    } else if (dice < 13) {
        (void)nof_rank_probe(r, NOF_DESC_MPROBE, false, m->ctx, peer, tag);
    } else if (dice < 19) {
        (void)nof_rank_probe(r, NOF_DESC_PROBE, true, m->ctx, peer, tag);
    } else if (dice < 22) {
        (void)nof_rank_probe(r, NOF_DESC_PROBE, false, m->ctx, peer, tag);
    } else {
        struct nof_op *op = nof_rank_recv(r, m->ctx, peer, tag, capacity);
        if (op != NULL && dice < 32)
            nof_cluster_at(c, nof_cluster_now(c) + nof_rng_below(rng, 200000), do_cancel, op, 0);
    }
}

static void do_introduce(struct nof_cluster *c, void *user, uint64_t arg)
{
    (void)c;
    struct nof_rank *r = user;
    for (uint32_t i = 0; i < r->job->size; i++) {
        if ((arg & 1) != 0 && r->job->rank[i] != NULL)
            nof_rank_introduce(r, (int32_t)i);
    }
    if ((arg & 2) != 0 && r->alive)
        nof_rank_layouts(r);
}

static void do_named_receive(struct nof_cluster *c, void *user, uint64_t arg)
{
    const struct nof_message *m = user;
    (void)c;
    (void)arg;
    (void)nof_rank_recv(m->dst, m->ctx, m->src->number, m->tag, pick_capacity(&m->dst->rng, m->len));
}

/* One rank receives the same messages of another over and over, mostly late: a predictor learns that, and
 * is wrong wherever the pattern is left. */
static void plan_cycle(struct nof_world *w, unsigned n)
{
    enum { PERIOD_MAX = 10 };
    struct nof_cluster *c = w->cluster;
    struct nof_rng *rng = &w->rng;
    struct nof_rank *a = w->rank[nof_rng_below(rng, w->nranks)];
    struct nof_rank *b = a->job->rank[nof_rng_below(rng, a->job->size)];
    if (b->cyclic)
        return;
    b->cyclic = true;
    uint64_t from_ns = nof_cluster_now(c);
    uint64_t step_ns = (w->traffic_until_ns - from_ns) / (n + 1);
    uint64_t late_ns = nof_rng_below(rng, 12 * step_ns + 1);
    unsigned period = (unsigned)nof_rng_between(rng, 3, PERIOD_MAX);
    unsigned astray = nof_rng_chance(rng, 50) ? 0 : (unsigned)nof_rng_below(rng, 30);
    const struct nof_message *first[PERIOD_MAX];
    for (unsigned i = 0; i < n; i++) {
        struct nof_message *m = nof_world_message(w, a, b);
        uint64_t at_ns = from_ns + i * step_ns;
        if (i < period) {
            first[i] = m;
            m->len = nof_rng_chance(rng, 70) ? nof_rng_between(rng, 33, 70000) : m->len;
        } else {
            m->ctx = first[i % period]->ctx;
            m->tag = first[i % period]->tag;
            m->len = first[i % period]->len;
        }
        uint64_t recv_ns = at_ns + late_ns < w->traffic_until_ns ? at_ns + late_ns : w->traffic_until_ns;
        nof_cluster_at(c, at_ns, do_send, m, 0);
        if (!nof_rng_chance(rng, astray))
            nof_cluster_at(c, recv_ns, do_named_receive, m, 0);
        else if (nof_rng_chance(rng, 60))
            nof_cluster_at(c, recv_ns, do_receive, m, 0);
    }
}

void nof_workload_plan(struct nof_world *w, unsigned nmessages)
{
    struct nof_cluster *c = w->cluster;
    uint64_t from_ns = nof_cluster_now(c);
    uint64_t span_ns = w->traffic_until_ns - from_ns;
    bool all_at_once = nof_rng_chance(&w->rng, 50);
    w->cancel_percent = nof_rng_chance(&w->rng, 50) ? (unsigned)nof_rng_between(&w->rng, 2, 25) : 0;
    for (unsigned i = 0; i < w->nranks; i++) {
        uint64_t arg = (all_at_once ? 1u : 0u) | (nof_rng_chance(&w->rng, 30) ? 2u : 0u);
        nof_cluster_at(c, from_ns, do_introduce, w->rank[i], arg);
    }
    for (unsigned i = 0; i < w->cycles; i++)
        plan_cycle(w, (unsigned)nof_rng_between(&w->rng, 60, 160));
    /* A few pairs talk much, the others little: queues get long and orders matter. */
    unsigned crowd = (unsigned)nof_rng_between(&w->rng, 1, 40);
    struct nof_rank *a = NULL, *b = NULL;
    for (unsigned i = 0; i < nmessages; i++) {
        if (a == NULL || !nof_rng_chance(&w->rng, crowd)) {
            a = w->rank[nof_rng_below(&w->rng, w->nranks)];
            b = a->job->rank[nof_rng_below(&w->rng, a->job->size)];
        }
        if (b->cyclic)
            continue;
        struct nof_message *m = nof_world_message(w, a, b);
        uint64_t at_ns = from_ns + nof_rng_below(&w->rng, span_ns);
        nof_cluster_at(c, at_ns, do_send, m, 0);
        if (nof_rng_chance(&w->rng, 12)) /* left for the drain: unexpected */
            continue;
        uint64_t shift_ns = nof_rng_below(&w->rng, span_ns / 4 + 1);
        uint64_t recv_ns = nof_rng_chance(&w->rng, 50) ? at_ns + shift_ns
                                                       : at_ns - (shift_ns < at_ns - from_ns ? shift_ns : 0);
        nof_cluster_at(c, recv_ns < w->traffic_until_ns ? recv_ns : w->traffic_until_ns, do_receive, m, 0);
    }
}

/* May a receive posted now find another message than the one that probe saw? Only if a receive
 * between the two could take it. */
static bool probe_is_fresh(const struct nof_op *probe)
{
    const struct nof_rank *r = probe->rank;
    for (unsigned i = probe->index + 1; i < r->nops; i++) {
        const struct nof_op *op = r->op[i];
        if ((op->opcode == NOF_DESC_RECV || op->opcode == NOF_DESC_MPROBE) &&
            nof_pattern_accepts(op->ctx, op->peer, op->tag, probe->ctx, probe->got_peer, probe->got_tag))
            return false;
    }
    return true;
}

static void do_mrecv(struct nof_cluster *c, void *user, uint64_t arg)
{
    (void)c;
    (void)nof_rank_mrecv(user, arg);
}

static void probe_done(struct nof_op *op)
{
    struct nof_rank *r = op->rank;
    struct nof_rng *rng = &r->rng;
    struct nof_cluster *c = r->world->cluster;
    if (op->opcode == NOF_DESC_MPROBE) {
        uint64_t capacity = op->drain ? op->got_len : pick_capacity(rng, op->got_len);
        nof_cluster_at(c, nof_cluster_now(c) + nof_rng_below(rng, 100000), do_mrecv, op, capacity);
        return;
    }
    if (r->world->phase != NOF_PHASE_TRAFFIC)
        return;
    bool fresh = probe_is_fresh(op);
    struct nof_op *recv = nof_rank_recv(r, op->ctx, op->got_peer, op->got_tag, op->got_len);
    if (fresh && recv != NULL && r->world->cancel_percent == 0) /* else it may have been taken back since */
        recv->expect_len = op->got_len;
}

static void drain_rank(struct nof_rank *r)
{
    for (uint32_t ctx = 1; ctx <= NOF_WORLD_CTXS; ctx++) {
        for (unsigned i = 0; i < DRAIN_RECEIVES; i++)
            (void)nof_rank_recv(r, ctx, NOF_ANY_SOURCE, NOF_ANY_TAG, NOF_MESSAGE_MAX_BYTES);
    }
}

static void sweep_next(struct nof_rank *r)
{
    if (r->sweep_ctx > NOF_WORLD_CTXS)
        r->sweep_done = true;
    else
        (void)nof_rank_probe(r, NOF_DESC_MPROBE, false, r->sweep_ctx, NOF_ANY_SOURCE, NOF_ANY_TAG);
}

static void sweep_op(struct nof_op *op)
{
    struct nof_rank *r = op->rank;
    if (op->opcode == NOF_DESC_MPROBE && !op->wait && !op->found && op->drain && !r->sweep_done) {
        r->sweep_ctx++;
        sweep_next(r);
    } else if (op->opcode == NOF_DESC_MRECV && r->sweep_ctx > 0) {
        sweep_next(r);
    }
}

void nof_workload_done(struct nof_op *op)
{
    struct nof_rank *r = op->rank;
    if (!r->alive)
        return;
    if ((op->opcode == NOF_DESC_PROBE || op->opcode == NOF_DESC_MPROBE) && op->found)
        probe_done(op);
    if (r->world->phase == NOF_PHASE_SWEEP) {
        sweep_op(op);
        return;
    }
    /* A drain receive that was used is replaced by one like it. */
    if (r->world->phase == NOF_PHASE_DRAIN && op->drain && op->opcode == NOF_DESC_RECV && !op->internal &&
        !op->cancelled)
        (void)nof_rank_recv(r, op->ctx, NOF_ANY_SOURCE, NOF_ANY_TAG, NOF_MESSAGE_MAX_BYTES);
}

static void cancel_all(struct nof_rank *r, bool drain_too)
{
    unsigned n = r->nops;
    for (unsigned i = 0; i < n; i++) {
        struct nof_op *op = r->op[i];
        if (op->state != NOF_OP_DONE && nof_op_is_match(op) && (drain_too || !op->drain))
            nof_rank_cancel(op);
    }
}

/* Every send has ended, and what was sent between ranks that nothing parted has come. */
static bool all_delivered(const struct nof_world *w)
{
    for (unsigned i = 0; i < w->nranks; i++) {
        const struct nof_rank *r = w->rank[i];
        if (!r->alive)
            continue;
        if (r->open_sends > 0)
            return false;
        for (uint32_t k = 0; k < r->job->size; k++) {
            const struct nof_rank *peer = r->job->rank[k];
            if (w->suspect[r->uid][peer->uid] || w->faulty_percent > 0)
                continue;
            if (peer->got[r->number] != r->sent[k] - r->taken_back[k])
                return false;
        }
    }
    return true;
}

static bool matches_open(const struct nof_world *w)
{
    for (unsigned i = 0; i < w->nranks; i++) {
        if (w->rank[i]->alive && w->rank[i]->open_matches > 0)
            return true;
    }
    return false;
}

static bool rank_finished(const struct nof_rank *r)
{
    return !r->alive ||
           (r->sweep_done && nof_lane_settled(r) && r->open_ops == 0 && r->open_cancels == 0 &&
            !r->spilling && !r->end_out && r->nslots == 0 && r->queue.count == 0 && r->ring_count == 0);
}

static bool all_finished(struct nof_world *w)
{
    if (w->phase != NOF_PHASE_SWEEP || matches_open(w))
        return false;
    for (unsigned i = 0; i < w->nranks; i++) {
        if (!rank_finished(w->rank[i]))
            return false;
    }
    return nof_cluster_quiet(w->cluster);
}

static void sweep_again(struct nof_rank *r)
{
    r->sweep_done = false;
    r->sweep_ctx = 1;
    sweep_next(r);
}

static void tick_sweep(struct nof_world *w)
{
    for (unsigned i = 0; i < w->nranks; i++) {
        struct nof_rank *r = w->rank[i];
        if (!r->alive)
            continue;
        if (r->sweep_ctx == 0) {
            cancel_all(r, true);
            if (r->open_matches == 0) {
                r->sweep_ctx = 1;
                sweep_next(r);
            }
        }
        if (r->sweep_done && r->spilled != NULL) /* it came late, from a rank that we were parted from */
            sweep_again(r);
        nof_rank_slots_release(r, true);
        nof_heap_settle(r);
    }
    if (!w->last_sweep && all_finished(w)) {
        w->last_sweep = true;
        for (unsigned i = 0; i < w->nranks; i++) {
            if (w->rank[i]->alive)
                sweep_again(w->rank[i]);
        }
    }
}

static void tick(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_world *w = user;
    (void)arg;
    if (w->phase == NOF_PHASE_DRAIN) {
        bool posted = w->tick_ns > TICK_FIRST_NS;
        for (unsigned i = 0; i < w->nranks; i++) {
            struct nof_rank *r = w->rank[i];
            if (!r->alive)
                continue;
            cancel_all(r, false);
            if (!posted)
                drain_rank(r);
        }
        if (all_delivered(w)) {
            w->phase = NOF_PHASE_SWEEP;
            w->tick_ns = TICK_FIRST_NS;
            nof_cluster_trace(c, "sweep begins");
        }
    }
    if (w->phase == NOF_PHASE_SWEEP)
        tick_sweep(w);
    w->tick_ns = w->tick_ns * 5 / 4 < TICK_MAX_NS ? w->tick_ns * 5 / 4 : TICK_MAX_NS;
    nof_cluster_at(c, nof_cluster_now(c) + w->tick_ns, tick, w, 0);
}

void nof_workload_drain(struct nof_world *w)
{
    w->phase = NOF_PHASE_DRAIN;
    w->tick_ns = TICK_FIRST_NS;
    nof_cluster_trace(w->cluster, "drain begins");
    nof_cluster_at(w->cluster, nof_cluster_now(w->cluster), tick, w, 0);
}

bool nof_workload_finished(void *world)
{
    struct nof_world *w = world;
    return w->last_sweep && all_finished(w);
}

static int describe_op(const struct nof_op *op, char *text, size_t bytes)
{
    static const char *const state[] = {"with the NIC", "in the library", "parked", "held", "done"};
    return snprintf(text, bytes, "; %s operation %u opcode %u ctx %u peer %d tag %d len %llu is %s%s",
                    op->rank->name, op->index, op->opcode, op->ctx, op->peer, op->tag,
                    (unsigned long long)op->desc.len, state[op->state], op->pulling ? " (pulling)" : "");
}

void nof_workload_stuck(struct nof_world *w, char *text, size_t bytes)
{
    static const char *const phase[] = {"traffic", "drain", "sweep", "end"};
    int n = snprintf(text, bytes, "stuck in phase %s", phase[w->phase]);
    for (unsigned i = 0; i < w->nranks; i++) {
        const struct nof_rank *r = w->rank[i];
        if (!r->alive || (w->phase == NOF_PHASE_SWEEP && rank_finished(r)))
            continue;
        for (unsigned k = 0; k < r->nops && (size_t)n < bytes; k++) {
            const struct nof_op *op = r->op[k];
            if (op->state != NOF_OP_DONE && (w->phase != NOF_PHASE_DRAIN || !op->drain))
                n += describe_op(op, text + n, bytes - (size_t)n);
        }
        for (uint32_t k = 0; k < r->job->size && (size_t)n < bytes; k++) {
            const struct nof_rank *peer = r->job->rank[k];
            if (!w->suspect[r->uid][peer->uid] && peer->got[r->number] != r->sent[k] - r->taken_back[k])
                n += snprintf(text + n, bytes - (size_t)n, "; %s got %u of %u from %s", peer->name,
                              peer->got[r->number], r->sent[k] - r->taken_back[k], r->name);
        }
        if ((size_t)n < bytes && r->open_cancels > 0)
            n += snprintf(text + n, bytes - (size_t)n, "; %s has %u cancels of sends unanswered", r->name,
                          r->open_cancels);
        if ((size_t)n < bytes && (r->spilling || r->nslots > 0 || r->ring_count > 0))
            n += snprintf(text + n, bytes - (size_t)n, "; %s spilling %d end out %d slots %u ring %u",
                          r->name, r->spilling, r->end_out, r->nslots, r->ring_count);
    }
    for (unsigned i = 0; i < nof_cluster_nnics(w->cluster) && (size_t)n < bytes; i++) {
        if (!nof_nic_quiet(nof_cluster_nic(w->cluster, i)))
            n += snprintf(text + n, bytes - (size_t)n, "; NIC %u is not quiet", i);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank: its endpoint, its two rings, and what it makes of each completion. */
#include <stdlib.h>
#include <string.h>

#include "trace.h"
#include "world.h"

#define STAGING_BYTES 65536u
#define PROGRAM_AREA_BYTES 4096u
#define PULL_RETRY_NS 50000u

void nof_rank_submit(struct nof_rank *r, const struct nof_desc *d)
{
    struct nof_desc_queue *q = &r->queue;
    if (q->count == q->room) {
        unsigned room = q->room != 0 ? 2 * q->room : 64;
        struct nof_desc *desc = malloc(room * sizeof(*desc));
        if (desc == NULL)
            abort();
        for (unsigned i = 0; i < q->count; i++)
            desc[i] = q->desc[(q->head + i) & (q->room - 1)];
        free(q->desc);
        *q = (struct nof_desc_queue){.desc = desc, .count = q->count, .room = room};
    }
    q->desc[(q->head + q->count++) & (q->room - 1)] = *d;
    nof_cluster_kick(r->world->cluster, r->nic);
}

static unsigned host_fetch(void *host, struct nof_desc *descs, unsigned max)
{
    struct nof_rank *r = host;
    struct nof_desc_queue *q = &r->queue;
    unsigned n = q->count < max ? q->count : max;
    for (unsigned i = 0; i < n; i++) {
        descs[i] = q->desc[q->head++ & (q->room - 1)];
        nof_trace_desc(r->world->cluster, r->name, &descs[i]);
    }
    q->count -= n;
    return n;
}

static bool suspects(const struct nof_rank *r, int32_t peer)
{
    if (peer < 0 || (uint32_t)peer >= r->job->size)
        return false;
    return r->world->suspect[r->uid][r->job->rank[peer]->uid];
}

/* May an operation with this peer end like that? */
static bool status_justified(const struct nof_op *op, int status, int32_t peer)
{
    if (status == NOF_OK)
        return true;
    if (status == NOF_EFAULT)
        return op->rank->world->faulty_percent > 0;
    return (status == NOF_EPEERDEAD || status == NOF_ELINKDOWN) && suspects(op->rank, peer);
}

static void unjustified(struct nof_op *op, const struct nof_comp *c)
{
    nof_cluster_fail(op->rank->world->cluster,
                     "%s: operation %u (opcode %u, peer %d) ends with \"%s\" from %d for no reason",
                     op->rank->name, op->index, op->opcode, op->peer, nof_strstatus(c->status), c->peer);
}

/* Payload of a finished receive, wherever the NIC put it. */
static void receive_done(struct nof_op *op, const struct nof_comp *c)
{
    struct nof_rank *r = op->rank;
    uint64_t stored = c->len < op->capacity ? c->len : op->capacity;
    if (c->status != (c->len > op->capacity ? NOF_ETRUNC : NOF_OK)) {
        nof_cluster_fail(r->world->cluster, "%s: receive %u of %llu bytes got %llu bytes and says \"%s\"",
                         r->name, op->index, (unsigned long long)op->capacity, (unsigned long long)c->len,
                         nof_strstatus(c->status));
        return;
    }
    if (c->flags & NOF_COMP_F_STAGED) {
        const uint8_t *bytes = nof_rank_slot_take(r, c->staged_offset, c->staged_len);
        if (bytes == NULL)
            return;
        if (c->staged_len != stored)
            nof_cluster_fail(r->world->cluster, "%s: receive %u has %u bytes staged instead of %llu", r->name,
                             op->index, c->staged_len, (unsigned long long)stored);
        nof_buffer_store(&op->buf, bytes, stored);
    } else if (c->flags & NOF_COMP_F_INLINE) {
        if (stored > NOF_INLINE_BYTES)
            nof_cluster_fail(r->world->cluster, "%s: receive %u has %llu bytes in its completion", r->name,
                             op->index, (unsigned long long)stored);
        else
            nof_buffer_store(&op->buf, c->inline_data, stored);
    }
    nof_op_received(op, c->status, c->peer, c->tag, c->len);
}

static void pull_again(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_op *op = user;
    (void)c;
    (void)arg;
    if (op->rank->alive && op->state != NOF_OP_DONE)
        nof_op_start(op);
}

static void on_recv(struct nof_op *op, const struct nof_comp *c)
{
    nof_delta_recv_done(op, c);
    if (c->status == NOF_EAGAIN && op->pulling) {
        struct nof_cluster *cluster = op->rank->world->cluster;
        nof_cluster_at(cluster, nof_cluster_now(cluster) + PULL_RETRY_NS, pull_again, op, 0);
        return;
    }
    if (c->status == NOF_ENOMATCH && op->opcode == NOF_DESC_RECV && !op->pulling) {
        op->rank->spilling = true;
        op->rank->nomatches_seen++;
        nof_heap_post(op);
        return;
    }
    if (op->internal) {
        if (c->status != NOF_OK && !status_justified(op, c->status, c->peer))
            unjustified(op, c);
        nof_op_finish(op, c->status);
        return;
    }
    if (c->status == NOF_OK || c->status == NOF_ETRUNC) {
        receive_done(op, c);
        return;
    }
    if (!status_justified(op, c->status, c->peer)) {
        unjustified(op, c);
        return;
    }
    if (c->status == NOF_EFAULT || op->pulling || op->opcode == NOF_DESC_MRECV) {
        /* It had matched: the message is used up. */
        op->found = true;
        op->got_peer = op->pulling ? op->got_peer : c->peer;
        op->got_tag = op->pulling ? op->got_tag : c->tag;
        op->got_len = c->len;
        op->word_bytes = 0;
    }
    nof_op_finish(op, c->status);
}

static void in_vain(const struct nof_op *op)
{
    struct nof_rank *r = op->rank;
    r->vain[r->nvain++ % NOF_RANK_VAIN] =
        (struct nof_vain_probe){.ctx = op->ctx, .peer = op->peer, .tag = op->tag, .asked_at = op->asked_at};
}

/* The NIC has found this message: none that was asked for in vain, if nothing has been counted since (docs/HOST_ABI.md). */
static void check_vain(const struct nof_rank *r, const struct nof_comp *c)
{
    for (unsigned i = 0; i < NOF_RANK_VAIN && i < r->nvain; i++) {
        const struct nof_vain_probe *v = &r->vain[i];
        if (v->asked_at == r->counters[NOF_C_UNEXPECTED] &&
            nof_pattern_accepts(v->ctx, v->peer, v->tag, c->ctx, c->peer, c->tag))
            nof_cluster_fail(
                r->world->cluster,
                "%s: a probe finds what another asked for in vain, and match.unexpected is the same",
                r->name);
    }
}

static void on_probe(struct nof_op *op, const struct nof_comp *c)
{
    if (c->status == NOF_OK)
        check_vain(op->rank, c);
    if (c->status == NOF_ENOMATCH && !op->wait)
        in_vain(op);
    if (c->status == NOF_ENOMATCH) {
        op->rank->spilling = op->rank->spilling || op->wait;
        op->rank->nomatches_seen += op->wait;
        nof_heap_post(op);
        return;
    }
    if (!status_justified(op, c->status, c->peer)) {
        unjustified(op, c);
        return;
    }
    if (c->status == NOF_OK) {
        op->found = true;
        op->got_peer = c->peer;
        op->got_tag = c->tag;
        op->got_len = c->len;
        op->handle = c->handle;
    }
    nof_op_finish(op, c->status);
}

static void on_send(struct nof_op *op, const struct nof_comp *c)
{
    if (!status_justified(op, c->status, op->peer)) {
        unjustified(op, c);
        return;
    }
    nof_op_finish(op, c->status);
}

static void on_grant(struct nof_op *op, const struct nof_comp *c)
{
    if (op->opcode != NOF_DESC_SEND || (op->state != NOF_OP_PARKED && op->state != NOF_OP_DONE)) {
        nof_cluster_fail(op->rank->world->cluster, "%s: GRANT for operation %u, which is not parked",
                         op->rank->name, op->index);
        return;
    }
    if (op->state == NOF_OP_DONE) /* given up since the peer died */
        return;
    if (op->delta != 0)
        nof_delta_granted(op, c->handle, c->granted_len);
    else
        nof_op_granted(op, c->handle, c->granted_len);
}

static void on_cancel(struct nof_op *op, const struct nof_comp *c)
{
    if (!op->cancel_out) {
        nof_cluster_fail(op->rank->world->cluster, "%s: CANCEL answered twice for operation %u",
                         op->rank->name, op->index);
        return;
    }
    op->cancel_out = false;
    if (c->status == NOF_OK) {
        if (op->state != NOF_OP_NIC) {
            nof_cluster_fail(op->rank->world->cluster,
                             "%s: operation %u is cancelled, but the NIC no longer had it", op->rank->name,
                             op->index);
            return;
        }
        op->cancelled = true;
        nof_op_finish(op, NOF_ECANCELED);
    } else if (c->status == NOF_ENOMATCH) {
        (void)nof_heap_cancel(op);
    } else {
        unjustified(op, c);
    }
}

/* NOF_OK: nothing will be heard of the send again, and its buffer is free. */
static void on_send_cancel(struct nof_op *op, const struct nof_comp *c)
{
    struct nof_rank *r = op->rank;
    if (!op->cancel_out) {
        nof_cluster_fail(r->world->cluster, "%s: SEND_CANCEL answered twice for operation %u", r->name,
                         op->index);
        return;
    }
    op->cancel_out = false;
    r->open_cancels--;
    if (c->status == NOF_OK && op->state == NOF_OP_DONE) {
        nof_cluster_fail(r->world->cluster, "%s: send %u is cancelled after it had ended", r->name,
                         op->index);
    } else if (c->status == NOF_OK) {
        op->cancelled = true;
        op->msg->cancelled = true;
        r->taken_back[op->peer]++;
        nof_op_finish(op, NOF_ECANCELED);
    } else if (c->status != NOF_ENOMATCH && !status_justified(op, c->status, op->peer)) {
        unjustified(op, c);
    }
}

static void on_peer_dead(struct nof_rank *r, const struct nof_comp *c)
{
    if (c->peer < 0 || (uint32_t)c->peer >= r->job->size || r->dead[c->peer] || !suspects(r, c->peer)) {
        nof_cluster_fail(r->world->cluster, "%s: told that rank %d is dead (\"%s\"): %s", r->name, c->peer,
                         nof_strstatus(c->status),
                         c->peer >= 0 && (uint32_t)c->peer < r->job->size && r->dead[c->peer]
                             ? "for the second time"
                             : "it is not");
        return;
    }
    r->dead[c->peer] = true;
    for (unsigned i = 0; i < r->nops; i++) {
        struct nof_op *op = r->op[i];
        if (op->opcode == NOF_DESC_SEND && op->state == NOF_OP_PARKED && op->peer == c->peer)
            nof_op_finish(op, c->status);
    }
    nof_heap_peer_dead(r, c->peer);
}

/* The operation that a completion is about; it must be with the NIC. */
static struct nof_op *op_of(struct nof_rank *r, const struct nof_comp *c)
{
    uint64_t index = c->cookie - 1;
    struct nof_op *op = index < r->nops ? r->op[index] : NULL;
    bool cancel = c->opcode == NOF_COMP_CANCEL || c->opcode == NOF_COMP_SEND_CANCEL;
    uint8_t want = op == NULL ? 0 : op->desc.opcode;
    if (want == NOF_DESC_MRECV || want == NOF_DESC_PULL)
        want = NOF_COMP_RECV;
    if (c->opcode == NOF_COMP_PARKED || c->opcode == NOF_COMP_GRANT)
        want = c->opcode;
    if (op == NULL || (!cancel && c->opcode != want) ||
        (!cancel && c->opcode != NOF_COMP_GRANT && op->state != NOF_OP_NIC)) {
        nof_cluster_fail(r->world->cluster, "%s: completion %u \"%s\" for operation %llu, which %s", r->name,
                         c->opcode, nof_strstatus(c->status), (unsigned long long)index,
                         op == NULL                 ? "does not exist"
                         : op->state == NOF_OP_DONE ? "has ended"
                                                    : "is not of that kind");
        return NULL;
    }
    return op;
}

static void on_op(struct nof_rank *r, const struct nof_comp *c)
{
    struct nof_op *op = c->cookie - 1 < r->nops ? r->op[c->cookie - 1] : NULL;
    if (r->world->locals && op != NULL && nof_op_is_match(op)) {
        if (nof_lane_zombie(op, c))
            return;
        if (c->opcode != NOF_COMP_CANCEL)
            nof_lane_answered(op, c);
    }
    op = op_of(r, c);
    if (op == NULL)
        return;
    switch (c->opcode) {
    case NOF_COMP_RECV:
        on_recv(op, c);
        break;
    case NOF_COMP_PROBE:
    case NOF_COMP_MPROBE:
        on_probe(op, c);
        break;
    case NOF_COMP_SEND:
        on_send(op, c);
        break;
    case NOF_COMP_PARKED:
        if ((op->desc.flags & (NOF_DESC_F_INLINE | NOF_DESC_F_SYNC)) == NOF_DESC_F_INLINE)
            nof_cluster_fail(r->world->cluster,
                             "%s: send %u is parked, but its payload was in the descriptor", r->name,
                             op->index);
        op->state = NOF_OP_PARKED;
        if (r->dead[op->peer])
            nof_op_finish(op, NOF_EPEERDEAD);
        break;
    case NOF_COMP_GRANT:
        on_grant(op, c);
        break;
    case NOF_COMP_CANCEL:
        on_cancel(op, c);
        break;
    case NOF_COMP_SEND_CANCEL:
        on_send_cancel(op, c);
        break;
    case NOF_COMP_LAYOUT:
        if (c->status != NOF_OK)
            unjustified(op, c);
        r->layouts_ready |= 1u << op->desc.layout;
        nof_op_finish(op, c->status);
        break;
    default: /* FLUSH */
        nof_op_finish(op, c->status);
        break;
    }
}

static void completion(struct nof_rank *r, const struct nof_comp *c)
{
    struct nof_cluster *cluster = r->world->cluster;
    nof_trace_comp(cluster, r->name, c);
    uint64_t word = c->opcode | (uint64_t)(uint16_t)c->status << 8 | (uint64_t)r->uid << 32;
    r->world->digest = nof_rng_mix(r->world->digest ^ word) + nof_rng_mix(c->cookie ^ c->len << 20) +
                       nof_cluster_now(cluster);
    switch (c->opcode) {
    case NOF_COMP_PEER:
        if (!suspects(r, c->peer))
            nof_cluster_fail(cluster, "%s: PEER for rank %d fails with \"%s\"", r->name, c->peer,
                             nof_strstatus(c->status));
        break;
    case NOF_COMP_PEER_DEAD:
        on_peer_dead(r, c);
        break;
    case NOF_COMP_SPILL:
        nof_heap_spill(r, c);
        break;
    case NOF_COMP_REVOKE:
        nof_heap_revoke(r, c);
        break;
    case NOF_COMP_SPILL_END:
        nof_heap_ended(r, c->status);
        break;
    case NOF_COMP_ASSIST:
    case NOF_COMP_FAILED:
        nof_cluster_fail(cluster, "%s: completion %u \"%s\" out of place", r->name, c->opcode,
                         nof_strstatus(c->status));
        break;
    default:
        on_op(r, c);
        break;
    }
}

static void plan_reap(struct nof_rank *r);

static void reap(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_rank *r = user;
    (void)arg;
    r->reap_planned = false;
    if (!r->alive)
        return;
    if (nof_cluster_now(c) < r->clogged_until_ns) {
        plan_reap(r);
        return;
    }
    nof_delta_look(r, false);
    while (r->ring_count > 0 && nof_cluster_violation(c) == NULL) {
        struct nof_comp comp = r->ring[r->ring_head];
        r->ring_head = (r->ring_head + 1) % r->ring_size;
        r->ring_count--;
        completion(r, &comp);
    }
    nof_rank_slots_release(r, r->world->phase != NOF_PHASE_TRAFFIC || r->nslots > 4);
    nof_heap_settle(r);
}

static void plan_reap(struct nof_rank *r)
{
    if (r->reap_planned)
        return;
    struct nof_cluster *c = r->world->cluster;
    uint64_t at_ns = nof_cluster_now(c) + nof_rng_below(&r->rng, r->reap_max_ns);
    r->reap_planned = true;
    nof_cluster_at(c, at_ns > r->clogged_until_ns ? at_ns : r->clogged_until_ns, reap, r, 0);
}

static unsigned host_complete(void *host, const struct nof_comp *comps, unsigned n)
{
    struct nof_rank *r = host;
    unsigned room = r->ring_size - r->ring_count;
    if (n > room)
        n = room;
    for (unsigned i = 0; i < n; i++)
        r->ring[(r->ring_head + r->ring_count++) % r->ring_size] = comps[i];
    if (r->ring_count > 0)
        plan_reap(r);
    return n;
}

static void host_arrived(void *host)
{
    nof_delta_look(host, true);
}

static bool host_claim(void *host, uint32_t slot, uint32_t generation)
{
    struct nof_rank *r = host;
    nof_lane_hurry(r);
    bool won =
        slot < NOF_CLAIM_SLOTS && nof_claim_take(&r->claim_words.word[slot], generation, NOF_CLAIM_NIC);
    nof_lane_hurry(r);
    return won;
}

static void host_failed(void *host, int status)
{
    struct nof_rank *r = host;
    nof_cluster_fail(r->world->cluster, "%s: the NIC gives the endpoint up: %s", r->name,
                     nof_strstatus(status));
    r->alive = false;
}

static const struct nof_cluster_host_ops host_ops = {
    .fetch = host_fetch,
    .complete = host_complete,
    .dma = nof_rank_dma,
    .arrived = host_arrived,
    .claim = host_claim,
    .failed = host_failed,
};

static void *zalloc(size_t bytes)
{
    void *mem = calloc(1, bytes);
    if (mem == NULL)
        abort();
    return mem;
}

static void set_up(struct nof_rank *r)
{
    struct nof_rng *rng = &r->rng;
    r->ring_size = (unsigned)nof_rng_between(rng, 2, NOF_RANK_RING_MAX);
    r->reap_max_ns = nof_rng_between(rng, 1, 20000);
    r->dma_inline = nof_rng_chance(rng, 40);
    r->staging_bytes = nof_rng_chance(rng, 20) ? 0 : STAGING_BYTES << nof_rng_below(rng, 2);
    if (r->world->tiny_staging)
        r->staging_bytes = 256u << nof_rng_below(rng, 4); /* one line, or a few */
    r->staging = r->staging_bytes != 0 ? aligned_alloc(64, r->staging_bytes) : NULL;
    r->bounce = zalloc((size_t)NOF_BOUNCE_SLOTS * NOF_BOUNCE_SLOT_BYTES);
    r->program_area = zalloc(PROGRAM_AREA_BYTES);
    nof_delta_boards(r);
    nof_lane_set_up(r);
    for (unsigned i = 0; i < NOF_RANK_LAYOUTS; i++)
        nof_layout_ref_make(&r->layout[i], rng);
}

struct nof_rank *nof_rank_create(struct nof_world *w, struct nof_job *job, int32_t number, unsigned nic)
{
    struct nof_rank *r = zalloc(sizeof(*r));
    r->world = w;
    r->job = job;
    r->uid = w->nranks;
    r->number = number;
    r->nic = nic;
    r->incarnation = nof_cluster_incarnation(w->cluster, nic);
    r->rng.state = nof_rng_next(&w->rng);
    (void)snprintf(r->name, sizeof(r->name), "job%u.rank%d", w->njobs - 1, number);
    set_up(r);
    w->rank[w->nranks++] = r;
    job->rank[number] = r;
    r->dma_sums = number % 2 != 0;
    struct nof_endpoint_params params = {
        .job_id = job->id,
        .rank = (uint32_t)number,
        .size = job->size,
        .staging = r->staging,
        .staging_bytes = r->staging_bytes,
        .bounce = r->bounce,
        .bounce_bytes = (size_t)NOF_BOUNCE_SLOTS * NOF_BOUNCE_SLOT_BYTES,
        .program_area = r->program_area,
        .program_area_bytes = PROGRAM_AREA_BYTES,
        .delta_host = r->delta_host,
        .delta_nic = r->delta_nic,
        .claim_slots = w->locals ? w->claim_slots : 0,
        .counters = r->counters,
        .dma_inline = r->dma_inline,
        .dma_read_sums = r->dma_sums,
    };
    memcpy(params.job_key, job->key, sizeof(params.job_key));
    int status = nof_cluster_endpoint_open(w->cluster, nic, &params, &host_ops, r, &r->endpoint, &r->card);
    if (status != NOF_OK)
        nof_cluster_fail(w->cluster, "%s: endpoint on NIC %u not opened: %s", r->name, nic,
                         nof_strstatus(status));
    r->alive = status == NOF_OK;
    nof_cluster_trace(w->cluster, "%s is endpoint %u of nic%u", r->name, r->endpoint, nic);
    return r;
}

static void break_off(struct nof_rank *r)
{
    struct nof_world *w = r->world;
    r->alive = false;
    r->queue.count = 0;
    nof_lane_end(r);
    for (unsigned i = 0; i < w->nranks; i++)
        w->suspect[i][r->uid] = w->suspect[r->uid][i] = true;
}

void nof_rank_kill(struct nof_rank *r, int reason)
{
    if (!r->alive)
        return;
    break_off(r);
    nof_cluster_trace(r->world->cluster, "%s FAULT closes: %s", r->name, nof_strstatus(reason));
    nof_cluster_endpoint_close(r->world->cluster, r->nic, r->endpoint, reason);
    nof_delta_boards_taken(r);
}

void nof_rank_lose(struct nof_rank *r)
{
    if (r->alive)
        break_off(r);
}

void nof_rank_destroy(struct nof_rank *r)
{
    nof_heap_clear(r);
    for (unsigned i = 0; i < r->nops; i++) {
        nof_delta_finish(r->op[i]);
        nof_buffer_close(r->world, &r->op[i]->buf);
        free(r->op[i]);
    }
    nof_delta_boards_free(r);
    free(r->op);
    free(r->queue.desc);
    free(r->staging);
    free(r->bounce);
    free(r->program_area);
    free(r);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations of a rank: what the library calls of a program become on the ring, and how they end. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

static struct nof_op *op_new(struct nof_rank *r, uint8_t opcode, uint32_t ctx, int32_t peer, int32_t tag)
{
    if (r->nops == r->op_room) {
        r->op_room = r->op_room != 0 ? 2 * r->op_room : 64;
        r->op = realloc(r->op, r->op_room * sizeof(struct nof_op *));
        if (r->op == NULL)
            abort();
    }
    struct nof_op *op = calloc(1, sizeof(*op));
    if (op == NULL)
        abort();
    op->rank = r;
    op->index = r->nops;
    op->opcode = opcode;
    op->ctx = ctx;
    op->peer = peer;
    op->tag = tag;
    op->bounce = -1;
    op->expect_len = UINT64_MAX;
    op->posted_ns = nof_cluster_now(r->world->cluster);
    op->cancel_ns = UINT64_MAX;
    op->buf.fault_at = UINT64_MAX;
    op->drain = r->world->phase != NOF_PHASE_TRAFFIC;
    op->desc =
        (struct nof_desc){.opcode = opcode, .ctx = ctx, .cookie = r->nops + 1, .peer = peer, .tag = tag};
    r->op[r->nops++] = op;
    r->open_ops++;
    r->open_matches += nof_op_is_match(op);
    r->open_sends += opcode == NOF_DESC_SEND;
    return op;
}

bool nof_op_is_match(const struct nof_op *op)
{
    return op->opcode == NOF_DESC_RECV || op->opcode == NOF_DESC_PROBE || op->opcode == NOF_DESC_MPROBE;
}

bool nof_pattern_accepts(uint32_t ctx, int32_t peer, int32_t tag, uint32_t m_ctx, int32_t m_peer,
                         int32_t m_tag)
{
    return ctx == m_ctx && (peer == NOF_ANY_SOURCE || peer == m_peer) && (tag == NOF_ANY_TAG || tag == m_tag);
}

void nof_op_start(struct nof_op *op)
{
    op->state = NOF_OP_NIC;
    op->asked_at = op->rank->counters[NOF_C_UNEXPECTED];
    nof_rank_submit(op->rank, &op->desc);
}

void nof_op_finish(struct nof_op *op, int status)
{
    struct nof_rank *r = op->rank;
    if (op->state == NOF_OP_DONE) {
        nof_cluster_fail(r->world->cluster, "%s: operation %u ends twice", r->name, op->index);
        return;
    }
    op->state = NOF_OP_DONE;
    op->status = status;
    op->done_ns = nof_cluster_now(r->world->cluster);
    op->done_index = r->nops;
    if (op->opcode == NOF_DESC_SEND && status == NOF_OK)
        op->msg->done_ns = op->done_ns;
    nof_delta_finish(op);
    nof_lane_finish(op);
    nof_buffer_close(r->world, &op->buf);
    if (op->bounce >= 0)
        r->bounce_used[op->bounce] = false;
    r->open_ops--;
    r->open_matches -= nof_op_is_match(op);
    r->open_sends -= op->opcode == NOF_DESC_SEND;
    struct nof_op *match = op;
    if (op->opcode == NOF_DESC_MRECV && op->parent != NULL) {
        match = op->parent;
        match->status = status;
        match->word = op->word;
        match->word_bytes = op->word_bytes;
        match->capacity = op->capacity;
        match->buf.fault_at = op->buf.fault_at;
    }
    bool used_up =
        op->opcode == NOF_DESC_MRECV || (op->opcode == NOF_DESC_RECV && op->found && !op->internal);
    if (used_up && match->got_peer >= 0 && (uint32_t)match->got_peer < r->job->size)
        r->got[match->got_peer]++;
    nof_workload_done(op);
}

/* May a message of which a probe said `bound` have this length? */
static bool foretold(const struct nof_rank *r, uint64_t bound, uint64_t len)
{
    return len == bound || (len < bound && r->world->delta_percent > 0);
}

void nof_op_received(struct nof_op *op, int status, int32_t peer, int32_t tag, uint64_t len)
{
    struct nof_rank *r = op->rank;
    uint64_t stored = len < op->capacity ? len : op->capacity;
    struct nof_op *match = op->parent != NULL ? op->parent : op;
    if ((uint32_t)peer >= r->job->size ||
        !nof_pattern_accepts(op->ctx, op->peer, op->tag, op->ctx, peer, tag)) {
        nof_cluster_fail(r->world->cluster,
                         "%s: receive %u (source %d, tag %d) got a message of rank %d, tag %d", r->name,
                         op->index, op->peer, op->tag, peer, tag);
        return;
    }
    if (op->parent != NULL &&
        (match->got_peer != peer || match->got_tag != tag || !foretold(r, match->got_len, len))) {
        nof_cluster_fail(r->world->cluster, "%s: MRECV %u got another message than its MPROBE %u announced",
                         r->name, op->index, match->index);
        return;
    }
    if (op->expect_len != UINT64_MAX && !foretold(r, op->expect_len, len)) {
        nof_cluster_fail(r->world->cluster, "%s: receive %u got %llu bytes after a probe that said %llu",
                         r->name, op->index, (unsigned long long)len, (unsigned long long)op->expect_len);
        return;
    }
    if (!nof_buffer_check(r->world, &op->buf, stored, &op->word, &op->word_bytes)) {
        nof_cluster_fail(r->world->cluster,
                         "%s: receive %u of %llu bytes from rank %d, tag %d: payload is damaged", r->name,
                         op->index, (unsigned long long)stored, peer, tag);
        return;
    }
    op->found = true;
    op->got_peer = peer;
    op->got_tag = tag;
    op->got_len = match->got_len = len;
    nof_op_finish(op, status);
}

static const struct nof_layout_ref *pick_layout(struct nof_rank *r, struct nof_desc *d, uint64_t len)
{
    if (r->layouts_ready == 0 || len == 0 || len > 65536 || !nof_rng_chance(&r->rng, 20))
        return NULL;
    unsigned i = (unsigned)nof_rng_below(&r->rng, NOF_RANK_LAYOUTS);
    if ((r->layouts_ready & 1u << i) == 0)
        return NULL;
    d->flags |= NOF_DESC_F_LAYOUT;
    d->layout = i;
    d->layout_generation = 1;
    return &r->layout[i];
}

static int bounce_take(struct nof_rank *r, uint64_t len)
{
    if (len > NOF_BOUNCE_SLOT_BYTES || !nof_rng_chance(&r->rng, 30))
        return -1;
    for (int i = 0; i < (int)NOF_BOUNCE_SLOTS; i++) {
        if (!r->bounce_used[i]) {
            r->bounce_used[i] = true;
            return i;
        }
    }
    return -1;
}

static void buffer_open(struct nof_op *op, uint64_t len)
{
    struct nof_rank *r = op->rank;
    nof_buffer_open(r->world, &op->buf, len, pick_layout(r, &op->desc, len));
    op->desc.addr = (uint64_t)(op->index + 1) << 32 | op->buf.base;
    op->desc.len = len;
    if (len > 0 && nof_rng_chance(&r->rng, r->world->faulty_percent))
        op->buf.fault_at = nof_rng_below(&r->rng, op->buf.span);
}

struct nof_op *nof_rank_send(struct nof_rank *r, struct nof_message *m)
{
    if (!r->alive)
        return NULL;
    nof_rank_introduce(r, m->dst->number);
    struct nof_op *op = op_new(r, NOF_DESC_SEND, m->ctx, m->dst->number, m->tag);
    op->msg = m;
    op->desc.flags = m->sync ? NOF_DESC_F_SYNC : 0;
    op->desc.len = m->len;
    op->desc.elem = (uint8_t)(nof_rng_mix(m->id) % NOF_ELEM_COUNT);
    m->submitted = true;
    m->order = r->sent[m->dst->number]++;
    m->after_death = m->dst->dead[r->number];
    r->world->bytes += m->len;
    if (nof_lane_pair(r, m->dst)) {
        nof_lane_send(op);
        return op;
    }
    bool delta = nof_delta_send_take(op);
    op->bounce = delta ? -1 : bounce_take(r, m->len);
    if (delta) {
        buffer_open(op, m->bound);
        nof_delta_send_plan(op);
    } else if (m->len <= NOF_INLINE_BYTES && op->bounce < 0 && nof_rng_chance(&r->rng, 70)) {
        op->desc.flags |= NOF_DESC_F_INLINE;
        nof_payload_fill(op->desc.inline_data, m->id, m->len);
    } else if (op->bounce >= 0) {
        op->desc.flags |= NOF_DESC_F_BOUNCE;
        op->desc.addr = (uint64_t)op->bounce * NOF_BOUNCE_SLOT_BYTES;
        nof_payload_fill(r->bounce + op->desc.addr, m->id, m->len);
    } else {
        buffer_open(op, m->len);
        nof_buffer_fill(r->world, &op->buf, m->id, m->len);
    }
    nof_op_start(op);
    return op;
}

void nof_op_granted(struct nof_op *op, uint64_t handle, uint64_t granted_len)
{
    if (op->desc.flags & NOF_DESC_F_INLINE) { /* the handle stands where the payload stood */
        op->desc.flags &= (uint8_t)~NOF_DESC_F_INLINE;
        buffer_open(op, op->msg->len);
        nof_buffer_fill(op->rank->world, &op->buf, op->msg->id, op->msg->len);
    }
    op->desc.flags |= NOF_DESC_F_GRANTED;
    op->desc.handle = handle;
    op->desc.callsite = granted_len;
    nof_op_start(op);
}

void nof_rank_introduce(struct nof_rank *r, int32_t peer)
{
    if (!r->alive || r->introduced[peer])
        return;
    r->introduced[peer] = true;
    struct nof_desc d = {.opcode = NOF_DESC_PEER, .cookie = UINT64_MAX, .peer = peer};
    memcpy(d.inline_data, &r->job->rank[peer]->card, sizeof(struct nof_card));
    d.len = sizeof(struct nof_card);
    nof_rank_submit(r, &d);
}

struct nof_op *nof_rank_flush(struct nof_rank *r)
{
    if (!r->alive)
        return NULL;
    struct nof_op *op = op_new(r, NOF_DESC_FLUSH, 0, 0, 0);
    nof_op_start(op);
    return op;
}

void nof_rank_layouts(struct nof_rank *r)
{
    uint64_t at = 0;
    for (unsigned i = 0; i < NOF_RANK_LAYOUTS; i++) {
        struct nof_op *op = op_new(r, NOF_DESC_LAYOUT, 0, 0, 0);
        op->desc.addr = at;
        op->desc.len = nof_layout_ref_bytes(&r->layout[i]);
        op->desc.layout = i;
        op->desc.layout_generation = 1;
        memcpy(r->program_area + at, &r->layout[i].head, sizeof(struct nof_layout_head));
        memcpy(r->program_area + at + sizeof(struct nof_layout_head), r->layout[i].op,
               r->layout[i].head.nops * sizeof(struct nof_layout_op));
        at += 256;
        nof_op_start(op);
    }
}

struct nof_op *nof_rank_recv(struct nof_rank *r, uint32_t ctx, int32_t peer, int32_t tag, uint64_t capacity)
{
    if (!r->alive)
        return NULL;
    if (peer >= 0)
        nof_rank_introduce(r, peer);
    struct nof_op *op = op_new(r, NOF_DESC_RECV, ctx, peer, tag);
    op->capacity = capacity;
    buffer_open(op, capacity);
    op->desc.callsite = 0x400000 + ctx * 16;
    bool lanes = r->world->locals && (peer < 0 || nof_lane_pair(r, r->job->rank[peer]));
    if (!lanes)
        nof_delta_recv_take(op);
    if (r->world->locals)
        nof_lane_recv(op);
    else
        nof_op_start(op);
    return op;
}

struct nof_op *nof_rank_probe(struct nof_rank *r, uint8_t opcode, bool wait, uint32_t ctx, int32_t peer,
                              int32_t tag)
{
    if (!r->alive)
        return NULL;
    if (peer >= 0)
        nof_rank_introduce(r, peer);
    struct nof_op *op = op_new(r, opcode, ctx, peer, tag);
    op->wait = wait;
    r->waited_mprobe |= wait && opcode == NOF_DESC_MPROBE;
    op->desc.flags = wait ? NOF_DESC_F_WAIT : 0;
    if (r->world->locals)
        nof_lane_probe(op);
    else
        nof_op_start(op);
    return op;
}

struct nof_op *nof_rank_mrecv(struct nof_op *mprobe, uint64_t capacity)
{
    struct nof_rank *r = mprobe->rank;
    if (!r->alive)
        return NULL;
    struct nof_op *op = op_new(r, NOF_DESC_MRECV, mprobe->ctx, mprobe->got_peer, mprobe->got_tag);
    op->parent = mprobe;
    op->capacity = capacity;
    buffer_open(op, capacity);
    op->desc.handle = mprobe->handle;
    if (mprobe->local != NULL) {
        struct nof_lane_message *l = mprobe->local;
        mprobe->local = NULL;
        nof_lane_mrecv(op, l);
    } else if (mprobe->envelope != NULL) {
        struct nof_envelope *e = mprobe->envelope;
        mprobe->envelope = NULL;
        op->state = NOF_OP_LIBRARY;
        nof_heap_mrecv(op, e);
    } else {
        nof_op_start(op);
    }
    return op;
}

void nof_rank_tell_sync(struct nof_rank *r, const struct nof_envelope *e)
{
    struct nof_op *op = op_new(r, NOF_DESC_PULL, e->ctx, e->peer, e->tag);
    op->internal = true;
    op->desc.handle = e->handle;
    nof_op_start(op);
}

static void cancel_send(struct nof_op *op)
{
    struct nof_desc d = {.opcode = NOF_DESC_SEND_CANCEL,
                         .cookie = op->desc.cookie,
                         .ctx = op->ctx,
                         .peer = op->peer,
                         .tag = op->tag};
    op->cancel_out = true;
    op->rank->open_cancels++;
    nof_rank_submit(op->rank, &d);
}

void nof_rank_cancel(struct nof_op *op)
{
    struct nof_rank *r = op->rank;
    if (!r->alive || op->state == NOF_OP_DONE || op->cancel_out || op->pulling)
        return;
    op->cancel_ns = nof_cluster_now(r->world->cluster);
    if (op->opcode == NOF_DESC_SEND) {
        if (op->local != NULL)
            nof_lane_send_cancel(op);
        else
            cancel_send(op);
        return;
    }
    if (r->world->locals && nof_lane_cancel(op))
        return;
    if (op->state == NOF_OP_LIBRARY) {
        (void)nof_heap_cancel(op);
        return;
    }
    op->cancel_out = true;
    struct nof_desc d = {.opcode = NOF_DESC_CANCEL, .cookie = op->desc.cookie, .ctx = op->ctx};
    nof_rank_submit(r, &d);
}

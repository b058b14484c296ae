/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host half of spill mode, written for clarity: two lists in order of arrival (nof/desc.h, "Spill").
 *
 * A CANCEL may be answered NOMATCH because the receive has just been handed to the library: then it
 * is cancelled here. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define RETRY_NS 50000u

static void envelope_free(struct nof_rank *r, struct nof_envelope *e)
{
    nof_world_free(r->world, e->payload, e->stored);
    free(e);
}

static bool accepts(const struct nof_op *op, const struct nof_envelope *e)
{
    return nof_pattern_accepts(op->ctx, op->peer, op->tag, e->ctx, e->peer, e->tag);
}

/* The envelope's message goes into op, which takes it over. */
static void deliver(struct nof_op *op, struct nof_envelope *e)
{
    struct nof_rank *r = op->rank;
    if (e->remote) {
        op->pulling = true;
        op->got_peer = e->peer;
        op->got_tag = e->tag;
        op->desc.opcode = NOF_DESC_PULL;
        op->desc.handle = e->handle;
        op->desc.callsite = e->len;
        op->desc.peer = e->peer;
        op->desc.tag = e->tag;
        envelope_free(r, e);
        nof_op_start(op);
        return;
    }
    if (e->status != NOF_OK) {
        op->found = true;
        op->got_peer = e->peer;
        op->got_tag = e->tag;
        op->got_len = e->len;
        int status = e->status;
        envelope_free(r, e);
        nof_op_finish(op, status);
        return;
    }
    uint64_t stored = e->len < op->capacity ? e->len : op->capacity;
    nof_buffer_store(&op->buf, e->payload, stored);
    if (e->sync)
        nof_rank_tell_sync(r, e);
    int32_t peer = e->peer, tag = e->tag;
    uint64_t len = e->len;
    envelope_free(r, e);
    nof_op_received(op, len > op->capacity ? NOF_ETRUNC : NOF_OK, peer, tag, len);
}

/* A probe sees the envelope; a matched probe takes it. */
static void answer_probe(struct nof_op *op, struct nof_envelope *e)
{
    op->found = true;
    op->got_peer = e->peer;
    op->got_tag = e->tag;
    op->got_len = e->len;
    if (op->opcode == NOF_DESC_MPROBE)
        op->envelope = e;
    nof_op_finish(op, NOF_OK);
}

void nof_heap_mrecv(struct nof_op *mrecv, struct nof_envelope *e)
{
    deliver(mrecv, e);
}

static struct nof_op *of_claim(struct nof_claim_recv *claim)
{
    return claim == NULL ? NULL : (struct nof_op *)(void *)((char *)claim - offsetof(struct nof_op, claim));
}

void nof_heap_leave(struct nof_op *op)
{
    for (struct nof_op **at = &op->rank->posted; *at != NULL; at = &(*at)->next)
        if (*at == op) {
            *at = op->next;
            return;
        }
}

void nof_heap_post(struct nof_op *op)
{
    struct nof_rank *r = op->rank;
    for (struct nof_envelope **at = &r->spilled; *at != NULL; at = &(*at)->next) {
        struct nof_envelope *e = *at;
        if (!accepts(op, e))
            continue;
        if (op->opcode != NOF_DESC_PROBE)
            *at = e->next;
        nof_claim_by_nic(&r->claims, &op->claim);
        if (op->opcode == NOF_DESC_RECV)
            deliver(op, e);
        else
            answer_probe(op, e);
        return;
    }
    if (op->opcode != NOF_DESC_RECV && !op->wait) {
        nof_op_finish(op, NOF_ENOMATCH);
        return;
    }
    if (op->peer >= 0 && r->dead[op->peer]) {
        nof_op_finish(op, NOF_EPEERDEAD);
        return;
    }
    op->state = NOF_OP_LIBRARY;
    if (r->world->locals && op->opcode == NOF_DESC_RECV) {
        if (nof_claim_nomatch(&r->claims, &op->claim, op->ctx, op->peer, op->tag) != 0)
            abort();
        return;
    }
    struct nof_op **at = &r->posted;
    /* A waiting probe may have been on the NIC until now: it is older than probes that were not. */
    while (*at != NULL && (op->opcode == NOF_DESC_RECV || (*at)->index < op->index))
        at = &(*at)->next;
    op->next = *at;
    *at = op;
}

static struct nof_envelope *envelope_of(struct nof_rank *r, const struct nof_comp *c)
{
    struct nof_envelope *e = calloc(1, sizeof(*e));
    if (e == NULL)
        abort();
    e->ctx = c->ctx;
    e->peer = c->peer;
    e->tag = c->tag;
    e->len = c->len;
    e->status = c->status;
    e->remote = (c->flags & NOF_COMP_F_REMOTE) != 0;
    e->sync = (c->flags & NOF_COMP_F_SYNC) != 0;
    if (c->flags & NOF_COMP_F_INLINE) {
        e->stored = c->len;
        e->payload = nof_world_alloc(r->world, NOF_INLINE_BYTES);
        memcpy(e->payload, c->inline_data, c->len <= NOF_INLINE_BYTES ? c->len : 0);
        return e;
    }
    e->handle = c->handle;
    e->sender_handle = c->sender_handle;
    if (c->flags & NOF_COMP_F_STAGED) {
        const uint8_t *bytes = nof_rank_slot_take(r, c->staged_offset, c->staged_len);
        e->stored = c->staged_len;
        e->payload = nof_world_alloc(r->world, e->stored);
        if (bytes != NULL)
            memcpy(e->payload, bytes, e->stored);
    }
    return e;
}

void nof_heap_spill(struct nof_rank *r, const struct nof_comp *c)
{
    if (c->status != NOF_OK && (c->status != NOF_EFAULT || r->world->faulty_percent == 0)) {
        nof_cluster_fail(r->world->cluster, "%s: SPILL with \"%s\"", r->name, nof_strstatus(c->status));
        return;
    }
    unsigned places = c->flags & (NOF_COMP_F_INLINE | NOF_COMP_F_STAGED | NOF_COMP_F_REMOTE);
    bool one = places != 0 && (places & (places - 1)) == 0;
    bool whole = (c->flags & NOF_COMP_F_STAGED) == 0 || c->staged_len == c->len;
    bool fits = (c->flags & NOF_COMP_F_INLINE) == 0 || c->len <= NOF_INLINE_BYTES;
    bool sync_inline = (c->flags & NOF_COMP_F_INLINE) != 0 && (c->flags & NOF_COMP_F_SYNC) != 0;
    if ((!one && c->len > 0 && c->status == NOF_OK) || !whole || !fits || sync_inline) {
        nof_cluster_fail(r->world->cluster,
                         "%s: SPILL of %llu bytes with flags 0x%x does not say where its payload is", r->name,
                         (unsigned long long)c->len, c->flags);
        return;
    }
    r->spilling = true;
    r->spills_seen++;
    struct nof_envelope *e = envelope_of(r, c);
    struct nof_op *claimed = of_claim(nof_claim_by_spill(&r->claims, e->ctx, e->peer, e->tag));
    if (claimed != NULL) {
        deliver(claimed, e);
        return;
    }
    for (struct nof_op **at = &r->posted; *at != NULL;) {
        struct nof_op *op = *at;
        if (!accepts(op, e)) {
            at = &op->next;
            continue;
        }
        *at = op->next;
        if (op->opcode == NOF_DESC_RECV) {
            deliver(op, e);
            return;
        }
        answer_probe(op, e);
        if (op->opcode == NOF_DESC_MPROBE)
            return;
        at = &r->posted; /* answering may have changed the list; the probe is gone from it */
    }
    struct nof_envelope **at = &r->spilled;
    while (*at != NULL)
        at = &(*at)->next;
    *at = e;
}

void nof_heap_revoke(struct nof_rank *r, const struct nof_comp *c)
{
    struct nof_desc d = {.opcode = NOF_DESC_REVOKED, .cookie = c->cookie, .peer = c->peer};
    for (struct nof_envelope **at = &r->spilled; *at != NULL; at = &(*at)->next) {
        struct nof_envelope *e = *at;
        if (!(e->remote || e->sync) || e->status != NOF_OK || e->sender_handle != c->handle ||
            e->peer != c->peer || e->ctx != c->ctx || e->tag != c->tag)
            continue;
        d.flags = NOF_DESC_F_GONE;
        d.handle = e->handle;
        *at = e->next;
        envelope_free(r, e);
        break;
    }
    nof_rank_submit(r, &d);
}

bool nof_heap_cancel(struct nof_op *op)
{
    if (op->rank->world->locals)
        return op->state == NOF_OP_LIBRARY && nof_lane_cancel(op);
    for (struct nof_op **at = &op->rank->posted; *at != NULL; at = &(*at)->next) {
        if (*at != op)
            continue;
        *at = op->next;
        op->cancelled = true;
        nof_op_finish(op, NOF_ECANCELED);
        return true;
    }
    return false;
}

/* A receive that names it. */
static struct nof_op *first_of(struct nof_rank *r, int32_t peer)
{
    for (struct nof_match_entry *e = r->claims.nic.posted.first; e != NULL; e = e->next)
        if (e->source == peer)
            return of_claim(
                (struct nof_claim_recv *)(void *)((char *)e - offsetof(struct nof_claim_recv, nic)));
    for (struct nof_match_entry *e = r->claims.memory.posted.first; e != NULL; e = e->next)
        if (e->source == peer)
            return of_claim(
                (struct nof_claim_recv *)(void *)((char *)e - offsetof(struct nof_claim_recv, memory)));
    return NULL;
}

void nof_heap_peer_dead(struct nof_rank *r, int32_t peer)
{
    for (struct nof_op **at = &r->posted; *at != NULL;) {
        struct nof_op *op = *at;
        if (op->peer != peer) {
            at = &op->next;
            continue;
        }
        *at = op->next;
        nof_op_finish(op, NOF_EPEERDEAD);
        at = &r->posted;
    }
    for (struct nof_op *op; (op = first_of(r, peer)) != NULL;) {
        (void)nof_claim_cancel(&r->claims, &op->claim);
        nof_op_finish(op, NOF_EPEERDEAD);
    }
}

static void retry_end(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_rank *r = user;
    (void)c;
    (void)arg;
    r->end_planned = false;
    nof_heap_settle(r);
}

void nof_heap_settle(struct nof_rank *r)
{
    if (!r->alive || !r->spilling || r->end_out || r->end_planned || r->posted != NULL ||
        r->spilled != NULL || r->claims.nic.posted.count > 0)
        return;
    r->end_out = true;
    struct nof_desc d = {.opcode = NOF_DESC_SPILL_END,
                         .cookie = UINT64_MAX - 1,
                         .spills_seen = r->spills_seen,
                         .nomatches_seen = r->nomatches_seen};
    nof_rank_submit(r, &d);
}

void nof_heap_ended(struct nof_rank *r, int status)
{
    if (!r->end_out || (status != NOF_OK && status != NOF_EAGAIN)) {
        nof_cluster_fail(r->world->cluster, "%s: SPILL_END answered with \"%s\"%s", r->name,
                         nof_strstatus(status), r->end_out ? "" : " unasked");
        return;
    }
    r->end_out = false;
    if (status == NOF_OK) {
        if (r->spilled != NULL || r->posted != NULL || r->claims.nic.posted.count > 0)
            nof_cluster_fail(r->world->cluster,
                             "%s: the NIC left spill mode while the library's matcher is not empty", r->name);
        r->spilling = false;
    } else {
        r->end_planned = true;
        nof_cluster_at(r->world->cluster, nof_cluster_now(r->world->cluster) + RETRY_NS, retry_end, r, 0);
    }
}

void nof_heap_clear(struct nof_rank *r)
{
    nof_claims_fini(&r->claims);
    while (r->spilled != NULL) {
        struct nof_envelope *e = r->spilled;
        r->spilled = e->next;
        envelope_free(r, e);
    }
}

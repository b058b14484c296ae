/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages past the NIC: ranks of one job on one NIC reach each other by lanes of their own, with delays of their own. A receive
 * from any source is known to both, the NIC and the library's claims (host/libmpi_offload/chan/claims.h), and a word decides.
 *
 * The simulator draws who is first: what is on its way by a lane may come at the moment at which the NIC is about to
 * take a claim, or has just taken it. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

struct nof_lane_message {
    struct nof_message *m;
    struct nof_op *send; /* waits for the match; NULL: it has ended */
    struct nof_rank *to;
    uint64_t when_ns;
    bool gone; /* it has its receive, or is cancelled */
    bool probed; /* an MPROBE has it */
    struct nof_lane_message *next; /* in its lane, or among those that no receive wanted yet */
    struct nof_lane_message *every;
};

bool nof_lane_pair(const struct nof_rank *a, const struct nof_rank *b)
{
    return a->world->locals && a->job == b->job && a->nic == b->nic;
}

static bool is_local(const struct nof_rank *r, int32_t peer)
{
    return peer >= 0 && nof_lane_pair(r, r->job->rank[peer]);
}

static struct nof_op *op_of(struct nof_claim_recv *claim)
{
    return (struct nof_op *)(void *)((char *)claim - offsetof(struct nof_op, claim));
}

void nof_lane_plan(struct nof_world *w, uint64_t seed)
{
    w->local_rng.state = nof_rng_mix(seed + 0x10ca1);
    w->locals = nof_rng_chance(&w->local_rng, 40);
    w->claim_slots = 1u << nof_rng_below(&w->local_rng, 9);
}

void nof_lane_set_up(struct nof_rank *r)
{
    nof_claims_init(&r->claims, &r->claim_words, r->world->locals ? r->world->claim_slots : 0);
}

/* Its CANCEL, ahead of what the rank submits next. */
static void submit_cancel(struct nof_op *op, bool message, int32_t peer, int32_t tag)
{
    struct nof_desc d = {.opcode = NOF_DESC_CANCEL, .cookie = op->desc.cookie, .ctx = op->ctx};
    if (message) {
        d.flags = NOF_DESC_F_TAKEN;
        d.peer = peer;
        d.tag = tag;
    }
    op->rank->owed++;
    nof_rank_submit(op->rank, &d);
}

static void leave_held(struct nof_op *op)
{
    for (struct nof_op **at = &op->rank->held; *at != NULL; at = &(*at)->next)
        if (*at == op) {
            *at = op->next;
            return;
        }
}

static void leave_probes(struct nof_op *op)
{
    for (struct nof_op **at = &op->rank->probes; *at != NULL; at = &(*at)->next_probe)
        if (*at == op) {
            *at = op->next_probe;
            return;
        }
}

/* Whatever it waits in beside the claims. */
static void leave(struct nof_op *op)
{
    if (op->state == NOF_OP_HELD)
        leave_held(op);
    leave_probes(op);
    nof_heap_leave(op);
}

/* What stands before the NIC in the order of the calls, as far as words are free. */
static void pump(struct nof_rank *r)
{
    while (r->held != NULL) {
        struct nof_op *op = r->held;
        bool claims = op->peer == NOF_ANY_SOURCE &&
                      (op->opcode == NOF_DESC_RECV || (op->opcode == NOF_DESC_MPROBE && op->wait));
        if (claims && !nof_claim_open(&r->claims, &op->claim))
            return;
        if (claims) {
            op->desc.flags |= NOF_DESC_F_CLAIM;
            op->desc.handle = op->claim.handle;
        }
        r->held = op->next;
        nof_op_start(op);
    }
}

static void submit(struct nof_op *op)
{
    struct nof_op **at = &op->rank->held;
    while (*at != NULL)
        at = &(*at)->next;
    op->state = NOF_OP_HELD;
    op->next = NULL;
    *at = op;
    pump(op->rank);
}

static void sent(struct nof_lane_message *l, int status)
{
    struct nof_op *send = l->send;
    l->send = NULL;
    if (send != NULL && send->rank->alive && send->state != NOF_OP_DONE)
        nof_op_finish(send, status);
}

/* op, which is nobody else's, gets it. */
static void deliver(struct nof_op *op, struct nof_lane_message *l)
{
    struct nof_world *w = op->rank->world;
    const struct nof_message *m = l->m;
    uint64_t stored = m->len < op->capacity ? m->len : op->capacity;
    uint8_t *flat = nof_world_alloc(w, m->len + 1);
    nof_payload_fill(flat, m->id, m->len);
    nof_buffer_store(&op->buf, flat, stored);
    nof_world_free(w, flat, m->len + 1);
    l->gone = true;
    sent(l, NOF_OK);
    nof_op_received(op, m->len > op->capacity ? NOF_ETRUNC : NOF_OK, m->src->number, m->tag, m->len);
}

static void answer_probe(struct nof_op *op, struct nof_lane_message *l)
{
    op->found = true;
    op->got_peer = l->m->src->number;
    op->got_tag = l->m->tag;
    op->got_len = l->m->len;
    if (op->opcode == NOF_DESC_MPROBE)
        op->local = l;
    nof_op_finish(op, NOF_OK);
}

static bool accepts(const struct nof_op *op, const struct nof_message *m)
{
    return nof_pattern_accepts(op->ctx, op->peer, op->tag, m->ctx, m->src->number, m->tag);
}

static void forget(struct nof_rank *r, const struct nof_lane_message *l)
{
    for (struct nof_lane_message **at = &r->local; *at != NULL; at = &(*at)->next)
        if (*at == l) {
            *at = l->next;
            return;
        }
}

static struct nof_op *probe_for(const struct nof_rank *r, const struct nof_message *m)
{
    struct nof_op *op = r->probes;
    while (op != NULL && !accepts(op, m))
        op = op->next_probe;
    return op;
}

/* Waiting probes that it answers, until one has taken it, or who was answered has received it. */
static void answer_probes(struct nof_rank *r, struct nof_lane_message *l)
{
    const struct nof_message *m = l->m;
    for (struct nof_op *op; !l->gone && !l->probed && (op = probe_for(r, m)) != NULL;) {
        bool takes = op->opcode == NOF_DESC_MPROBE, with_nic = op->state == NOF_OP_NIC;
        leave(op);
        if (takes && !nof_claim_cancel(&r->claims, &op->claim))
            continue; /* the NIC has it */
        if (takes && op->claim.taken) {
            submit_cancel(op, true, m->src->number, m->tag);
        } else if (with_nic) {
            op->answered = true;
            submit_cancel(op, false, 0, 0);
        }
        if (takes)
            forget(r, l);
        l->probed = takes;
        answer_probe(op, l);
    }
}

static void arrive(struct nof_lane_message *l)
{
    struct nof_rank *r = l->to;
    const struct nof_message *m = l->m;
    if (l->gone)
        return;
    nof_cluster_trace(r->world->cluster, "%s <- %s by its lane: message %u, tag %d", r->name, m->src->name,
                      m->order, m->tag);
    struct nof_claim_recv *claim = nof_claim_by_memory(&r->claims, m->ctx, m->src->number, m->tag);
    if (claim != NULL) {
        struct nof_op *op = op_of(claim);
        leave(op);
        if (claim->taken)
            submit_cancel(op, true, m->src->number, m->tag);
        deliver(op, l);
        return;
    }
    struct nof_lane_message **at = &r->local;
    while (*at != NULL)
        at = &(*at)->next;
    l->next = NULL;
    *at = l;
    answer_probes(r, l);
}

/* The one that comes next by any lane of r: in each they are in order. */
static bool arrive_next(struct nof_rank *r, uint64_t until_ns)
{
    struct nof_lane_message *l = r->lane;
    if (l == NULL || l->when_ns > until_ns)
        return false;
    r->lane = l->next;
    l->next = NULL;
    if (r->alive) {
        arrive(l);
    } else {
        l->gone = true;
        sent(l, NOF_EPEERDEAD);
    }
    return true;
}

static void due(struct nof_cluster *c, void *user, uint64_t arg)
{
    (void)arg;
    while (arrive_next(user, nof_cluster_now(c)))
        ;
}

void nof_lane_hurry(struct nof_rank *r)
{
    while (nof_rng_chance(&r->world->local_rng, 40) && arrive_next(r, UINT64_MAX))
        ;
}

void nof_lane_send(struct nof_op *op)
{
    struct nof_world *w = op->rank->world;
    struct nof_rank *to = op->msg->dst;
    struct nof_lane_message *l = calloc(1, sizeof(*l));
    if (l == NULL)
        abort();
    uint64_t *last_ns = &to->lane_ns[op->rank->number];
    uint64_t when_ns = nof_cluster_now(w->cluster) +
                       nof_rng_below(&w->local_rng, nof_rng_chance(&w->local_rng, 20) ? 400000 : 3000);
    *l = (struct nof_lane_message){.m = op->msg, .send = op, .to = to, .every = w->local};
    l->when_ns = *last_ns = when_ns > *last_ns ? when_ns : *last_ns;
    w->local = l;
    op->local = l;
    op->state = NOF_OP_PARKED;
    struct nof_lane_message **at = &to->lane;
    while (*at != NULL && (*at)->when_ns <= l->when_ns)
        at = &(*at)->next;
    l->next = *at;
    *at = l;
    nof_cluster_at(w->cluster, l->when_ns, due, to, 0);
    if (!op->msg->sync && nof_rng_chance(&w->local_rng, 60))
        sent(l, NOF_OK);
}

/* A question to the receiver, who decides. */
void nof_lane_send_cancel(struct nof_op *op)
{
    struct nof_lane_message *l = op->local;
    if (l->gone || l->probed)
        return;
    forget(l->to, l);
    l->gone = true;
    l->send = NULL;
    op->cancelled = op->msg->cancelled = true;
    op->rank->taken_back[op->peer]++;
    nof_op_finish(op, NOF_ECANCELED);
}

static struct nof_lane_message *find(const struct nof_op *op)
{
    struct nof_lane_message *l = op->rank->local;
    while (l != NULL && !accepts(op, l->m))
        l = l->next;
    return l;
}

void nof_lane_recv(struct nof_op *op)
{
    struct nof_rank *r = op->rank;
    bool named = is_local(r, op->peer), any = op->peer == NOF_ANY_SOURCE;
    struct nof_lane_message *l = named || any ? find(op) : NULL;
    if (l != NULL) {
        forget(r, l);
        deliver(op, l);
        return;
    }
    if ((named || any) && nof_claim_post(&r->claims, &op->claim, op->ctx, op->peer, op->tag) != 0)
        abort();
    op->state = NOF_OP_LIBRARY;
    if (!named)
        submit(op);
}

void nof_lane_probe(struct nof_op *op)
{
    struct nof_rank *r = op->rank;
    bool named = is_local(r, op->peer), any = op->peer == NOF_ANY_SOURCE;
    struct nof_lane_message *l = named || any ? find(op) : NULL;
    if (l != NULL) {
        l->probed = op->opcode == NOF_DESC_MPROBE;
        if (l->probed)
            forget(r, l);
        answer_probe(op, l);
        return;
    }
    if (named && !op->wait) {
        nof_op_finish(op, NOF_ENOMATCH);
        return;
    }
    op->state = NOF_OP_LIBRARY;
    if (op->wait && (named || any)) {
        op->next_probe = r->probes;
        r->probes = op;
    }
    if (!named)
        submit(op);
}

void nof_lane_mrecv(struct nof_op *mrecv, struct nof_lane_message *l)
{
    mrecv->state = NOF_OP_LIBRARY;
    deliver(mrecv, l);
}

bool nof_lane_cancel(struct nof_op *op)
{
    struct nof_rank *r = op->rank;
    bool probe = op->opcode == NOF_DESC_PROBE;
    bool nic_alone =
        op->state == NOF_OP_NIC && (probe || op->peer >= 0 || (op->opcode == NOF_DESC_MPROBE && !op->wait));
    if (nic_alone)
        return false;
    if (!nof_claim_cancel(&r->claims, &op->claim))
        return true; /* too late: the NIC has it */
    leave(op);
    if (op->claim.taken)
        submit_cancel(op, false, 0, 0);
    op->cancelled = true;
    nof_op_finish(op, NOF_ECANCELED);
    return true;
}

void nof_lane_answered(struct nof_op *op, const struct nof_comp *c)
{
    struct nof_rank *r = op->rank;
    bool message = c->status == NOF_OK || c->status == NOF_ETRUNC;
    if (op->claim.word && message &&
        r->claim_words.word[nof_claim_slot(op->claim.handle)] !=
            nof_claim_word(nof_claim_generation(op->claim.handle), NOF_CLAIM_NIC))
        nof_cluster_fail(r->world->cluster, "%s: operation %u has a message of the NIC, which has not won it",
                         r->name, op->index);
    nof_claim_close(&r->claims, &op->claim);
    op->desc.flags &= (uint8_t)~NOF_DESC_F_CLAIM; /* if it is submitted again it is the host's */
    if (c->status != NOF_ENOMATCH) {
        nof_claim_by_nic(&r->claims, &op->claim);
        leave_probes(op);
    }
    pump(r);
}

bool nof_lane_zombie(struct nof_op *op, const struct nof_comp *c)
{
    struct nof_rank *r = op->rank;
    if (!op->claim.taken && !op->answered)
        return false;
    if (c->opcode == NOF_COMP_CANCEL) {
        if (op->cancel_out) { /* the program's own came first */
            op->cancel_out = false;
            return true;
        }
        op->answered = false;
        nof_claim_close(&r->claims, &op->claim);
        r->owed--;
        pump(r);
    } else if (c->status == NOF_ENOMATCH) {
        bool counts = op->opcode == NOF_DESC_RECV || op->wait;
        r->nomatches_seen += counts;
        r->spilling |= counts;
    } else if (op->claim.taken) {
        nof_cluster_fail(r->world->cluster, "%s: operation %u ends with \"%s\", but its host has taken it",
                         r->name, op->index, nof_strstatus(c->status));
    }
    return true;
}

bool nof_lane_settled(const struct nof_rank *r)
{
    return r->held == NULL && r->lane == NULL && r->owed == 0 && r->claims.in_use == 0;
}

void nof_lane_finish(struct nof_op *op)
{
    leave_probes(op);
}

void nof_lane_end(struct nof_rank *r)
{
    r->held = r->probes = NULL;
    while (r->local != NULL) {
        struct nof_lane_message *l = r->local;
        r->local = l->next;
        l->gone = true;
        sent(l, NOF_EPEERDEAD);
    }
}

void nof_lane_clear(struct nof_world *w)
{
    while (w->local != NULL) {
        struct nof_lane_message *l = w->local;
        w->local = l->every;
        free(l);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rules, checked when everything has ended. Receives are known in order of posting and messages
 * in order of sending:
 *
 * 1. What a receive got is a message of that source, context and tag, whole and with its length, and
 *    nobody else got it. Between ranks that nothing parted no message is missing.
 * 2. If a receive could have taken an earlier message of the same source, that one was taken by a
 *    receive posted before.
 * 3. If a receive posted earlier could have taken the message, it had been cancelled by then.
 * 4. A synchronous send has not ended before its receive was posted.
 * 5. A send that was cancelled went to nobody, as if it had never been.
 *
 * The payload tells which message it is, if it has eight bytes; shorter ones are dealt in order. A
 * waiting MPROBE matches at some time between its submission and its answer: it is before a receive
 * only if it was answered before, and behind it only if it was submitted behind. */
#include "grants.h"
#include "world.h"

struct pair {
    struct nof_world *w;
    struct nof_rank *src, *dst;
    bool parted; /* messages may be missing */
};

static bool is_taker(const struct nof_op *op, int32_t src)
{
    bool kind = (op->opcode == NOF_DESC_RECV && !op->internal) || op->opcode == NOF_DESC_MPROBE;
    return kind && op->found && op->got_peer == src;
}

static bool fits(const struct nof_op *op, const struct nof_message *m)
{
    if (m->src->number != op->got_peer || m->dst != op->rank || m->ctx != op->ctx || m->tag != op->got_tag)
        return false;
    if (op->status != NOF_OK && op->status != NOF_ETRUNC)
        return true; /* its payload never came */
    return op->got_len == m->len && op->word == nof_payload_word(m->id, op->word_bytes);
}

static bool payload_names_message(const struct nof_op *op)
{
    return op->word_bytes == 8 && (op->status == NOF_OK || op->status == NOF_ETRUNC);
}

/* 2: its payload names the message; 1: length and a few bytes; 0: it failed after it had matched. */
static int knowledge(const struct nof_op *op)
{
    if (op->status != NOF_OK && op->status != NOF_ETRUNC)
        return 0;
    return payload_names_message(op) ? 2 : 1;
}

/* Rule 1 for one taker. */
static void assign(const struct pair *p, struct nof_op *op, struct nof_message **list, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct nof_message *m = list[i];
        if (m->match != NULL || m->cancelled || !fits(op, m))
            continue;
        op->msg = m;
        m->match = op;
        if (m->after_death)
            nof_cluster_fail(p->w->cluster, "%s got a message that %s sent after it had been declared dead",
                             p->dst->name, p->src->name);
        return;
    }
    nof_cluster_fail(
        p->w->cluster,
        "%s: receive %u (ctx %u, tag %d, %llu bytes) got a message of %s that was never sent, or twice",
        p->dst->name, op->index, op->ctx, op->got_tag, (unsigned long long)op->got_len, p->src->name);
}

static bool could_take(const struct nof_op *op, const struct nof_message *m)
{
    return nof_pattern_accepts(op->ctx, op->peer, op->tag, m->ctx, m->src->number, m->tag);
}

/* Surely not behind b in the order of posting. */
static bool posted_before(const struct nof_op *a, const struct nof_op *b)
{
    uint32_t a_latest = a->opcode == NOF_DESC_MPROBE && a->wait ? a->done_index : a->index;
    return a_latest < b->index;
}

/* Was its message dealt, and could it have been another one: a waiting MPROBE was among the takers, or
 * messages are missing? */
static bool guessed(const struct pair *p, const struct nof_op *op)
{
    return !payload_names_message(op) && (op->rank->waited_mprobe || p->parted);
}

/* Rule 2. */
static void check_overtaking(const struct pair *p, struct nof_message **list, unsigned n)
{
    for (unsigned j = 0; j < n; j++) {
        for (unsigned i = 0; i < j; i++) {
            const struct nof_op *early = list[i]->match, *late = list[j]->match;
            if (early == NULL || late == NULL || !could_take(late, list[i]) || !posted_before(late, early))
                continue;
            if (guessed(p, early) || guessed(p, late))
                continue;
            nof_cluster_fail(p->w->cluster,
                             "%s: receive %u got message %u of %s although message %u was there before it",
                             p->dst->name, late->index, list[j]->order, p->src->name, list[i]->order);
        }
    }
}

/* Rule 3 for one message. */
static void check_posting(const struct pair *p, const struct nof_message *m)
{
    const struct nof_op *taker = m->match;
    for (uint32_t i = 0; taker != NULL && i < taker->index; i++) {
        const struct nof_op *op = p->dst->op[i];
        if (op->opcode != NOF_DESC_RECV || op->internal || op->found || !could_take(op, m))
            continue;
        if (taker->opcode == NOF_DESC_MPROBE && taker->wait)
            continue; /* it may have matched before op was posted */
        if (op->cancelled && op->cancel_ns <= taker->done_ns)
            continue;
        if (op->status != NOF_OK && op->status != NOF_ECANCELED && op->state == NOF_OP_DONE)
            continue; /* ended by the death of somebody */
        nof_cluster_fail(p->w->cluster,
                         "%s: message %u of %s went to receive %u although receive %u was posted before",
                         p->dst->name, m->order, p->src->name, taker->index, op->index);
    }
}

/* Rule 4. */
static void check_synchronous(const struct pair *p, const struct nof_message *m)
{
    if (m->sync && m->done_ns != 0 && m->match != NULL && !guessed(p, m->match) &&
        m->done_ns < m->match->posted_ns)
        nof_cluster_fail(
            p->w->cluster,
            "%s: synchronous message %u to %s was reported done before its receive %u was posted",
            p->src->name, m->order, p->dst->name, m->match->index);
}

static void verify_pair(const struct pair *p)
{
    struct nof_world *w = p->w;
    struct nof_message **list = nof_world_alloc(w, (w->nmessages + 1) * sizeof(struct nof_message *));
    unsigned n = 0;
    for (uint32_t order = 0; order < p->src->sent[p->dst->number]; order++) {
        for (unsigned i = 0; i < w->nmessages; i++) {
            struct nof_message *m = w->message[i];
            if (m->submitted && m->src == p->src && m->dst == p->dst && m->order == order)
                list[n++] = m;
        }
    }
    /* Those that know most first, so that no guess takes a message from them. */
    for (int known = 2; known >= 0; known--) {
        for (unsigned i = 0; i < p->dst->nops; i++) {
            struct nof_op *op = p->dst->op[i];
            if (is_taker(op, p->src->number) && knowledge(op) == known)
                assign(p, op, list, n);
        }
    }
    for (unsigned i = 0; i < n && !p->parted; i++) {
        if (list[i]->match == NULL && !list[i]->cancelled)
            nof_cluster_fail(w->cluster, "message %u of %s to %s (ctx %u, tag %d, %llu bytes) was lost",
                             list[i]->order, p->src->name, p->dst->name, list[i]->ctx, list[i]->tag,
                             (unsigned long long)list[i]->len);
        check_posting(p, list[i]);
        check_synchronous(p, list[i]);
    }
    check_overtaking(p, list, n);
    nof_world_free(w, list, (w->nmessages + 1) * sizeof(struct nof_message *));
}

void nof_verify(struct nof_world *w)
{
    for (unsigned s = 0; s < w->nranks; s++) {
        for (unsigned d = 0; d < w->nranks; d++) {
            struct pair p = {.w = w, .src = w->rank[s], .dst = w->rank[d]};
            p.parted = w->suspect[s][d] || w->faulty_percent > 0;
            if (p.src->job == p.dst->job && p.dst->alive)
                verify_pair(&p);
        }
    }
    for (unsigned i = 0; i < w->nranks; i++)
        nof_delta_boards_verify(w->rank[i]);
    for (unsigned i = 0; i < nof_cluster_nnics(w->cluster); i++) {
        nof_verify_grants(w->cluster, i);
        uint64_t left = nof_nic_counters(nof_cluster_nic(w->cluster, i))[NOF_C_NETMEM_BYTES];
        if (left != 0)
            nof_cluster_fail(w->cluster, "NIC %u is quiet and keeps %llu bytes of network memory", i,
                             (unsigned long long)left);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Delta messages of the model hosts (nof/delta.h). A send's units become ready in random groups at random times, and its
 * buffer holds junk wherever none is. A receive is looked at whenever its NIC says that something has changed:
 *
 * 1. A unit whose bit is set holds the bytes of one and the same message, of that source, context, tag and length.
 * 2. Nothing that has come goes away, and nothing comes untold.
 * 3. DONE is there before the completion, says the same, and the payload is in the buffer by then.
 * 4. A receive that was never posted is PLAIN when it completes.
 * 5. Boards of an endpoint that is closed are left alone. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define JUNK 0xa5
#define GROUPS_MAX 12u

void nof_delta_plan(struct nof_world *w)
{
    /* Beside the world's own numbers: a world without delta messages is the one that its seed has always made. */
    struct nof_rng aside = {.state = nof_rng_mix(w->rng.state ^ 0xde17a)};
    if (nof_rng_chance(&aside, 40))
        return;
    w->delta_percent = (unsigned)nof_rng_between(&aside, 5, 60);
    w->delta_slots = nof_rng_chance(&aside, 50) ? NOF_DELTA_SLOTS : (unsigned)nof_rng_between(&aside, 1, 4);
    w->delta_rng.state = nof_rng_next(&aside);
}

void nof_delta_boards(struct nof_rank *r)
{
    struct nof_world *w = r->world;
    if (w->delta_percent == 0)
        return;
    r->delta_host = nof_world_alloc(w, sizeof(*r->delta_host));
    r->delta_nic = nof_world_alloc(w, sizeof(*r->delta_nic));
    memset(r->delta_host, 0, sizeof(*r->delta_host));
    memset(r->delta_nic, 0, sizeof(*r->delta_nic));
}

void nof_delta_boards_taken(struct nof_rank *r)
{
    r->delta_boards_taken = r->delta_nic != NULL;
    if (r->delta_boards_taken)
        memset(r->delta_nic, JUNK, sizeof(*r->delta_nic));
}

void nof_delta_boards_verify(const struct nof_rank *r)
{
    const uint8_t *at = (const uint8_t *)r->delta_nic;
    if (r->delta_boards_taken && (at[0] != JUNK || memcmp(at, at + 1, sizeof(*r->delta_nic) - 1) != 0))
        nof_cluster_fail(r->world->cluster, "%s: its NIC wrote to its boards after its endpoint was closed",
                         r->name);
}

void nof_delta_boards_free(struct nof_rank *r)
{
    nof_world_free(r->world, r->delta_host, sizeof(*r->delta_host));
    nof_world_free(r->world, r->delta_nic, sizeof(*r->delta_nic));
}

/* A slot for op among those of its kind; false: it is none of these messages. */
static bool take_slot(struct nof_op *op, struct nof_op **slots)
{
    struct nof_world *w = op->rank->world;
    if (w->delta_percent == 0 || !nof_rng_chance(&w->delta_rng, w->delta_percent))
        return false;
    unsigned slot = (unsigned)nof_rng_below(&w->delta_rng, w->delta_slots);
    if (slots[slot] != NULL)
        return false;
    slots[slot] = op;
    op->delta = slot + 1;
    op->desc.flags |= NOF_DESC_F_DELTA;
    return true;
}

void nof_delta_finish(struct nof_op *op)
{
    struct nof_rank *r = op->rank;
    if (op->delta == 0)
        return;
    if (op->opcode == NOF_DESC_SEND)
        r->delta_send[op->delta - 1] = NULL;
    else
        r->delta_recv[op->delta - 1] = NULL;
    op->delta = 0;
    op->desc.flags &= (uint8_t)~NOF_DESC_F_DELTA;
    free(op->flat);
    free(op->arrived);
    op->flat = NULL;
    op->arrived = NULL;
}

static uint8_t *payload_of(const struct nof_message *m)
{
    uint8_t *flat = malloc(m->len + 8);
    if (flat == NULL)
        abort();
    nof_payload_fill(flat, m->id, m->len);
    return flat;
}

static uint64_t units_of(uint64_t bytes, uint32_t unit_log2)
{
    uint64_t units = (bytes + ((uint64_t)1 << unit_log2) - 1) >> unit_log2;
    return units < NOF_DELTA_UNITS ? units : NOF_DELTA_UNITS;
}

/* What the host says is ready from here on. */
static void ring(struct nof_op *op)
{
    struct nof_rank *r = op->rank;
    r->delta_host->rung |= (uint64_t)1 << (op->delta - 1);
    nof_cluster_kick(r->world->cluster, r->nic);
}

static struct nof_delta_ready *ready_of(const struct nof_op *op)
{
    return &op->rank->delta_host->ready[op->delta - 1];
}

/* The group in which a unit becomes ready; the last one: with the end. */
static unsigned group_of(const struct nof_op *op, uint64_t unit)
{
    return (unsigned)(nof_rng_mix(op->msg->id << 16 ^ unit >> op->group_log2) % (op->groups + 1));
}

static void become_ready(struct nof_cluster *c, void *user, uint64_t group)
{
    struct nof_op *op = user;
    (void)c;
    if (!op->rank->alive || op->delta == 0 || ready_of(op)->end != 0)
        return;
    const struct nof_message *m = op->msg;
    uint64_t unit_bytes = (uint64_t)1 << m->unit_log2;
    uint64_t units = units_of(m->bound, m->unit_log2);
    for (uint64_t u = 0; u < units; u++) {
        uint64_t at = u << m->unit_log2;
        uint64_t n = m->bound - at < unit_bytes ? m->bound - at : unit_bytes;
        if (at + n > m->len || group_of(op, u) != group)
            continue;
        nof_buffer_put(&op->buf, op->flat + at, at, n);
        ready_of(op)->unit[u / 64] |= (uint64_t)1 << u % 64;
    }
    if (!nof_rng_chance(&op->rank->world->delta_rng, 25)) /* else with the next ones */
        ring(op);
}

static void go(struct nof_op *op)
{
    op->wanted = false;
    op->desc.flags &= (uint8_t)~NOF_DESC_F_DELTA;
    op->desc.len = op->msg->len;
    nof_op_granted(op, op->grant_handle, op->grant_len);
}

void nof_delta_granted(struct nof_op *op, uint64_t handle, uint64_t granted_len)
{
    op->wanted = true;
    op->grant_handle = handle;
    op->grant_len = granted_len;
    if (ready_of(op)->end != 0)
        go(op);
}

static void become_whole(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_op *op = user;
    (void)c;
    (void)arg;
    if (!op->rank->alive || op->delta == 0)
        return;
    nof_buffer_put(&op->buf, op->flat, 0, op->msg->len);
    ready_of(op)->end = 1 + op->msg->len;
    if (op->wanted)
        go(op);
    else
        ring(op);
}

bool nof_delta_send_take(struct nof_op *op)
{
    struct nof_rng *rng = &op->rank->world->delta_rng;
    struct nof_message *m = op->msg;
    if (!take_slot(op, op->rank->delta_send))
        return false;
    m->delta = true;
    m->bound = m->len + (nof_rng_chance(rng, 50) ? 0 : nof_rng_below(rng, m->len / 2 + 200));
    m->unit_log2 = nof_delta_unit_log2(m->bound, (uint32_t)nof_rng_between(rng, 1, 14));
    bool none = nof_rng_mix(m->id ^ 0x51075) % 8 == 0;
    op->desc.handle = nof_delta_handle(none ? NOF_DELTA_NO_SLOT : op->delta - 1, m->unit_log2);
    return true;
}

void nof_delta_send_plan(struct nof_op *op)
{
    static const uint64_t spans_ns[] = {1, 2000, 50000, 500000, 3000000};
    struct nof_cluster *c = op->rank->world->cluster;
    struct nof_rng *rng = &op->rank->world->delta_rng;
    uint64_t span_ns = spans_ns[nof_rng_below(rng, sizeof(spans_ns) / sizeof(spans_ns[0]))];
    memset(op->buf.mem, JUNK, op->buf.span);
    memset(ready_of(op), 0, sizeof(*ready_of(op)));
    op->flat = payload_of(op->msg);
    op->groups = (unsigned)nof_rng_between(rng, 0, GROUPS_MAX);
    op->group_log2 = (unsigned)nof_rng_below(rng, 8);
    for (unsigned g = 0; g < op->groups; g++)
        nof_cluster_at(c, nof_cluster_now(c) + nof_rng_below(rng, span_ns), become_ready, op, g);
    uint64_t end_ns =
        nof_rng_chance(rng, 70) ? span_ns + nof_rng_below(rng, span_ns) : nof_rng_below(rng, span_ns);
    nof_cluster_at(c, nof_cluster_now(c) + end_ns, become_whole, op, 0);
}

void nof_delta_recv_take(struct nof_op *op)
{
    if (!take_slot(op, op->rank->delta_recv))
        return;
    op->desc.handle = nof_delta_handle(op->delta - 1, 0);
    memset(op->buf.mem, JUNK, op->buf.span);
    op->delta_taken = false;
    op->delta_msg = NULL;
    op->arrived = calloc(1, sizeof(*op->arrived));
    if (op->arrived == NULL)
        abort();
}

static bool holds(const struct nof_op *op, const struct nof_message *m, const uint8_t *flat, uint64_t unit,
                  uint32_t unit_log2)
{
    uint64_t stored = m->len < op->capacity ? m->len : op->capacity;
    uint64_t at = unit << unit_log2;
    uint64_t n = stored > at ? stored - at : 0;
    if (n > (uint64_t)1 << unit_log2)
        n = (uint64_t)1 << unit_log2;
    return nof_buffer_holds(&op->buf, flat + at, at, n);
}

/* Do the units of `bits` hold those bytes? */
static bool all_hold(const struct nof_op *op, const struct nof_message *m, const uint8_t *flat,
                     const uint64_t *bits, uint32_t unit_log2)
{
    for (uint64_t w = 0; w < NOF_DELTA_WORDS; w++)
        for (uint64_t left = bits[w]; left != 0; left &= left - 1)
            if (!holds(op, m, flat, w * 64 + (uint64_t)__builtin_ctzll(left), unit_log2))
                return false;
    return true;
}

static bool may_be(const struct nof_op *op, const struct nof_delta_arrival *a, const struct nof_message *m)
{
    if (!m->submitted || m->cancelled || m->dst != op->rank || m->src->number != a->peer ||
        m->src->job != op->rank->job || m->ctx != op->ctx || m->tag != a->tag)
        return false;
    if (!m->delta)
        return m->len == a->len && a->unit_log2 == nof_delta_unit_log2(m->len, 12);
    return a->len == m->bound &&
           (a->unit_log2 == m->unit_log2 || a->unit_log2 == nof_delta_unit_log2(m->bound, 12)); /* parked */
}

/* Rule 1: some message that can be it has all that the bits say. */
static bool find_message(struct nof_op *op, const struct nof_delta_arrival *a)
{
    struct nof_world *w = op->rank->world;
    for (unsigned i = 0; i < w->nmessages; i++) {
        const struct nof_message *m = w->message[i];
        if (!may_be(op, a, m))
            continue;
        uint8_t *flat = payload_of(m);
        if (all_hold(op, m, flat, a->unit, a->unit_log2)) {
            free(op->flat);
            op->flat = flat;
            op->delta_msg = m;
            return true;
        }
        free(flat);
    }
    return false;
}

static void broken(const struct nof_op *op, const char *what)
{
    const struct nof_delta_arrival *a = &op->rank->delta_nic->arrival[op->delta - 1];
    nof_cluster_fail(op->rank->world->cluster,
                     "%s: delta receive %u of %llu bytes in slot %u (state %u, rank %d, tag %d, %llu of %llu "
                     "bytes in units of 2^%u) %s",
                     op->rank->name, op->index, (unsigned long long)op->capacity, op->delta - 1, a->state,
                     a->peer, a->tag, (unsigned long long)a->bytes, (unsigned long long)a->len, a->unit_log2,
                     what);
}

/* Rule 3, of what is there before the completion. */
static void look_at_done(const struct nof_op *op, const struct nof_delta_arrival *a)
{
    uint64_t stored = a->len < op->capacity ? a->len : op->capacity;
    uint64_t word;
    unsigned bytes;
    if (a->status != NOF_OK)
        return;
    if (a->bytes != stored || !nof_buffer_check(op->rank->world, &op->buf, stored, &word, &bytes))
        broken(op, "is done and has not all of its payload");
    if (a->unit_log2 < 52 && stored > (uint64_t)NOF_DELTA_UNITS << a->unit_log2)
        broken(op, "is done in units that are too small for it");
    for (uint64_t u = 0; u < units_of(stored, a->unit_log2); u++)
        if ((a->unit[u / 64] >> u % 64 & 1) == 0) {
            broken(op, "is done without the bit of a unit");
            return;
        }
}

static void look_at_units(struct nof_op *op, const struct nof_delta_arrival *a)
{
    uint64_t fresh[NOF_DELTA_WORDS];
    for (unsigned w = 0; w < NOF_DELTA_WORDS; w++) {
        if ((op->arrived->unit[w] & ~a->unit[w]) != 0) {
            broken(op, "has lost a unit");
            return;
        }
        fresh[w] = a->unit[w] & ~op->arrived->unit[w];
    }
    if (a->bytes < op->arrived->bytes)
        broken(op, "has lost bytes");
    if (op->delta_msg != NULL && all_hold(op, op->delta_msg, op->flat, fresh, a->unit_log2))
        return;
    if (!find_message(op, a))
        broken(op, "says that units have arrived which are of no message");
}

static void look(struct nof_op *op, bool told)
{
    const struct nof_delta_arrival *a = &op->rank->delta_nic->arrival[op->delta - 1];
    if (!op->delta_taken) {
        if (a->state != NOF_DELTA_POSTED)
            return; /* what the one before it has left, or PLAIN */
        op->delta_taken = true;
        *op->arrived = (struct nof_delta_arrival){.state = NOF_DELTA_POSTED};
    }
    if (memcmp(op->arrived, a, sizeof(*a)) == 0)
        return;
    if (!told)
        broken(op, "has changed untold");
    bool onward = a->state == op->arrived->state
                      ? a->state == NOF_DELTA_MATCHED
                      : a->state > op->arrived->state && a->state <= NOF_DELTA_DONE;
    if (!onward)
        broken(op, "goes to that state from another");
    else if (a->state == NOF_DELTA_MATCHED)
        look_at_units(op, a);
    else if (a->state == NOF_DELTA_DONE)
        look_at_done(op, a);
    *op->arrived = *a;
}

void nof_delta_look(struct nof_rank *r, bool told)
{
    for (unsigned i = 0; r->delta_nic != NULL && i < r->world->delta_slots; i++)
        if (r->delta_recv[i] != NULL)
            look(r->delta_recv[i], told);
}

void nof_delta_recv_done(struct nof_op *op, const struct nof_comp *c)
{
    if (op->delta == 0)
        return;
    const struct nof_delta_arrival *a = &op->rank->delta_nic->arrival[op->delta - 1];
    int status = c->status == NOF_ETRUNC ? NOF_OK : c->status;
    if (!op->delta_taken && a->state != NOF_DELTA_PLAIN)
        broken(op, "completes, and is not PLAIN although it was never posted");
    else if (op->delta_taken && (a->state != NOF_DELTA_DONE || a->status != status))
        broken(op, "is not done as its completion says");
    else if (op->delta_taken && status == NOF_OK &&
             (a->peer != c->peer || a->tag != c->tag || a->len != c->len))
        broken(op, "has another message than its completion");
    else if (op->delta_taken && a->bytes > 0 && (c->flags & (NOF_COMP_F_STAGED | NOF_COMP_F_INLINE)) != 0)
        broken(op, "has its payload elsewhere than in its buffer");
    nof_delta_finish(op);
}

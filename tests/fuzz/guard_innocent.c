/* SPDX-License-Identifier: BSD-3-Clause */
#include "guard_innocent.h"

#include <string.h>

#include "guard_delta.h"

#define MS 1000000ull
#define FIRST_SLOT 2u /* of delta messages: one for each pair */
#define TIMES 6u /* that units become ready */
#define LONGER 700u /* bytes that a delta send could have, and has not */

/* What was made last, for each pair: units are looked at again and again. */
static struct {
    uint8_t bytes[GUARD_LARGE];
    uint64_t len;
    uint32_t id;
} made[GUARD_PAIRS];

/* Messages of job B: a secret word, then one that says which message and where, and so on. */
static uint64_t word_of(uint32_t id, uint64_t i)
{
    return ((uint64_t)id << 32 | i) * 0xd6e8feb86659fd93ull;
}

static void fill_message(uint8_t *at, uint64_t len, uint32_t id)
{
    uint64_t i = 8, w;
    guard_fill_secret(at, len);
    for (; i + sizeof w <= len; i += 16) {
        w = word_of(id, i);
        memcpy(at + i, &w, sizeof w);
    }
    w = word_of(id, i);
    if (i < len)
        memcpy(at + i, &w, len - i);
}

static const uint8_t *message(uint64_t len, uint32_t id)
{
    unsigned i = id % GUARD_PAIRS;
    if (made[i].len != len || made[i].id != id)
        fill_message(made[i].bytes, len, id);
    made[i].len = len;
    made[i].id = id;
    return made[i].bytes;
}

static void check_message(const uint8_t *at, uint64_t len, uint32_t id)
{
    if (len > 0 && memcmp(at, message(len, id), len) != 0)
        guard_fail("message %u of job B arrives damaged", id);
}

void guard_innocent_taken(struct guard *g, unsigned rank, const struct nof_comp *c)
{
    unsigned i = (unsigned)c->tag % GUARD_PAIRS;
    const struct guard_op *first = &g->op[GUARD_OPS_A];
    for (unsigned k = 0; k < GUARD_PAIRS; k++) /* one more than a NIC need have room for */
        if (g->pair[k].delta && first[2 * k].desc.cookie == c->cookie &&
            (c->opcode == NOF_COMP_PARKED || c->opcode == NOF_COMP_GRANT))
            return;
    if (c->opcode != NOF_COMP_RECV && c->opcode != NOF_COMP_SEND)
        guard_fail("job B: completion %u, status %d", c->opcode, c->status);
    if (c->status != NOF_OK || c->len != g->pair[i].len || (uint32_t)c->tag != g->pair[i].id)
        guard_fail("job B: message %d, opcode %u: status %d, %llu bytes", c->tag, c->opcode, c->status,
                   (unsigned long long)c->len);
    if (c->opcode == NOF_COMP_SEND) {
        g->pair[i].sent = 1;
        return;
    }
    const struct world_rank *wr = world_rank(g->w, rank);
    const uint8_t *at = wr->arena + (size_t)GUARD_SMALLS * GUARD_SMALL;
    if (g->pair[i].len <= GUARD_SMALL)
        at = wr->arena + (size_t)(2 + i) * GUARD_SMALL;
    if (c->flags & NOF_COMP_F_INLINE)
        at = c->inline_data;
    else if (c->flags & NOF_COMP_F_STAGED)
        at = wr->staging + c->staged_offset;
    check_message(at, g->pair[i].len, g->pair[i].id);
    g->pair[i].arrived = 1;
}

static struct guard_op *take_b(struct guard *g, unsigned rank, uint8_t opcode, unsigned i)
{
    struct guard_op *op = &g->op[GUARD_OPS_A + 2 * i + (opcode == NOF_COMP_RECV)];
    uint8_t *arena = world_rank(g->w, rank)->arena;
    if (op->state != GUARD_FREE)
        guard_fail("an operation of job B was left behind");
    uint64_t len = g->pair[i].len;
    uint8_t *at = arena + (size_t)GUARD_SMALLS * GUARD_SMALL;
    if (len <= GUARD_SMALL)
        at = arena + (size_t)(i + (opcode == NOF_COMP_RECV ? 2 : 0)) * GUARD_SMALL;
    *op = (struct guard_op){.opcode = opcode, .rank = (uint16_t)rank, .base = at, .len = len, .extent = len};
    op->desc = (struct nof_desc){.opcode = opcode,
                                 .ctx = 1,
                                 .cookie = 0x100u + g->serial++,
                                 .peer = rank == g->innocent[0] ? 1 : 0,
                                 .tag = (int32_t)g->pair[i].id,
                                 .elem = NOF_ELEM_I64,
                                 .len = len,
                                 .addr = (uint64_t)(uintptr_t)at};
    return op;
}

static uint32_t slot_of(unsigned i)
{
    return FIRST_SLOT + i;
}

/* Its units are ready one after the other; until then their bytes are others. */
static void make_delta(struct guard *g, unsigned i, struct guard_op *send, struct guard_op *recv)
{
    send->desc.flags = recv->desc.flags = NOF_DESC_F_DELTA;
    send->desc.len += LONGER;
    send->desc.handle = nof_delta_handle(slot_of(i), g->pair[i].unit_log2);
    recv->desc.handle = nof_delta_handle(slot_of(i), 0);
    guard_fill_secret(send->base, send->len);
    memset(&world_rank(g->w, send->rank)->delta_host->ready[slot_of(i)], 0, sizeof(struct nof_delta_ready));
}

static void begin(struct guard *g, unsigned from, uint64_t len, uint32_t unit_log2)
{
    unsigned i = g->messages % GUARD_PAIRS;
    for (unsigned k = 0; k < GUARD_PAIRS; k++)
        if (g->pair[k].used && (k == i || (len > GUARD_SMALL && g->pair[k].len > GUARD_SMALL)))
            return; /* there is one large buffer */
    unsigned rank[2] = {g->innocent[from & 1], g->innocent[(from & 1) ^ 1]};
    g->pair[i].used = 1;
    g->pair[i].from = from & 1;
    g->pair[i].id = g->messages++;
    g->pair[i].len = len;
    g->pair[i].arrived = g->pair[i].sent = 0;
    g->pair[i].delta = unit_log2 != 0;
    g->pair[i].unit_log2 = unit_log2;
    g->pair[i].units_ready = 0;
    g->pair[i].bytes_seen = 0;
    g->pair[i].ended = g->pair[i].wanted = 0;
    struct guard_op *recv = take_b(g, rank[1], NOF_COMP_RECV, i);
    struct guard_op *send = take_b(g, rank[0], NOF_COMP_SEND, i);
    recv->desc.elem = 0;
    world_touch(g->w, rank[0], send->base, len + LONGER);
    if (unit_log2 != 0)
        make_delta(g, i, send, recv);
    else
        memcpy(send->base, message(len, g->pair[i].id), len);
    guard_post(g, recv);
    guard_post(g, send);
}

void guard_innocent(struct guard *g, unsigned from, uint64_t len)
{
    begin(g, from, len, 0);
}

void guard_innocent_delta(struct guard *g, unsigned from, uint64_t len, uint32_t least_log2)
{
    begin(g, from, len, nof_delta_unit_log2(len + LONGER, least_log2));
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Once all of it is ready; it may have become shorter. */
static void submit_again(struct guard *g, unsigned i)
{
    struct guard_op *op = &g->op[GUARD_OPS_A + 2 * i];
    op->desc.len = g->pair[i].len;
    g->pair[i].wanted = 0; /* it may be parked and granted once more */
    guard_post(g, op);
}

void guard_innocent_granted(struct guard *g, struct guard_op *op)
{
    unsigned i = (unsigned)(op - &g->op[GUARD_OPS_A]) / 2;
    if (!g->pair[i].delta || g->pair[i].wanted)
        guard_fail("job B: message %u is granted", g->pair[i].id);
    g->pair[i].wanted = 1;
    if (g->pair[i].ended)
        submit_again(g, i);
}

/* Some more units are ready, in an order of their own; the last of them with the end. */
static void more_ready(struct guard *g, unsigned i)
{
    struct nof_delta_host *host = world_rank(g->w, g->innocent[g->pair[i].from])->delta_host;
    struct nof_delta_ready *ready = &host->ready[slot_of(i)];
    uint8_t *at = g->op[GUARD_OPS_A + 2 * i].base;
    uint64_t len = g->pair[i].len, size = 1ull << g->pair[i].unit_log2;
    uint64_t units = len / size; /* what is ready of a unit is ready with the end */
    const uint8_t *wanted = message(len, g->pair[i].id);
    for (uint64_t n = 0; n < units / TIMES + 1 && g->pair[i].units_ready < units - units / 4; n++) {
        uint64_t k = g->pair[i].units_ready++;
        uint64_t u = units % 7 != 0 ? (k * 7 + g->pair[i].id) % units : units - 1 - k;
        memcpy(at + u * size, wanted + u * size, size);
        ready->unit[u / 64] |= 1ull << u % 64;
    }
    if (g->pair[i].units_ready >= units - units / 4) {
        memcpy(at, wanted, len);
        ready->end = 1 + len;
        g->pair[i].ended = 1;
    }
    if (g->op[GUARD_OPS_A + 2 * i].state == GUARD_LIVE)
        host->rung |= 1ull << slot_of(i);
    else if (g->pair[i].ended && g->pair[i].wanted)
        submit_again(g, i);
}

/* What the receiver's board says to be there is there. */
static void check_units(struct guard *g, unsigned i)
{
    const struct world_rank *to = world_rank(g->w, g->innocent[g->pair[i].from ^ 1]);
    const struct nof_delta_arrival *a = &to->delta_nic->arrival[slot_of(i)];
    const uint8_t *at = g->op[GUARD_OPS_A + 2 * i + 1].base;
    uint64_t len = g->pair[i].len;
    bool parked = g->was_parked[g->op[GUARD_OPS_A + 2 * i].desc.cookie % GUARD_SERIALS];
    if (a->state != NOF_DELTA_MATCHED || g->pair[i].arrived || a->bytes == g->pair[i].bytes_seen)
        return;
    g->pair[i].bytes_seen = a->bytes;
    if ((a->unit_log2 != g->pair[i].unit_log2 && !parked) || a->tag != (int32_t)g->pair[i].id)
        guard_fail("job B: units of another message");
    const uint8_t *wanted = message(len, g->pair[i].id);
    const uint64_t size = 1ull << a->unit_log2;
    for (uint64_t u = 0; u * size < len; u++)
        if (a->unit[u / 64] >> u % 64 & 1 &&
            memcmp(at + u * size, wanted + u * size, least(size, len - u * size)) != 0)
            guard_fail("job B: unit %llu of message %u arrives damaged", (unsigned long long)u,
                       g->pair[i].id);
}

static int innocent_done(struct guard *g)
{
    int done = 1;
    for (unsigned i = 0; i < 2; i++)
        guard_reap(g, g->innocent[i], 0);
    for (unsigned i = 0; i < GUARD_PAIRS; i++) {
        if (g->pair[i].used && g->pair[i].arrived && g->pair[i].sent)
            g->pair[i].used = 0;
        if (g->pair[i].used && g->pair[i].delta) {
            check_units(g, i);
            if (!g->pair[i].ended)
                more_ready(g, i);
        }
        done &= !g->pair[i].used;
    }
    return done;
}

void guard_run(struct guard *g, uint64_t ns)
{
    world_run_for(g->w, ns);
    guard_delta_look(g);
    guard_delta_look_back(g);
    (void)innocent_done(g);
}

void guard_innocent_settle(struct guard *g, const char *when)
{
    for (unsigned k = 0; k < 60; k++) {
        if (innocent_done(g))
            return;
        world_run_for(g->w, k < 40 ? MS / 10 : 100 * MS);
    }
    guard_fail("a message of job B never arrives, %s", when);
}

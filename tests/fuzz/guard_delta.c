/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The boards of delta receives (nof/delta.h) of honest ranks, held against the bytes that were written. */
#include "guard_delta.h"

#include <string.h>

/* Of each operation whose board is looked at: bytes of its buffer that were written, 1 each; units that were told; where the
 * last of them ends, if only its beginning was written, or 0. */
static uint8_t came[GUARD_OPS][GUARD_LARGE];
static uint64_t told[GUARD_OPS][NOF_DELTA_WORDS];
static uint64_t short_end[GUARD_OPS];
static struct nof_delta_arrival over[WORLD_RANKS][NOF_DELTA_SLOTS]; /* of slots_over */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static const struct nof_delta_arrival *board_of(const struct guard *g, unsigned rank, uint64_t slot)
{
    return &world_rank(g->w, rank)->delta_nic->arrival[slot];
}

static bool is_delta_recv(const struct nof_desc *d)
{
    return d->opcode == NOF_DESC_RECV && (d->flags & NOF_DESC_F_DELTA) != 0;
}

void guard_delta_post(struct guard *g, struct guard_op *op)
{
    unsigned index = (unsigned)(op - g->op);
    uint64_t slot = op->desc.handle;
    bool shared = false;
    if (!g->rank[op->rank].honest || !is_delta_recv(&op->desc) || slot >= NOF_DELTA_SLOTS)
        return;
    g->rank[op->rank].slots_over &= ~(1ull << slot);
    for (unsigned i = 0; i < GUARD_OPS; i++) {
        struct guard_op *other = &g->op[i];
        if (other == op || other->state != GUARD_LIVE || other->rank != op->rank ||
            !is_delta_recv(&other->desc) || other->desc.handle != slot)
            continue;
        other->slot = 0; /* whose the board is depends on whether the core has given its completion yet */
        shared = true;
    }
    if (shared || op->block != 0)
        return;
    op->slot = (uint8_t)(slot + 1);
    g->watched[index / 64] |= 1ull << index % 64;
    memset(came[index], 0, op->len);
    memset(told[index], 0, sizeof told[index]);
    short_end[index] = 0;
}

void guard_delta_written(struct guard *g, struct guard_op *op, const struct nof_segment *seg)
{
    if (op->slot == 0)
        return;
    if (board_of(g, op->rank, op->slot - 1u)->state == NOF_DELTA_PLAIN) {
        op->slot = 0;
        return;
    }
    uint8_t *at = came[op - g->op] + (seg->addr - (uint64_t)(uintptr_t)op->base);
    if (memchr(at, 1, seg->len_bytes) != NULL)
        guard_fail("rank %u: bytes of a delta receive are written twice", op->rank);
    memset(at, 1, seg->len_bytes);
}

static void unit_is_there(struct guard *g, const struct guard_op *op, const struct nof_delta_arrival *a,
                          uint64_t unit)
{
    unsigned index = (unsigned)(op - g->op);
    uint64_t limit = least(a->len, op->len), at = unit << a->unit_log2;
    if (at >> a->unit_log2 != unit || at >= limit)
        guard_fail("rank %u: unit %llu of %llu bytes is said to be there", op->rank, (unsigned long long)unit,
                   (unsigned long long)limit);
    uint64_t bytes = least(limit - at, 1ull << a->unit_log2);
    const uint8_t *none = memchr(came[index] + at, 0, bytes);
    if (none == came[index] + at)
        guard_fail("rank %u: unit %llu is said to be there, and was never written", op->rank,
                   (unsigned long long)unit);
    if (none != NULL) { /* then the message has turned out to be shorter */
        short_end[index] = (uint64_t)(none - came[index]);
        if (memchr(none, 1, op->len - short_end[index]) != NULL)
            guard_fail("rank %u: unit %llu is said to be there, and is not whole", op->rank,
                       (unsigned long long)unit);
        bytes = short_end[index] - at;
    }
    if (world_dma_touches(g->w, op->rank, 1, op->base + at, bytes))
        guard_fail("rank %u: unit %llu is said to be there while it is still written", op->rank,
                   (unsigned long long)unit);
}

static void look_at(struct guard *g, const struct guard_op *op)
{
    const struct nof_delta_arrival *a = board_of(g, op->rank, op->slot - 1u);
    uint64_t *before = told[op - g->op];
    if (a->state != NOF_DELTA_POSTED && a->state != NOF_DELTA_MATCHED)
        return; /* of the message before, until the core takes the descriptor */
    if (a->bytes > op->written)
        guard_fail("rank %u: %llu bytes are said to be there, %llu were written", op->rank,
                   (unsigned long long)a->bytes, (unsigned long long)op->written);
    for (uint64_t w = 0; w < NOF_DELTA_WORDS; w++) {
        if (before[w] & ~a->unit[w])
            guard_fail("rank %u: units that were said to be there are not", op->rank);
        for (uint64_t new = a->unit[w] & ~before[w]; new != 0; new &= new - 1)
            unit_is_there(g, op, a, w * 64 + (uint64_t)__builtin_ctzll(new));
        before[w] = a->unit[w];
    }
}

void guard_delta_look(struct guard *g)
{
    for (unsigned w = 0; w < sizeof g->watched / sizeof g->watched[0]; w++)
        for (uint64_t bits = g->watched[w]; bits != 0; bits &= bits - 1) {
            const struct guard_op *op = &g->op[w * 64 + (unsigned)__builtin_ctzll(bits)];
            if (op->state == GUARD_LIVE && op->slot != 0)
                look_at(g, op);
            else
                g->watched[w] &= ~(bits & -bits);
        }
}

void guard_delta_look_back(const struct guard *g)
{
    for (unsigned rank = 0; rank < WORLD_RANKS; rank++)
        for (uint64_t slots = g->rank[rank].slots_over; slots != 0; slots &= slots - 1) {
            unsigned slot = (unsigned)__builtin_ctzll(slots);
            if (memcmp(&over[rank][slot], board_of(g, rank, slot), sizeof over[rank][slot]) != 0)
                guard_fail("rank %u: the board of slot %u changes after the completion", rank, slot);
        }
}

/* What the board says of a message that has come as a whole. */
static void whole(const struct guard *g, const struct guard_op *op, const struct nof_comp *c,
                  const struct nof_delta_arrival *a)
{
    unsigned index = (unsigned)(op - g->op);
    uint64_t want = least(c->len, op->len), units = 0;
    for (uint64_t w = 0; w < NOF_DELTA_WORDS; w++)
        units += (uint64_t)__builtin_popcountll(a->unit[w]);
    if (a->len != c->len || a->bytes != want || a->peer != c->peer || a->tag != c->tag)
        guard_fail("rank %u: the board says %llu of %llu bytes from %d, tag %d", op->rank,
                   (unsigned long long)a->bytes, (unsigned long long)a->len, a->peer, a->tag);
    if (units != (want + (1ull << a->unit_log2) - 1) >> a->unit_log2)
        guard_fail("rank %u: %llu units are said to be there of %llu bytes", op->rank,
                   (unsigned long long)units, (unsigned long long)want);
    if (want > 0 && (c->flags & (NOF_COMP_F_STAGED | NOF_COMP_F_INLINE)))
        guard_fail("rank %u: a delta receive is not in its buffer", op->rank);
    if (memchr(came[index], 0, want) != NULL || (short_end[index] != 0 && short_end[index] != want))
        guard_fail("rank %u: a delta receive has gaps", op->rank);
}

void guard_delta_end(struct guard *g, const struct guard_op *op, const struct nof_comp *c)
{
    if (op->slot == 0 || c->status == NOF_EINVAL)
        return;
    unsigned slot = op->slot - 1u;
    const struct nof_delta_arrival *a = board_of(g, op->rank, slot);
    if (a->state == NOF_DELTA_PLAIN)
        return;
    if (a->state != NOF_DELTA_DONE || a->status != (c->status == NOF_ETRUNC ? NOF_OK : c->status))
        guard_fail("rank %u: a delta receive ends with status %d, its board in state %u with %d", op->rank,
                   c->status, a->state, a->status);
    if (a->status == NOF_OK)
        whole(g, op, c, a);
    over[op->rank][slot] = *a;
    g->rank[op->rank].slots_over |= 1ull << slot;
}

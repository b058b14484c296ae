/* SPDX-License-Identifier: BSD-3-Clause */
#include "guard_claim.h"

static bool names(const struct guard_op *op, unsigned rank, uint64_t handle)
{
    return op->state != GUARD_FREE && op->rank == rank && (op->desc.flags & NOF_DESC_F_CLAIM) &&
           op->desc.handle == handle;
}

static bool in_use(const struct guard *g, unsigned rank, uint32_t slot)
{
    for (unsigned i = 0; i < GUARD_OPS_A; i++)
        if (g->op[i].state != GUARD_FREE && g->op[i].rank == rank &&
            (g->op[i].desc.flags & NOF_DESC_F_CLAIM) && nof_claim_slot(g->op[i].desc.handle) == slot)
            return true;
    return false;
}

bool guard_claim_open(struct guard *g, struct guard_op *op)
{
    uint32_t slot = 0;
    while (slot < GUARD_CLAIMS && in_use(g, op->rank, slot))
        slot++;
    if (slot == GUARD_CLAIMS)
        return false;
    uint32_t generation = ++g->generation;
    world_rank(g->w, op->rank)->claims.word[slot] = nof_claim_word(generation, NOF_CLAIM_OPEN);
    op->desc.flags |= NOF_DESC_F_CLAIM;
    op->desc.handle = nof_claim_handle(slot, generation);
    op->desc.peer = NOF_ANY_SOURCE;
    return true;
}

bool guard_claim_take(struct guard *g, struct guard_op *op, bool message)
{
    uint32_t slot = nof_claim_slot(op->desc.handle);
    if (op->state != GUARD_LIVE || !(op->desc.flags & NOF_DESC_F_CLAIM) || slot >= NOF_CLAIM_SLOTS ||
        !nof_claim_take(&world_rank(g->w, op->rank)->claims.word[slot], nof_claim_generation(op->desc.handle),
                        NOF_CLAIM_HOST))
        return false;
    op->state = GUARD_TAKEN;
    op->message = message;
    return true;
}

void guard_claim_cancel(struct guard *g, unsigned rank)
{
    for (unsigned i = 0; i < GUARD_OPS_A; i++) {
        struct guard_op *op = &g->op[i];
        struct nof_desc d = {.opcode = NOF_DESC_CANCEL, .cookie = op->desc.cookie};
        if (op->state != GUARD_TAKEN || op->rank != rank || op->told)
            continue;
        if (op->message) {
            d.flags = NOF_DESC_F_TAKEN;
            d.tag = op->desc.tag < 0 ? 0 : op->desc.tag;
        }
        op->told = 1;
        world_post(g->w, rank, &d);
    }
}

bool guard_claim_is_won(const struct guard_op *op)
{
    return !(op->desc.flags & NOF_DESC_F_CLAIM) || (op->won && !op->lost);
}

bool guard_claim_end(const struct guard *g, struct guard_op *op, const struct nof_comp *c)
{
    bool honest = g->rank[op->rank].honest;
    if ((c->status == NOF_OK || c->status == NOF_ETRUNC) && !guard_claim_is_won(op))
        guard_fail("rank %u: a receive has a message whose claim the NIC has not won", op->rank);
    if (op->state != GUARD_TAKEN || !honest)
        return false;
    if (c->status != NOF_ENOMATCH)
        guard_fail("rank %u: a receive that its host has taken ends, status %d", op->rank, c->status);
    op->unmatched = 1;
    return true;
}

void guard_claim_cancelled(const struct guard *g, const struct guard_op *op, const struct nof_comp *c)
{
    int want = op->unmatched ? NOF_ENOMATCH : NOF_OK;
    if (g->rank[op->rank].honest && c->status != want)
        guard_fail("rank %u: the CANCEL of a receive that its host has taken is answered %d", op->rank,
                   c->status);
}

void guard_claim_comes(void *ctx, unsigned rank, uint32_t slot, uint32_t generation)
{
    struct guard *g = ctx;
    if (g->steals == 0)
        return;
    g->steals--;
    for (unsigned i = 0; i < GUARD_OPS_A; i++)
        if (names(&g->op[i], rank, nof_claim_handle(slot, generation)))
            (void)guard_claim_take(g, &g->op[i], (g->steals & 1) != 0);
}

void guard_claim_done(void *ctx, unsigned rank, uint32_t slot, uint32_t generation, bool won)
{
    struct guard *g = ctx;
    struct guard_op *found = NULL;
    unsigned count = 0;
    for (unsigned i = 0; i < GUARD_OPS_A; i++)
        if (names(&g->op[i], rank, nof_claim_handle(slot, generation))) {
            found = &g->op[i];
            found->won |= won;
            count++;
        }
    if (!won && count == 1)
        found->lost = 1; /* of two with one name it could be either */
}

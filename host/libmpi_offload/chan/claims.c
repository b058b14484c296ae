/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/claims.h"

void nof_claims_init(struct nof_claims *c, struct nof_claim_words *words, uint32_t slots)
{
    c->words = words;
    c->slots = slots;
}

void nof_claims_fini(struct nof_claims *c)
{
    nof_matcher_fini(&c->memory);
    nof_matcher_fini(&c->nic);
}

static void leave(struct nof_claims *c, struct nof_claim_recv *r)
{
    if (r->memory.links > 0)
        nof_matcher_unpost(&c->memory, &r->memory);
    if (r->nic.links > 0)
        nof_matcher_unpost(&c->nic, &r->nic);
}

/* Is r the host's? Always, where it has no word. */
static bool win(struct nof_claims *c, struct nof_claim_recv *r)
{
    if (!r->open)
        return !r->lost;
    r->open = false;
    r->taken = nof_claim_take(&c->words->word[nof_claim_slot(r->handle)], nof_claim_generation(r->handle),
                              NOF_CLAIM_HOST);
    r->lost = !r->taken;
    return r->taken;
}

int nof_claim_post(struct nof_claims *c, struct nof_claim_recv *r, uint32_t ctx, int32_t source, int32_t tag)
{
    r->memory.ctx = ctx;
    r->memory.source = source;
    r->memory.tag = tag;
    return nof_matcher_post(&c->memory, &r->memory);
}

uint64_t nof_claim_leave_word(struct nof_claims *c, struct nof_claim_recv *r)
{
    c->of[nof_claim_slot(r->handle)] = NULL;
    r->word = r->open = r->taken = r->lost = false;
    return r->handle;
}

void nof_claim_give_word(struct nof_claims *c, uint64_t handle)
{
    c->used[nof_claim_slot(handle)] = false;
    c->in_use--;
}

void nof_claim_close(struct nof_claims *c, struct nof_claim_recv *r)
{
    if (r->word)
        nof_claim_give_word(c, nof_claim_leave_word(c, r));
    r->lost = false;
}

/* The words of those that the NIC has won. */
static void reclaim(struct nof_claims *c)
{
    for (uint32_t slot = 0; slot < c->slots; slot++) {
        struct nof_claim_recv *r = c->of[slot];
        if (r == NULL || __atomic_load_n(&c->words->word[slot], __ATOMIC_ACQUIRE) !=
                             nof_claim_word(c->generation[slot], NOF_CLAIM_NIC))
            continue;
        nof_claim_close(c, r);
        r->lost = true;
    }
}

bool nof_claim_open(struct nof_claims *c, struct nof_claim_recv *r)
{
    if (c->in_use >= c->slots)
        reclaim(c);
    if (c->in_use >= c->slots)
        return false;
    uint32_t slot = 0;
    while (c->used[slot])
        slot++;
    c->used[slot] = true;
    c->in_use++;
    r->handle = nof_claim_handle(slot, ++c->generation[slot]);
    r->word = r->open = true;
    r->lost = false;
    c->of[slot] = r;
    __atomic_store_n(&c->words->word[slot], nof_claim_word(c->generation[slot], NOF_CLAIM_OPEN),
                     __ATOMIC_RELEASE);
    return true;
}

struct nof_claim_recv *nof_claim_by_memory(struct nof_claims *c, uint32_t ctx, int32_t source, int32_t tag)
{
    struct nof_match_entry *e;
    while ((e = nof_matcher_take_posted(&c->memory, ctx, source, tag)) != NULL) {
        struct nof_claim_recv *r = nof_claim_of_memory(e);
        leave(c, r);
        if (win(c, r))
            return r;
    }
    return NULL;
}

struct nof_claim_recv *nof_claim_by_spill(struct nof_claims *c, uint32_t ctx, int32_t source, int32_t tag)
{
    struct nof_match_entry *e;
    while ((e = nof_matcher_take_posted(&c->nic, ctx, source, tag)) != NULL) {
        struct nof_claim_recv *r = nof_claim_of_nic(e);
        leave(c, r);
        if (win(c, r))
            return r;
    }
    return NULL;
}

void nof_claim_by_nic(struct nof_claims *c, struct nof_claim_recv *r)
{
    leave(c, r);
}

int nof_claim_nomatch(struct nof_claims *c, struct nof_claim_recv *r, uint32_t ctx, int32_t source,
                      int32_t tag)
{
    r->nic.ctx = ctx;
    r->nic.source = source;
    r->nic.tag = tag;
    return nof_matcher_post(&c->nic, &r->nic);
}

bool nof_claim_cancel(struct nof_claims *c, struct nof_claim_recv *r)
{
    leave(c, r);
    return win(c, r);
}

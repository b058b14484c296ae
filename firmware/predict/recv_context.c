/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where in the history did the calls go as they went lately? What came there next is what is to come.
 *
 * The last 64 calls are looked up, then the last 8, then the last: the longest sequence that was there before says
 * the place. So the end of an inner loop is foretold by how long it has run, once it has ended that way. Each
 * length has a rolling hash over its calls; one table remembers for each hash which call came next the last
 * time. An entry is 16 bits of the hash and 16 bits of the position; a wrong one costs a hit. */
#include "predict/recv_predictor_state.h"

#define BASE 0x9e3779b1u /* odd: 2^32 / golden ratio */

/* Calls in a sequence; power[] is BASE to the power of each, modulo 2^32: what its oldest call is multiplied by. */
static const uint32_t length[NOF_PREDICT_CONTEXTS] = {1, 8, 64};
static const uint32_t power[NOF_PREDICT_CONTEXTS] = {BASE, 0x4b180981u, 0x2f9f4c01u};

static uint32_t symbol(const struct nof_recv_predictor *p, uint32_t pos)
{
    const struct nof_predict_call *c = nof_predict_at(p, pos);
    return nof_predict_mix((uint64_t)c->site << 16 | c->id);
}

/* The call before `now` is a new one. True: the sequences of this length are known. */
static bool roll(struct nof_recv_predictor *p, uint32_t i, uint32_t newest)
{
    uint32_t gone = p->now - 1 - length[i];
    uint32_t hash = p->context_hash[i] * BASE + newest;
    if (length[i] >= p->calls_mask)
        return false;
    if (p->now > length[i])
        hash -= symbol(p, gone) * power[i];
    p->context_hash[i] = hash;
    return p->now >= length[i];
}

void nof_predict_place(struct nof_recv_predictor *p)
{
    uint32_t newest = symbol(p, p->now - 1);
    p->placed = 0;
    for (uint32_t i = 0; i < NOF_PREDICT_CONTEXTS; i++) {
        if (!roll(p, i, newest))
            continue;
        uint32_t hash = nof_predict_mix((uint64_t)i << 32 | p->context_hash[i]);
        uint16_t check = (uint16_t)(hash >> 16);
        struct nof_predict_context *e = &p->contexts[(hash ^ hash >> 20) & p->contexts_mask];
        uint16_t age = (uint16_t)((uint16_t)p->now - e->pos);
        if (e->check == check && age != 0 && age <= p->calls_mask) {
            p->placed = 1;
            p->place = p->now - age; /* good or not is asked where it is used */
        }
        *e = (struct nof_predict_context){.check = check, .pos = (uint16_t)p->now};
    }
}

uint32_t nof_predict_after(const struct nof_recv_predictor *p, uint32_t at)
{
    return at + 1 == p->now ? p->place : at + 1;
}

static unsigned judge_context(struct nof_recv_predictor *p, uint16_t site, uint16_t id)
{
    if (!p->placed || !nof_predict_good(p, p->place))
        return 0;
    const struct nof_predict_call *c = nof_predict_at(p, p->place);
    if (c->site != site)
        return 0;
    return c->id == id ? NOF_PREDICT_HIT : NOF_PREDICT_MISS;
}

static uint32_t walk_context(struct nof_recv_predictor *p, uint32_t k, uint16_t *out)
{
    uint32_t at = p->place;
    /* bound: lookahead, 64; paid by the endpoint's receives */
    for (uint32_t i = 0; i < k; i++) {
        if (!p->placed || !nof_predict_good(p, at))
            return i;
        const struct nof_predict_call *c = nof_predict_at(p, at);
        if (i == 0 && p->hint_site != NOF_PREDICT_NO_SITE && c->site != p->hint_site)
            return 0;
        out[i] = c->id;
        at = nof_predict_after(p, at);
    }
    return k;
}

const struct nof_predictor_ops nof_predictor_context = {"context", 1, judge_context, walk_context};

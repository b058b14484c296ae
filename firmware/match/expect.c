/* SPDX-License-Identifier: BSD-3-Clause */
#include "match/expect.h"

#include "match/match.h"

static bool is_same(const struct nof_message_id *a, const struct nof_message_id *b)
{
    return a->ctx == b->ctx && a->source == b->source && a->tag == b->tag;
}

uint32_t nof_expect_next(const struct nof_nic *nic, const struct nof_endpoint *ep, struct nof_message_id *ids)
{
    uint64_t most = nic->features[NOF_F_LOOKAHEAD];
    return nof_watch_predict(ep, most < NOF_EXPECT_MOST ? (uint32_t)most : NOF_EXPECT_MOST, ids);
}

/* The number of the receive that is predicted to take the message that comes with this key behind
 * `before` others that bear it. */
static uint64_t due_of(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_match_key *key,
                       uint32_t before)
{
    struct nof_message_id ids[NOF_EXPECT_MOST];
    struct nof_message_id id = nof_expect_id(key);
    uint32_t n = nof_expect_next(nic, ep, ids);
    /* bound: lookahead, 64; paid by the endpoint's receives */
    for (uint32_t i = 0; i < n; i++)
        if (is_same(&ids[i], &id) && before-- == 0)
            return ep->receives + i + 1;
    return NOF_STAGE_NEVER;
}

/* Messages with this key that wait already, except one that is in the tables itself. */
static uint32_t waiting_before(struct nof_nic *nic, const struct nof_match_key *key,
                               const struct nof_env *except)
{
    uint32_t n = 0;
    for (const struct nof_env *e = nof_match_find(nic, key); e != NULL && e != except && n < NOF_EXPECT_MOST;
         e = nof_match_after(nic, e))
        n++;
    return n;
}

uint64_t nof_expect_due(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_match_key *key,
                        const struct nof_env *except)
{
    return nof_expect_on(ep) ? due_of(nic, ep, key, waiting_before(nic, key, except)) : NOF_STAGE_NEVER;
}

/* The n-th message (from 0) with this id that can be matched, or NULL. */
static struct nof_env *nth(struct nof_nic *nic, const struct nof_endpoint *ep,
                           const struct nof_message_id *id, uint32_t n)
{
    struct nof_match_key key = {.ep = ep->index, .ctx = id->ctx, .source = id->source, .tag = id->tag};
    struct nof_env *e = nof_match_find(nic, &key);
    /* bound: lookahead, 64; paid by the endpoint's receives */
    while (e != NULL && n-- > 0)
        e = nof_match_after(nic, e);
    return e;
}

struct nof_env *nof_expect_found(struct nof_nic *nic, const struct nof_endpoint *ep,
                                 const struct nof_message_id *ids, uint32_t i)
{
    uint32_t same = 0;
    /* bound: lookahead, 64; paid by the endpoint's receives */
    for (uint32_t j = 0; j < i; j++)
        same += is_same(&ids[j], &ids[i]);
    return nth(nic, ep, &ids[i], same);
}

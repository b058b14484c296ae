/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an endpoint is expected to receive next, and which of the messages that wait that is. Asks the predictor
 * (recv_watch.h) and the matching tables, and changes nothing. */
#ifndef NOF_EXPECT_H
#define NOF_EXPECT_H

#include "nic.h"
#include "match/recv_watch.h"

#define NOF_EXPECT_MOST 64u /* bound of feature lookahead */

/* Are messages brought near ahead of their receives? */
static inline bool nof_expect_on(const struct nof_endpoint *ep)
{
    return ep->watch != NULL && ep->state == NOF_EP_OPEN;
}

static inline struct nof_message_id nof_expect_id(const struct nof_match_key *key)
{
    return (struct nof_message_id){.ctx = key->ctx, .source = key->source, .tag = key->tag};
}

/* The message ids of the next receives, in order; ids: NOF_EXPECT_MOST. */
uint32_t nof_expect_next(const struct nof_nic *nic, const struct nof_endpoint *ep,
                         struct nof_message_id *ids);
/* The message that waits for the i-th of them, or NULL. */
struct nof_env *nof_expect_found(struct nof_nic *nic, const struct nof_endpoint *ep,
                                 const struct nof_message_id *ids, uint32_t i);
/* The number of the receive that is predicted to take a message that comes now with this key, or NOF_STAGE_NEVER.
 * except: the envelope of that message, if it is in the tables already. */
uint64_t nof_expect_due(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_match_key *key,
                        const struct nof_env *except);

#endif

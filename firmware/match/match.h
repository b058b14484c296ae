/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Matching tables: hashed FIFO queues of posted receives, waiting probes and unexpected envelopes.
 *
 * A key is (endpoint, ctx, source, tag); source and tag may be wildcards, which gives four kinds of
 * key. A posted receive lies in one queue, that of its own key. An unexpected envelope lies in four,
 * one per kind, so that a receive of any kind finds the earliest message that fits it at the head of
 * one queue. An arriving message looks at the heads of up to four queues of posted receives and
 * takes the one that was posted first (MPI's order).
 *
 *   bucket -> head of key A -> head of key B        only heads are in the bucket's list, so a
 *                 |                                  long queue never lies in the way of another
 *              A's 2nd, 3rd ... (circular)
 *
 * Cancel finds a receive by its cookie. Few programs cancel, so the table of cookies is made when an
 * endpoint first does, kept while it has receives posted, and costs nothing otherwise. Receives that the host may claim
 * (msg/recv_claim.h) are in it at once, since half of them are cancelled.
 *
 * Cost: O(1) whatever the lengths are. Memory: nodes are in the objects, buckets are the caller's. */
#ifndef NOF_MATCH_H
#define NOF_MATCH_H

#include "nic.h"

static inline uint32_t nof_match_kind(const struct nof_match_key *key)
{
    return (key->source < 0 ? NOF_MATCH_ANY_SOURCE : 0) | (key->tag < 0 ? NOF_MATCH_ANY_TAG : 0);
}

/* Waiting probes of the endpoint. */
uint32_t nof_match_probes(const struct nof_endpoint *ep);
/* Receives and waiting probes (by r->opcode): r->key and r->cookie are set. */
void nof_match_post(struct nof_nic *nic, struct nof_recv *r);
void nof_match_unpost(struct nof_nic *nic, struct nof_recv *r);
/* A posted one that its host has claimed leaves its queue; one that was never posted comes to the same: no message finds it,
 * its cookie does, and it counts as posted. let_go() of such a one. */
void nof_match_put_aside(struct nof_nic *nic, struct nof_recv *r);
void nof_match_keep_aside(struct nof_nic *nic, struct nof_recv *r);
void nof_match_let_go(struct nof_nic *nic, struct nof_recv *r);
/* The posted receive (or waiting probe) that a message with this full key belongs to; it stays in
 * the table. NULL: none. */
struct nof_recv *nof_match_posted(struct nof_nic *nic, struct nof_endpoint *ep,
                                  const struct nof_match_key *key);
struct nof_recv *nof_match_probe(struct nof_nic *nic, struct nof_endpoint *ep,
                                 const struct nof_match_key *key);
/* The posted receive of the host with this cookie, of those that are in the table of cookies: see walk.h. */
struct nof_recv *nof_match_cookie(struct nof_nic *nic, uint32_t ep, uint64_t cookie);
/* A posted receive of an endpoint that cancels goes into that table, if it is not there. */
void nof_match_index(struct nof_nic *nic, struct nof_recv *r);

/* Unexpected envelopes. find: `key` may hold wildcards. */
void nof_match_store(struct nof_nic *nic, struct nof_env *e);
void nof_match_unstore(struct nof_nic *nic, struct nof_env *e);
struct nof_env *nof_match_find(struct nof_nic *nic, const struct nof_match_key *key);
/* Of those with this full key, the one that its sender knows by `handle`; parked: NOF_ENV_F_PARKED or 0.
 * Linear in the envelopes of the key, which the credit of one flow bounds. */
struct nof_env *nof_match_find_handle(struct nof_nic *nic, const struct nof_match_key *key, uint64_t handle,
                                      uint8_t parked);
/* The envelope with the same full key that came next after e, or NULL. */
struct nof_env *nof_match_after(struct nof_nic *nic, const struct nof_env *e);

#endif

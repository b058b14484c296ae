/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two ranks on two NICs that know each other: for tests that look at one module of msg/ from inside. What stands here is
 * seen from rank 1, the receiver, but for `theirs`. */
#ifndef NOF_TESTS_PAIR_H
#define NOF_TESTS_PAIR_H

#include "world.h"

#include "flow/link.h"
#include "flow/peer.h"

#define MS 1000000ull

struct pair {
    struct world *w;
    struct nof_nic *nic;
    struct nof_endpoint *ep;
    struct nof_peer *peer; /* rank 0 */
    struct nof_link *link;
    uint8_t *in; /* rank 1's memory, and rank 0's: */
    uint8_t *out;
    struct nof_nic *theirs; /* rank 0's NIC, and its endpoint and peer there */
    struct nof_endpoint *their_ep;
    struct nof_peer *their_peer;
};

/* In a world of two NICs. */
static inline struct pair pair_of(const struct world_config *cfg)
{
    struct pair p;

    p.w = world_init(cfg);
    world_open(p.w, 0, 0, 4);
    world_open(p.w, 1, 1, 4);
    world_run_for(p.w, 5 * MS);
    p.theirs = world_nic(p.w, 0);
    p.nic = world_nic(p.w, 1);
    p.their_ep = &p.theirs->eps[world_rank(p.w, 0)->endpoint];
    p.ep = &p.nic->eps[world_rank(p.w, 1)->endpoint];
    p.their_peer = nof_peer_by_rank(p.theirs, p.their_ep->index, 1);
    p.peer = nof_peer_by_rank(p.nic, p.ep->index, 0);
    p.link = &p.nic->links[p.peer->link];
    p.in = world_rank(p.w, 1)->arena;
    p.out = world_rank(p.w, 0)->arena;
    for (uint32_t i = 0; i < WORLD_ARENA / 2; i++)
        p.out[i] = (uint8_t)(i * 31 + (i >> 8) * 7);
    for (unsigned i = 0; i < 2; i++)
        while (world_take(p.w, i) != NULL)
            continue;
    return p;
}

/* max_sends 0: as many as there are by default. */
static inline struct pair pair_begin_with(int dma_inline, uint32_t max_sends)
{
    struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = dma_inline, .delta = 1, .seed = 1};

    cfg.nic = (struct nof_nic_config){
        .max_endpoints = 2, .max_peers = 16, .max_sends = max_sends, .max_envelopes = 512};
    return pair_of(&cfg);
}

static inline struct pair pair_begin(int dma_inline)
{
    return pair_begin_with(dma_inline, 0);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The eager message that is coming in on a flow, of which pieces are still owed: begin() -> piece() ... -> end(). Its target
 * is where they go: a ref of a receive, or NOF_REF_ENV and a chain; NOF_NIL: they are thrown away. */
#ifndef NOF_INCOMING_H
#define NOF_INCOMING_H

#include "flow/peer.h"

/* A message begins of which `here` bytes have come and `owed`, of at most 64 KiB, are to come. */
static inline void nof_incoming_begin(struct nof_nic *nic, struct nof_peer *peer, uint64_t here,
                                      uint64_t owed)
{
    peer->rx_target = NOF_NIL;
    if (owed == 0)
        return;
    peer->rx_left = (uint16_t)owed;
    peer->rx_pos = (uint16_t)here;
    nof_peer_expect(nic, peer, 1); /* it owes us the rest */
}
static inline void nof_incoming_goes_to(struct nof_peer *peer, uint32_t target)
{
    peer->rx_target = target;
}
/* Whatever goes there is thrown away from now on. */
static inline void nof_incoming_leaves(struct nof_peer *peer, uint32_t target)
{
    if (peer->rx_target == target)
        peer->rx_target = NOF_NIL;
}
/* No more of it comes. */
static inline void nof_incoming_end(struct nof_nic *nic, struct nof_peer *peer)
{
    peer->rx_left = 0;
    peer->rx_target = NOF_NIL;
    nof_peer_expect(nic, peer, -1);
}
/* n more bytes have come. Returns their target. */
static inline uint32_t nof_incoming_piece(struct nof_nic *nic, struct nof_peer *peer, uint32_t n)
{
    uint32_t target = peer->rx_target;
    peer->rx_left = (uint16_t)(peer->rx_left - n);
    peer->rx_pos = (uint16_t)(peer->rx_pos + n);
    if (peer->rx_left == 0)
        nof_incoming_end(nic, peer);
    return target;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Credit of the flows that come to us: how many envelopes and how many network memory blocks a
 * sender may use before it hears from us again. Running totals: `announced` to the sender, `seq` and
 * `rx_blocks_used` arrived, `freed` no longer stored.
 *
 * Every flow has its initial credit for life; a second half of both pools is lent to flows that
 * are in use, each getting at most an eighth of what is free. Invariant: the sum over all flows of
 * max(initial, announced - freed) never exceeds the pools, so what a peer sends within its credit
 * always finds room.
 *
 * Nobody may be left without envelope credit by messages that his own host does not want yet: behind them
 * may be the one that it waits for. So at most half of what a flow has is ever stored (nof_credit_tight),
 * and what it has borrowed goes back only so far as it has twice what is stored left
 * (`rx_msgs_held`): what was spilled can then always be announced again, whatever others have borrowed
 * meanwhile. Bytes need no such care: without them a sender asks first (RTS).
 *
 * Arithmetic only: who calls tells the sender (link.h), or goes on sending (send.h). */
#ifndef NOF_CREDIT_H
#define NOF_CREDIT_H

#include "base/invariant.h"
#include "nic.h"

/* What a flow has of the pool that is lent. */
static inline uint32_t nof_credit_borrowed(uint32_t outstanding, uint32_t initial)
{
    return outstanding > initial ? outstanding - initial : 0;
}

/* The most that a flow may have: its initial credit and an eighth of the pool, but not beyond `most`. */
static inline uint32_t nof_credit_most(uint32_t initial, uint32_t pool, uint32_t most)
{
    uint32_t share = (pool + 7) / 8;
    return initial + (share < most ? share : most);
}

/* Of n that a flow gives back, those that it had borrowed. */
static inline uint32_t nof_credit_returned(uint32_t outstanding, uint32_t n, uint32_t initial)
{
    if (outstanding >= initial + n)
        return n;
    return nof_credit_borrowed(outstanding, initial);
}

/* Give back what the flow has beyond `wanted` envelopes and its initial ones. */
static inline void nof_credit_keep(struct nof_nic *nic, struct nof_peer *peer, uint32_t wanted)
{
    uint32_t keep = wanted > nic->flow_msgs ? wanted : nic->flow_msgs;
    if (keep >= peer->rx_msgs_held)
        return;
    nic->msgs_free += peer->rx_msgs_held - keep;
    peer->rx_msgs_held = keep;
}

/* An envelope leaves, with a message that is charged so many blocks. Returns its number. */
static inline uint32_t nof_credit_use(struct nof_peer *peer, uint32_t blocks)
{
    peer->tx_blocks_used += blocks;
    return peer->tx_seq++;
}

/* An envelope has come, likewise. */
static inline void nof_credit_used(struct nof_peer *peer, uint32_t blocks)
{
    peer->rx_seq++;
    peer->rx_blocks_used += blocks;
}

/* We may send so much: running totals. */
static inline void nof_credit_given(struct nof_peer *peer, uint32_t msgs, uint32_t blocks)
{
    peer->tx_msgs_allowed = msgs;
    peer->tx_blocks_allowed = blocks;
}

/* Stored envelopes and blocks are free again. */
static inline void nof_credit_free(struct nof_nic *nic, struct nof_peer *peer, uint32_t msgs, uint32_t blocks)
{
    nof_invariant(msgs <= peer->rx_msgs_announced - peer->rx_msgs_freed);
    uint32_t freed = peer->rx_msgs_freed + msgs;
    uint32_t announced = peer->rx_msgs_announced - freed;
    uint32_t twice = 2 * (peer->rx_seq - freed);
    peer->rx_msgs_freed = freed;
    nof_credit_keep(nic, peer, announced > twice ? announced : twice);
    uint32_t out = peer->rx_blocks_announced - peer->rx_blocks_freed;
    nof_invariant(blocks <= out);
    nic->blocks_free += nof_credit_returned(out, blocks, nic->flow_blocks);
    peer->rx_blocks_freed += blocks;
}

/* Give the sender more if there is more to give: then it has to be told (nof_link_credit()). */
bool nof_credit_grow(struct nof_nic *nic, struct nof_peer *peer);

/* Has the sender used half of what it had, and is there more for it? Then it has to be told. */
static inline bool nof_credit_more(struct nof_nic *nic, struct nof_peer *peer)
{
    return (peer->rx_msgs_announced - peer->rx_seq <= nic->half_msgs ||
            peer->rx_blocks_announced - peer->rx_blocks_used <= nic->half_blocks) &&
           nof_credit_grow(nic, peer);
}

/* The sender is gone: what it has not used goes back. */
void nof_credit_cancel(struct nof_nic *nic, struct nof_peer *peer);
/* Should unexpected messages of this flow be spilled, to keep room for those that are wanted? */
bool nof_credit_tight(const struct nof_peer *peer);
/* The fields of a CREDIT frame. */
void nof_credit_fill(const struct nof_peer *peer, uint8_t *fields);
/* A CREDIT frame has come: what we may send now. NOF_OK or NOF_EPROTO. */
int nof_credit_rx(struct nof_peer *peer, const struct nof_wire_view *view);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/credit.h"

/* If at least half of the window is used up and there is more to give: the new total. `held`: what the flow
 * has of the pool already. */
static bool grow(uint32_t *announced, uint32_t used, uint32_t freed, uint32_t initial, uint32_t held,
                 uint32_t *pool, uint32_t most)
{
    uint32_t out = *announced - freed;
    uint32_t left = *announced - used;
    uint32_t target = nof_credit_most(initial, *pool + held, most);
    if (target < initial + held)
        target = initial + held;
    if (target <= out || left > target / 2)
        return false;
    *pool -= target - initial - held;
    *announced = freed + target;
    return true;
}

bool nof_credit_grow(struct nof_nic *nic, struct nof_peer *peer)
{
    if (peer->flags & NOF_PEER_F_DEAD)
        return false;
    uint32_t blocks = peer->rx_blocks_announced - peer->rx_blocks_freed;
    bool more =
        grow(&peer->rx_blocks_announced, peer->rx_blocks_used, peer->rx_blocks_freed, nic->flow_blocks,
             nof_credit_borrowed(blocks, nic->flow_blocks), &nic->blocks_free, NOF_FLOW_BLOCKS_MAX);
    if (grow(&peer->rx_msgs_announced, peer->rx_seq, peer->rx_msgs_freed, nic->flow_msgs,
             peer->rx_msgs_held - nic->flow_msgs, &nic->msgs_free, NOF_FLOW_MSGS_MAX)) {
        peer->rx_msgs_held = peer->rx_msgs_announced - peer->rx_msgs_freed;
        more = true;
    }
    return more;
}

void nof_credit_cancel(struct nof_nic *nic, struct nof_peer *peer)
{
    peer->rx_msgs_announced = peer->rx_seq;
    nof_credit_keep(nic, peer, peer->rx_seq - peer->rx_msgs_freed);
    uint32_t out = peer->rx_blocks_announced - peer->rx_blocks_freed;
    uint32_t stored = peer->rx_blocks_used - peer->rx_blocks_freed;
    nic->blocks_free +=
        nof_credit_borrowed(out, nic->flow_blocks) - nof_credit_borrowed(stored, nic->flow_blocks);
    peer->rx_blocks_announced = peer->rx_blocks_used;
}

bool nof_credit_tight(const struct nof_peer *peer)
{
    uint32_t stored = peer->rx_seq - peer->rx_msgs_freed;
    return 2 * stored > peer->rx_msgs_announced - peer->rx_msgs_freed;
}

void nof_credit_fill(const struct nof_peer *peer, uint8_t *fields)
{
    nof_put32(fields + NOF_WIRE_CREDIT_ENVELOPES, peer->rx_msgs_announced);
    nof_put32(fields + NOF_WIRE_CREDIT_PAD, 0);
    nof_put64(fields + NOF_WIRE_CREDIT_PAYLOAD, (uint64_t)peer->rx_blocks_announced * NOF_NETMEM_BLOCK);
}

int nof_credit_rx(struct nof_peer *peer, const struct nof_wire_view *view)
{
    if (view->fields_bytes != NOF_WIRE_CREDIT_BYTES)
        return NOF_EPROTO;
    uint32_t msgs = nof_get32(view->fields + NOF_WIRE_CREDIT_ENVELOPES);
    uint32_t blocks = (uint32_t)(nof_get64(view->fields + NOF_WIRE_CREDIT_PAYLOAD) / NOF_NETMEM_BLOCK);
    if (msgs - peer->tx_seq > INT32_MAX || blocks - peer->tx_blocks_used > INT32_MAX)
        return NOF_EPROTO;
    nof_credit_given(peer, msgs, blocks);
    return NOF_OK;
}

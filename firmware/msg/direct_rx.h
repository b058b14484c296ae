/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hot path: the short way (direct.h) of a frame that has come. Inline, because nic.c tries it on every MSG before anything
 * else; its budget stands in direct.c. */
#ifndef NOF_DIRECT_RX_H
#define NOF_DIRECT_RX_H

#include "flow/credit.h"
#include "flow/link.h"
#include "flow/peer.h"
#include "match/match_last.h"
#include "msg/recv.h"
#include "nic.h"

/* What parse() of eager.c checks, for a message that is all there; the general way names the fault. */
static inline bool nof_direct_is_plain(const struct nof_peer *peer, const struct nof_wire_view *view,
                                       uint32_t blocks)
{
    const uint8_t *f = view->fields;
    const unsigned special = NOF_WIRE_MSG_F_SYNC | NOF_WIRE_F_FAILED | NOF_WIRE_F_CHUNK;
    return (view->flags & special) == 0 && nof_get64(f + NOF_WIRE_MSG_LEN) == view->payload_bytes &&
           nof_get32(f + NOF_WIRE_MSG_SEQ) == peer->rx_seq && peer->rx_seq != peer->rx_msgs_announced &&
           blocks <= peer->rx_blocks_announced - peer->rx_blocks_used && peer->rx_left == 0 &&
           (nof_get32(f + NOF_WIRE_MSG_ELEM) & ~0xff00u) < NOF_ELEM_COUNT &&
           nof_get64(f + NOF_WIRE_MSG_HANDLE) == 0 && (int32_t)nof_get32(f + NOF_WIRE_MSG_TAG) >= 0;
}

static inline bool nof_direct_deliver(struct nof_nic *nic, struct nof_peer *peer,
                                      const struct nof_wire_view *view)
{
    struct nof_endpoint *ep = &nic->eps[peer->ep];
    uint32_t len = view->payload_bytes;
    uint32_t blocks = nof_netmem_charge(len, false);
    if (view->fields_bytes != NOF_WIRE_MSG_BYTES || !nof_direct_is_plain(peer, view, blocks) ||
        ep->state == NOF_EP_CLOSING)
        return false;
    struct nof_match_key key = {.ep = peer->ep,
                                .ctx = nof_get32(view->fields + NOF_WIRE_MSG_CTX),
                                .source = (int32_t)peer->rank,
                                .tag = (int32_t)nof_get32(view->fields + NOF_WIRE_MSG_TAG)};
    struct nof_comp comp = {
        .opcode = NOF_COMP_RECV, .ctx = key.ctx, .peer = key.source, .tag = key.tag, .len = len};
    struct nof_recv *r = nof_match_posted_last(nic, ep, &key);
    if (r == NULL)
        r = nof_match_posted(nic, ep, &key);
    if (r == NULL || len > r->capacity || !nof_recv_is_plain(r, view->fields[NOF_WIRE_MSG_AGREED]))
        return false;
    if (len <= NOF_INLINE_BYTES) {
        comp.flags = NOF_COMP_F_INLINE;
        memcpy(comp.inline_data, view->payload, len);
    } else {
        uint32_t at =
            len <= nic->features[NOF_F_STAGE_MAX] ? nof_stage_alloc(&ep->stage, len) : NOF_STAGE_NONE;
        if (at == NOF_STAGE_NONE)
            return false;
        memcpy(ep->stage.area + at, view->payload, len);
        comp.flags = NOF_COMP_F_STAGED;
        comp.staged_offset = at;
        comp.staged_len = len;
        nof_count(nic, ep, NOF_C_STAGED, 1);
    }
    comp.cookie = r->cookie;
    nof_credit_used(peer, blocks);
    nof_count(nic, ep, NOF_C_MSGS_RX, 1);
    nof_count(nic, ep, NOF_C_MSG_BYTES_RX, len);
    nof_count(nic, ep, NOF_C_EXPECTED, 1);
    if (ep->watch != NULL && r->kind != 0)
        nof_watch_matched(nic, ep, nof_recv_index(nic, r), &key);
    uint32_t index = ep->last_queue; /* finding it has made it so */
    if (!nof_match_unpost_last(nic, ep, r, index))
        nof_match_unpost(nic, r);
    nof_recv_unposted(nic, r);
    if (r->layout != NOF_NIL)
        nof_layout_drop(&nic->layouts, r->layout);
    if (nof_completion_say(nic, ep, &comp))
        nof_recv_free_at(nic, r, index);
    else
        nof_completion_keep(nic, ep, &comp, NOF_REF(NOF_REF_RECV, index));
    nof_credit_free(nic, peer, 1, blocks);
    nof_link_update_credit(nic, peer);
    return true;
}

/* A MSG of one frame that a posted receive waits for and has room for, delivered in the completion or through
 * staging. All or nothing, as in direct.h. */
static inline bool nof_direct_rx(struct nof_nic *nic, struct nof_link *link, const struct nof_wire_view *view)
{
    struct nof_peer *peer = nof_peer_by_flow(nic, link, view->src_ep, view->dst_ep);
    return peer != NULL && (peer->flags & NOF_PEER_F_RX) && nof_direct_deliver(nic, peer, view);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hot path. Budget for a message of 64 bytes, of the 800 instructions that it may cost each side: 250
 * to send, 150 to post, 350 to deliver; no object but the posted receive, no loop but over a burst of
 * descriptors, no division. */
#include "msg/direct.h"

#include "msg/answer.h"
#include "flow/credit.h"
#include "flow/link.h"
#include "match/match_last.h"
#include "flow/peer.h"
#include "flow/scheduler.h"
#include "msg/recv.h"
#include "match/recv_watch.h"

/* Is there anybody whom this message would overtake, or whose turn it would take? */
static bool nobody_waits(const struct nof_nic *nic, const struct nof_link *link, const struct nof_peer *peer)
{
    return (peer->sendq & peer->dataq & peer->readq & link->ctl & link->blocked &
            nic->ring[nof_scheduler_way(link)]) == NOF_NIL &&
           peer->sched == NOF_SCHED_IDLE;
}

/* May a message of this length go eagerly, in one frame, now? */
static bool goes_at_once(struct nof_nic *nic, struct nof_link *link, const struct nof_peer *peer,
                         const struct nof_desc *desc, uint32_t blocks)
{
    uint64_t len = desc->len;
    return peer->tx_msgs_allowed != peer->tx_seq &&
           blocks <= peer->tx_blocks_allowed - peer->tx_blocks_used &&
           (len < nic->grants.min_bytes || desc->elem == NOF_ELEM_RAW) &&
           len <= nic->features[NOF_F_EAGER_MAX] && len <= nof_link_body_max(link) - NOF_WIRE_MSG_BYTES &&
           nof_link_window(nic, link, false) > 0;
}

/* The payload, into the frame: 1, or 0 if it cannot be had at once. */
static int fetch(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc, uint8_t *to)
{
    if (desc->len == 0)
        return 1;
    if (desc->flags & NOF_DESC_F_INLINE) {
        memcpy(to, desc->inline_data, (size_t)desc->len);
        return 1;
    }
    if (desc->flags & NOF_DESC_F_BOUNCE) {
        memcpy(to, ep->bounce + desc->addr, (size_t)desc->len);
        return 1;
    }
    struct nof_segment seg = {.addr = desc->addr, .len_bytes = desc->len};
    struct nof_buf buf = {.base = to, .len_bytes = (size_t)desc->len};
    if (nic->host_ops->dma_read(nic->host, ep->index, &seg, 1, &buf, 1, 0) != NOF_DMA_DONE)
        return 0; /* the general way asks again, and tells */
    nof_count(nic, ep, NOF_C_DMA_READS, 1);
    nof_count(nic, ep, NOF_C_DMA_READ_BYTES, desc->len);
    return 1;
}

static void put_envelope(uint8_t *at, const struct nof_desc *desc, uint32_t seq)
{
    nof_put32(at + NOF_WIRE_MSG_CTX, desc->ctx);
    nof_put32(at + NOF_WIRE_MSG_TAG, (uint32_t)desc->tag);
    nof_put64(at + NOF_WIRE_MSG_LEN, desc->len);
    nof_put32(at + NOF_WIRE_MSG_SEQ, seq);
    nof_put32(at + NOF_WIRE_MSG_ELEM, desc->elem | (uint32_t)desc->agreed << 8);
    nof_put64(at + NOF_WIRE_MSG_HANDLE, 0);
}

int nof_direct_send(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_peer *peer,
                    const struct nof_desc *desc)
{
    const unsigned plain = NOF_DESC_F_INLINE | NOF_DESC_F_BOUNCE;
    if ((peer->flags & (NOF_PEER_F_TX | NOF_PEER_F_DEAD)) != NOF_PEER_F_TX || (desc->flags & ~plain) != 0 ||
        (desc->flags == 0 && !ep->dma_read_inline))
        return NOF_EAGAIN;
    struct nof_link *link = &nic->links[peer->link];
    uint32_t blocks = nof_netmem_charge(desc->len, false);
    if (!nobody_waits(nic, link, peer) || !goes_at_once(nic, link, peer, desc, blocks))
        return NOF_EAGAIN;
    uint8_t *body;
    uint32_t body_bytes = NOF_WIRE_MSG_BYTES + (uint32_t)desc->len;
    struct nof_frame *frame = nof_link_frame(nic, link, body_bytes, &body);
    if (frame == NULL)
        return NOF_EAGAIN;
    if (!fetch(nic, ep, desc, body + NOF_WIRE_MSG_BYTES)) {
        nof_link_drop(nic, link, frame);
        return NOF_EAGAIN;
    }
    put_envelope(body, desc, nof_credit_use(peer, blocks));
    nof_link_send(nic, link, frame, NOF_WIRE_MSG, 0, peer->ep, peer->remote_ep, NOF_WIRE_MSG_BYTES,
                  body_bytes, 0);
    nof_count(nic, ep, NOF_C_EAGER_TX, 1);
    nof_count(nic, ep, NOF_C_MSGS_TX, 1);
    nof_count(nic, ep, NOF_C_MSG_BYTES_TX, desc->len);
    nof_answer_desc(nic, ep, desc, NOF_OK);
    return NOF_OK;
}

/* A RECV descriptor for a plain buffer, all fields in range (descriptors.c names the fault). */
static inline bool is_plain_recv(const struct nof_endpoint *ep, const struct nof_desc *desc)
{
    return ((desc->opcode ^ NOF_DESC_RECV) | desc->flags) == 0 && desc->tag >= NOF_ANY_TAG &&
           desc->len <= INT64_MAX && ((uint32_t)desc->peer < ep->size || desc->peer == NOF_ANY_SOURCE);
}

static void await_unknown(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r)
{
    const struct nof_peer *peer = nof_peer_await(nic, ep, (uint32_t)r->key.source);
    nof_recv_await(nic, r, peer != NULL ? nof_peer_index(nic, peer) : NOF_NIL);
}

static inline bool post(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    struct nof_peer *peer = NULL;
    if (desc->peer >= 0) {
        peer = nof_peer_of_desc(nic, ep, (uint32_t)desc->peer);
        if (peer != NULL && (peer->flags & NOF_PEER_F_DEAD))
            return false;
    }
    struct nof_recv *r = nof_recv_take(nic, ep, NOF_COMP_RECV);
    if (r == NULL)
        return false;
    struct nof_match_key key = {.ep = ep->index, .ctx = desc->ctx, .source = desc->peer, .tag = desc->tag};
    nof_recv_call(r, &key, desc->cookie, desc->addr, desc->len, NOF_NIL);
    nof_recv_agree(r, desc->agreed);
    nof_recv_posted(r);
    if (peer != NULL)
        nof_recv_await(nic, r, ep->last_rank); /* that of the peer just found */
    else if (desc->peer >= 0)
        await_unknown(nic, ep, r);
    if (!nof_match_post_last(nic, ep, r, nof_recv_index(nic, r)))
        nof_match_post(nic, r);
    if (ep->watch != NULL)
        nof_watch_call(nic, ep, &r->key, desc->callsite, nof_recv_index(nic, r));
    return true;
}

unsigned nof_direct_recv(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *descs,
                         unsigned n)
{
    unsigned i = 0;
    if (ep->stored > 0 || ep->spilling)
        return 0;
    /* bound: descriptors of one burst; paid by the endpoint */
    while (i < n && is_plain_recv(ep, &descs[i]) && nof_recv_may_post(nic, ep) && post(nic, ep, &descs[i]))
        i++;
    return i;
}

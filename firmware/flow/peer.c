/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/peer.h"

#include "flow/chores.h"
#include "flow/credit.h"
#include "flow/job.h"
#include "flow/link.h"
#include "flow/scheduler.h"

/* The seed is secret: no host and no peer can choose numbers whose chains are long. */
static uint32_t *rank_bucket(const struct nof_nic *nic, uint32_t ep, uint32_t rank)
{
    return &nic->peer_by_rank[nof_cookie_hash(nic->seed, ep, rank) & nic->peer_mask];
}

static uint32_t *flow_bucket(const struct nof_nic *nic, uint32_t link, uint16_t remote_ep, uint16_t ep)
{
    uint64_t pair = (uint64_t)remote_ep << 16 | ep;
    return &nic->peer_by_flow[nof_cookie_hash(nic->seed, link, pair) & nic->peer_mask];
}

/* Known or only awaited. */
static struct nof_peer *of_rank(const struct nof_nic *nic, uint32_t ep, uint32_t rank)
{
    uint32_t i = *rank_bucket(nic, ep, rank);
    /* bound: flows of one hash, whose seed is secret; paid by the descriptor */
    while (i != NOF_NIL) {
        struct nof_peer *p = nof_peer_at(nic, i);
        if (p->ep == ep && p->rank == rank)
            return p;
        i = p->rank_next;
    }
    return NULL;
}

struct nof_peer *nof_peer_by_rank(const struct nof_nic *nic, uint32_t ep, uint32_t rank)
{
    struct nof_peer *p = of_rank(nic, ep, rank);
    return p != NULL && !(p->flags & NOF_PEER_F_AWAITED) ? p : NULL;
}

struct nof_peer *nof_peer_find_flow(const struct nof_nic *nic, struct nof_link *link, uint16_t remote_ep,
                                    uint16_t ep)
{
    uint32_t l = nof_link_index(nic, link);
    uint32_t i = *flow_bucket(nic, l, remote_ep, ep);
    /* bound: flows of one hash, whose seed is secret; paid by the frame */
    while (i != NOF_NIL) {
        struct nof_peer *p = nof_peer_at(nic, i);
        if (p->ep == ep && p->remote_ep == remote_ep && p->link == l) {
            link->last_peer = i;
            return p;
        }
        i = p->flow_next;
    }
    return NULL;
}

/* Of its rank alone; NULL: no room for `room` peers more of this endpoint. */
static struct nof_peer *make_awaited(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t rank,
                                     uint32_t room)
{
    int may = nof_share_may(&nic->peers_share, ep->peers_used, room, nof_pool_free(&nic->peers));
    uint32_t i = may ? nof_pool_take(&nic->peers) : NOF_NIL;
    if (i == NOF_NIL)
        return NULL;
    nof_share_taken(&nic->peers_share, &ep->peers_used, 1);
    struct nof_peer *p = nof_peer_at(nic, i);
    struct nof_obj obj = p->obj;
    *p = (struct nof_peer){.obj = obj,
                           .rank = rank,
                           .link = NOF_NIL,
                           .flags = NOF_PEER_F_AWAITED,
                           .used = 1,
                           .ep = (uint16_t)ep->index,
                           .sendq = NOF_NIL,
                           .dataq = NOF_NIL,
                           .readq = NOF_NIL,
                           .waiting = NOF_NIL,
                           .tx_seq = nic->first_seq,
                           .tx_blocks_used = nic->first_seq,
                           .rx_seq = nic->first_seq,
                           .rx_msgs_freed = nic->first_seq,
                           .rx_msgs_announced = nic->first_seq + nic->flow_msgs,
                           .rx_msgs_held = nic->flow_msgs,
                           .rx_blocks_used = nic->first_seq,
                           .rx_blocks_freed = nic->first_seq,
                           .rx_blocks_announced = nic->first_seq + nic->flow_blocks,
                           .rx_target = NOF_NIL};
    uint32_t *bucket = rank_bucket(nic, p->ep, rank);
    p->rank_next = *bucket;
    *bucket = i;
    return p;
}

struct nof_peer *nof_peer_await(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t rank)
{
    struct nof_peer *p = of_rank(nic, ep->index, rank);
    return p != NULL ? p : make_awaited(nic, ep, rank, ep->size - ep->peers_used);
}

/* One that was not known: whoever waits for it already has its path watched from now on. */
static struct nof_peer *peer_make(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t rank,
                                  struct nof_link *link, uint16_t remote_ep, uint16_t generation)
{
    struct nof_peer *p = of_rank(nic, ep->index, rank);
    if (p == NULL)
        p = make_awaited(nic, ep, rank, 1);
    if (p == NULL)
        return NULL;
    p->flags = 0;
    p->link = nof_link_index(nic, link);
    p->remote_ep = remote_ep;
    p->remote_generation = generation;
    uint32_t *bucket = flow_bucket(nic, p->link, remote_ep, p->ep);
    p->flow_next = *bucket;
    *bucket = nof_peer_index(nic, p);
    link->flows++;
    p->ep_next = ep->peers;
    ep->peers = nof_peer_index(nic, p);
    if (p->expects > 0)
        nof_peer_watch(nic, p, 1);
    nof_chore_walk(nic, ep);
    return p;
}

enum chain { BY_RANK, BY_FLOW };

static uint32_t *next_in(const struct nof_nic *nic, uint32_t i, enum chain chain)
{
    struct nof_peer *p = nof_peer_at(nic, i);
    return chain == BY_RANK ? &p->rank_next : &p->flow_next;
}

static void chain_out(const struct nof_nic *nic, uint32_t *at, uint32_t i, enum chain chain)
{
    /* bound: flows of one hash, whose seed is secret; paid by the flow that ends */
    while (*at != i)
        at = next_in(nic, *at, chain);
    *at = *next_in(nic, i, chain);
}

/* Frames of this flow find it no more. */
static void leave_link(struct nof_nic *nic, struct nof_peer *p)
{
    struct nof_link *link = &nic->links[p->link];
    uint32_t i = nof_peer_index(nic, p);
    nof_scheduler_remove(nic, p);
    if (p->expects > 0 && link->path != NULL && link->used)
        nof_path_expect(link->path, -1);
    chain_out(nic, flow_bucket(nic, p->link, p->remote_ep, p->ep), i, BY_FLOW);
    if (link->last_peer == i)
        link->last_peer = NOF_NIL;
    p->link = NOF_NIL;
    link->flows--;
    if (link->gone && nof_link_left(nic, link))
        nof_job_link_gone(nic, link->job);
}

/* Dead, or about to be when its endpoint looks at it. */
static bool is_dead(const struct nof_nic *nic, const struct nof_peer *p)
{
    return (p->flags & NOF_PEER_F_DEAD) || nic->links[p->link].gone;
}

bool nof_peer_link_up(struct nof_nic *nic, struct nof_peer *peer)
{
    struct nof_link *link = &nic->links[peer->link];
    struct nof_endpoint *ep = &nic->eps[peer->ep];
    if (!link->up || (peer->flags & (NOF_PEER_F_KNOWN | NOF_PEER_F_TX)) != NOF_PEER_F_KNOWN ||
        ep->state == NOF_EP_CLOSING)
        return false;
    uint32_t msgs = link->path != NULL ? nof_path_flow_msgs(link->path) : nic->flow_msgs;
    uint32_t blocks =
        link->path != NULL ? nof_path_flow_bytes(link->path) / NOF_NETMEM_BLOCK : nic->flow_blocks;
    nof_credit_given(peer, nic->first_seq + msgs, nic->first_seq + blocks);
    peer->flags |= NOF_PEER_F_TX;
    uint8_t fields[NOF_WIRE_FLOW_OPEN_BYTES];
    nof_put32(fields + NOF_WIRE_FLOW_OPEN_RANK, ep->rank);
    nof_put32(fields + NOF_WIRE_FLOW_OPEN_SRC_GEN, ep->generation);
    nof_put32(fields + NOF_WIRE_FLOW_OPEN_DST_GEN, peer->remote_generation);
    nof_put32(fields + NOF_WIRE_FLOW_OPEN_SIZE, ep->size);
    nof_link_ctl(nic, link, NOF_WIRE_FLOW_OPEN, 0, peer->ep, peer->remote_ep, fields, sizeof fields);
    nof_scheduler_activate(nic, peer);
    return true;
}

void nof_peer_want(struct nof_nic *nic, struct nof_peer *peer)
{
    peer->flags |= NOF_PEER_F_KNOWN;
    nof_peer_link_up(nic, peer);
}

int nof_peer_introduce(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t rank,
                       const struct nof_card *card)
{
    struct nof_peer *peer = nof_peer_by_rank(nic, ep->index, rank);
    if (peer != NULL && is_dead(nic, peer))
        return NOF_EPEERDEAD;
    if (peer == NULL) {
        struct nof_link *link;
        int rc = nof_link_open(nic, ep->job, card, &link);
        if (rc != NOF_OK)
            return rc;
        if (nof_peer_by_flow(nic, link, card->endpoint, (uint16_t)ep->index) != NULL)
            return NOF_EINVAL; /* that endpoint is another rank's */
        peer = peer_make(nic, ep, rank, link, card->endpoint, card->generation);
        if (peer == NULL)
            return NOF_ENOMEM;
    } else {
        const struct nof_link *link = &nic->links[peer->link];
        uint64_t nic_id = link->path != NULL ? nof_path_peer_nic(link->path) : nic->cfg.nic_id;
        if (card->nic_id != nic_id || card->endpoint != peer->remote_ep ||
            card->generation != peer->remote_generation)
            return NOF_EINVAL;
    }
    nof_peer_want(nic, peer);
    return NOF_OK;
}

/* What an endpoint answers to a FLOW_OPEN: NOF_OK or why not. */
static int accept_flow(struct nof_nic *nic, struct nof_link *link, const struct nof_wire_view *view)
{
    uint32_t rank = nof_get32(view->fields + NOF_WIRE_FLOW_OPEN_RANK);
    uint32_t generation = nof_get32(view->fields + NOF_WIRE_FLOW_OPEN_SRC_GEN);
    struct nof_endpoint *ep = view->dst_ep < nic->cfg.max_endpoints ? &nic->eps[view->dst_ep] : NULL;
    if (ep == NULL || ep->state != NOF_EP_OPEN || ep->job != link->job ||
        nof_get32(view->fields + NOF_WIRE_FLOW_OPEN_DST_GEN) != ep->generation)
        return NOF_EPEERDEAD;
    if (nof_get32(view->fields + NOF_WIRE_FLOW_OPEN_SIZE) != ep->size || rank >= ep->size ||
        generation > UINT16_MAX)
        return NOF_EINVAL;
    struct nof_peer *by_flow = nof_peer_by_flow(nic, link, view->src_ep, view->dst_ep);
    struct nof_peer *by_rank = nof_peer_by_rank(nic, view->dst_ep, rank);
    if (by_flow != by_rank)
        return by_rank != NULL && is_dead(nic, by_rank) ? NOF_EPEERDEAD : NOF_EINVAL;
    if (by_rank == NULL)
        by_rank = peer_make(nic, ep, rank, link, view->src_ep, (uint16_t)generation);
    if (by_rank == NULL)
        return NOF_ENOMEM;
    if (by_rank->remote_generation != generation)
        return NOF_EPEERDEAD;
    by_rank->flags |= NOF_PEER_F_RX;
    return NOF_OK;
}

int nof_peer_flow_open_rx(struct nof_nic *nic, struct nof_link *link, const struct nof_wire_view *view)
{
    if (view->fields_bytes != NOF_WIRE_FLOW_OPEN_BYTES)
        return NOF_EPROTO;
    const struct nof_peer *known = nof_peer_by_flow(nic, link, view->src_ep, view->dst_ep);
    if (known != NULL && (known->flags & NOF_PEER_F_RX))
        return NOF_EPROTO; /* a flow opens once */
    int rc = accept_flow(nic, link, view);
    if (rc != NOF_OK) {
        uint8_t fields[NOF_WIRE_FLOW_REFUSED_BYTES];
        nof_put32(fields + NOF_WIRE_FLOW_REFUSED_STATUS, (uint32_t)rc);
        nof_link_ctl(nic, link, NOF_WIRE_FLOW_REFUSED, 0, view->dst_ep, view->src_ep, fields, sizeof fields);
    }
    return NOF_OK;
}

void nof_peer_silence(struct nof_peer *peer, bool orderly)
{
    peer->flags |= NOF_PEER_F_DEAD | (orderly ? NOF_PEER_F_ORDERLY : 0);
}

void nof_peer_bury(struct nof_nic *nic, struct nof_peer *peer, int status)
{
    leave_link(nic, peer);
    nof_credit_cancel(nic, peer);
    peer->status = status;
}

void nof_peer_forget(struct nof_nic *nic, struct nof_peer *peer)
{
    chain_out(nic, rank_bucket(nic, peer->ep, peer->rank), nof_peer_index(nic, peer), BY_RANK);
}

void nof_peer_free(struct nof_nic *nic, struct nof_peer *peer)
{
    peer->used = 0;
    nof_share_given(&nic->peers_share, &nic->eps[peer->ep].peers_used, 1);
    nof_pool_give(&nic->peers, nof_peer_index(nic, peer));
}

void nof_peer_watch(struct nof_nic *nic, struct nof_peer *peer, int delta)
{
    if (peer->link != NOF_NIL && nic->links[peer->link].path != NULL)
        nof_path_expect(nic->links[peer->link].path, delta);
}

void nof_peer_unawaited(struct nof_nic *nic, struct nof_peer *peer)
{
    nof_peer_forget(nic, peer);
    nof_peer_free(nic, peer);
}

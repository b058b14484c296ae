/* SPDX-License-Identifier: BSD-3-Clause */
#include "flows.h"

#include "compress/grant.h"
#include "flow/chores.h"
#include "flow/completion.h"
#include "flow/incoming.h"
#include "op_kind.h"
#include "flow/peer.h"
#include "msg/read.h"
#include "msg/send.h"
#include "msg/recv.h"
#include "msg/unexpected.h"

#define OPEN_STEPS 16u /* to make a FLOW_OPEN */
#define END_STEPS 16u /* to end a flow or an operation */

void nof_flows_look(struct nof_nic *nic, uint32_t job)
{
    /* bound: endpoints; paid by the path that comes or ends */
    for (uint32_t i = 0; i < nic->cfg.max_endpoints; i++) {
        struct nof_endpoint *ep = &nic->eps[i];
        if (ep->state == NOF_EP_FREE || ep->state == NOF_EP_CLOSING || ep->job != job || ep->peers == NOF_NIL)
            continue;
        ep->look_again = ep->look != NOF_NIL;
        if (ep->look == NOF_NIL)
            ep->look = ep->peers;
        nof_chore(nic, ep);
    }
}

/* Nothing more is coming in on this flow. */
static void end_incoming(struct nof_nic *nic, struct nof_peer *peer, int status)
{
    if (peer->rx_left == 0)
        return;
    uint32_t target = peer->rx_target;
    nof_incoming_end(nic, peer);
    if (target == NOF_NIL)
        return;
    if (NOF_REF_KIND(target) == NOF_REF_RECV)
        nof_recv_end(nic, nof_recv_at(nic, NOF_REF_INDEX(target)), status);
    else
        nof_unexpected_failed(nic, NOF_REF_INDEX(target), status);
}

/* Both directions of the flow stop. What waits for the peer is ended one by one. */
static void stop(struct nof_nic *nic, struct nof_peer *peer, int status, bool orderly)
{
    nof_peer_silence(peer, orderly);
    nof_read_orphan(nic, peer);
    end_incoming(nic, peer, status);
    nof_grant_tx_forget(nic, nof_peer_index(nic, peer));
    nof_grant_rx_forget(nic, nof_peer_index(nic, peer));
    nof_peer_bury(nic, peer, status);
}

/* Every operation that waits for this rank ends with `status`; then the host is told `why`, once: nof_flows_run() has to
 * follow. */
static void die(struct nof_nic *nic, struct nof_peer *peer, int status, int why)
{
    if (peer->flags & NOF_PEER_F_DEAD)
        return;
    stop(nic, peer, status, why == NOF_OK);
    nof_queue_push(&nic->peers, &nic->eps[peer->ep].dying, nof_peer_index(nic, peer));
}

bool nof_flows_end_one(struct nof_nic *nic, struct nof_peer *peer, int status)
{
    if (nof_send_end_first(nic, peer, status))
        return true;
    if (peer->waiting == NOF_NIL)
        return false;
    nof_op_end(nic, peer->waiting, status);
    return true;
}

void nof_flows_close(struct nof_nic *nic, struct nof_peer *peer)
{
    if (!(peer->flags & NOF_PEER_F_DEAD))
        stop(nic, peer, NOF_EPEERDEAD, false);
    nof_peer_forget(nic, peer);
}

/* One operation of the oldest dead peer, or the last word about it. */
static void end_one(struct nof_nic *nic, struct nof_endpoint *ep)
{
    struct nof_peer *peer = nof_peer_at(nic, nof_queue_head(&nic->peers, ep->dying));
    nof_steps_spend(ep, END_STEPS);
    if (nof_flows_end_one(nic, peer, peer->status))
        return;
    nof_queue_pop(&nic->peers, &ep->dying);
    nof_chore_walk(nic, ep);
    nof_completion_peer_dead(nic, peer);
}

static void look_at_one(struct nof_nic *nic, struct nof_endpoint *ep)
{
    struct nof_peer *peer = nof_peer_at(nic, ep->look);
    ep->look = peer->ep_next;
    if (ep->look == NOF_NIL && ep->look_again) {
        ep->look = ep->peers;
        ep->look_again = 0;
    }
    nof_steps_spend(ep, 1);
    if (peer->link == NOF_NIL)
        return;
    const struct nof_link *link = &nic->links[peer->link];
    if (link->gone) {
        die(nic, peer, link->status, link->status);
        nof_steps_spend(ep, END_STEPS);
    } else if (nof_peer_link_up(nic, peer)) {
        nof_steps_spend(ep, OPEN_STEPS);
    }
}

void nof_flows_run(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: flows, and operations of dead peers, as far as the steps reach; paid by the endpoint's steps */
    while ((ep->dying & ep->look) != NOF_NIL) {
        if (nof_steps_left(nic, ep) == 0) {
            nof_chore(nic, ep);
            return;
        }
        if (ep->dying != NOF_NIL)
            end_one(nic, ep);
        else
            look_at_one(nic, ep);
    }
}

int nof_flows_refused_rx(struct nof_nic *nic, struct nof_link *link, const struct nof_wire_view *view)
{
    if (view->fields_bytes != NOF_WIRE_FLOW_REFUSED_BYTES)
        return NOF_EPROTO;
    struct nof_peer *peer = nof_peer_by_flow(nic, link, view->src_ep, view->dst_ep);
    int status = (int)(int32_t)nof_get32(view->fields + NOF_WIRE_FLOW_REFUSED_STATUS);
    if (status >= NOF_OK || status < INT16_MIN)
        status = NOF_EPEERDEAD;
    if (peer != NULL) {
        die(nic, peer, status, status);
        nof_flows_run(nic, &nic->eps[peer->ep]);
    }
    return NOF_OK;
}

int nof_flows_ep_down_rx(struct nof_nic *nic, struct nof_link *link, const struct nof_wire_view *view)
{
    if (view->fields_bytes != NOF_WIRE_EP_DOWN_BYTES)
        return NOF_EPROTO;
    uint32_t rank = nof_get32(view->fields + NOF_WIRE_EP_DOWN_RANK);
    int why = (int)(int32_t)nof_get32(view->fields + NOF_WIRE_EP_DOWN_STATUS);
    if (why > NOF_OK || why < INT16_MIN)
        why = NOF_EPEERDEAD;
    /* bound: endpoints; paid by the peer that goes */
    for (uint32_t i = 0; i < nic->cfg.max_endpoints; i++) {
        if (nic->eps[i].state == NOF_EP_FREE || nic->eps[i].state == NOF_EP_CLOSING)
            continue;
        struct nof_peer *p = nof_peer_find_flow(nic, link, view->src_ep, (uint16_t)i);
        if (p == NULL || p->rank != rank)
            continue;
        die(nic, p, why == NOF_OK ? NOF_EPEERDEAD : why, why);
        nof_flows_run(nic, &nic->eps[i]);
    }
    return NOF_OK;
}

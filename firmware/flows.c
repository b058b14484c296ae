/* SPDX-License-Identifier: BSD-3-Clause */
#include "flows.h"

#include "flow/chores.h"
#include "flow/completion.h"
#include "flow/peer.h"
#include "msg/walk.h"

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

/* One operation of the oldest dead peer, or the last word about it. */
static void end_one(struct nof_nic *nic, struct nof_endpoint *ep)
{
    struct nof_peer *peer = nof_peer_at(nic, nof_queue_head(&nic->peers, ep->dying));
    nof_steps_spend(ep, END_STEPS);
    if (nof_peer_end_one(nic, peer, peer->status))
        return;
    nof_queue_pop(&nic->peers, &ep->dying);
    nof_walk_receives(nic, ep);
    nof_ep_peer_dead(nic, peer);
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
        nof_peer_die(nic, peer, link->status, link->status);
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

/* SPDX-License-Identifier: BSD-3-Clause */
#include "scheduler.h"

#include "send.h"

static void ring_add(struct nof_nic *nic, struct nof_endpoint *ep)
{
    if (ep->in_ring)
        return;
    uint32_t i = nof_ep_index(nic, ep);
    ep->in_ring = 1;
    if (nic->ring == NOF_NIL) {
        ep->ring_next = i;
    } else {
        ep->ring_next = nic->eps[nic->ring].ring_next;
        nic->eps[nic->ring].ring_next = i;
    }
    nic->ring = i;
}

static struct nof_endpoint *ring_pop(struct nof_nic *nic)
{
    struct nof_endpoint *tail = &nic->eps[nic->ring];
    struct nof_endpoint *ep = &nic->eps[tail->ring_next];
    if (ep == tail)
        nic->ring = NOF_NIL;
    else
        tail->ring_next = ep->ring_next;
    ep->in_ring = 0;
    return ep;
}

static void make_active(struct nof_nic *nic, struct nof_peer *peer)
{
    struct nof_endpoint *ep = &nic->eps[peer->ep];
    peer->sched = NOF_SCHED_ACTIVE;
    nof_queue_push(&nic->peers, &ep->active, nof_peer_index(nic, peer));
    ring_add(nic, ep);
}

void nof_scheduler_activate(struct nof_nic *nic, struct nof_peer *peer)
{
    if (peer->sched != NOF_SCHED_IDLE || (peer->flags & NOF_PEER_F_DEAD))
        return;
    if (peer->sendq == NOF_NIL && peer->dataq == NOF_NIL && peer->readq == NOF_NIL)
        return;
    make_active(nic, peer);
}

void nof_scheduler_unblock(struct nof_nic *nic, struct nof_link *link)
{
    uint32_t i;
    while ((i = nof_queue_pop(&nic->peers, &link->blocked)) != NOF_NIL)
        make_active(nic, nof_peer_at(nic, i));
}

void nof_scheduler_remove(struct nof_nic *nic, struct nof_peer *peer)
{
    uint32_t i = nof_peer_index(nic, peer);
    if (peer->sched == NOF_SCHED_ACTIVE)
        nof_queue_remove(&nic->peers, &nic->eps[peer->ep].active, i);
    else if (peer->sched == NOF_SCHED_BLOCKED)
        nof_queue_remove(&nic->peers, &nic->links[peer->link].blocked, i);
    else if (peer->sched == NOF_SCHED_BUSY)
        nof_queue_remove(&nic->peers, &nic->busy_flows, i);
    peer->sched = NOF_SCHED_IDLE;
}

void nof_scheduler_retry(struct nof_nic *nic)
{
    uint32_t i;
    while ((i = nof_queue_pop(&nic->peers, &nic->busy_flows)) != NOF_NIL)
        make_active(nic, nof_peer_at(nic, i));
}

/* Put a flow that was served where it belongs now. */
static void file(struct nof_nic *nic, struct nof_peer *peer, enum nof_pump state)
{
    if (state == NOF_PUMP_MORE) {
        make_active(nic, peer);
    } else if (state == NOF_PUMP_BLOCKED) {
        peer->sched = NOF_SCHED_BLOCKED;
        nof_queue_push(&nic->peers, &nic->links[peer->link].blocked, nof_peer_index(nic, peer));
    } else if (state == NOF_PUMP_BUSY || state == NOF_PUMP_READING) {
        peer->sched = NOF_SCHED_BUSY; /* the end of a read, or the clock, wakes it */
        nof_queue_push(&nic->peers, &nic->busy_flows, nof_peer_index(nic, peer));
        if (state == NOF_PUMP_BUSY)
            nof_retry(nic);
    }
}

/* One turn of an endpoint. */
static void serve(struct nof_nic *nic, struct nof_endpoint *ep, unsigned budget, unsigned *sent)
{
    int32_t quantum = (int32_t)nic->features[NOF_F_DRR_QUANTUM];
    ep->deficit += quantum;
    if (ep->deficit > quantum)
        ep->deficit = quantum;
    while (ep->active != NOF_NIL && ep->deficit > 0 && *sent < budget) {
        struct nof_peer *peer = nof_peer_at(nic, nof_queue_pop(&nic->peers, &ep->active));
        peer->sched = NOF_SCHED_IDLE;
        peer->deficit += quantum;
        if (peer->deficit > quantum)
            peer->deficit = quantum;
        uint32_t bytes = 0;
        enum nof_pump state = NOF_PUMP_MORE;
        if (peer->deficit > 0)
            state = nof_send_pump(nic, peer, budget - *sent, &bytes, sent);
        peer->deficit -= (int32_t)bytes;
        ep->deficit -= bytes;
        file(nic, peer, state);
    }
}

unsigned nof_scheduler_run(struct nof_nic *nic, unsigned budget)
{
    unsigned sent = 0;
    while (nic->ring != NOF_NIL && sent < budget) {
        struct nof_endpoint *ep = ring_pop(nic);
        serve(nic, ep, budget, &sent);
        if (ep->active != NOF_NIL)
            ring_add(nic, ep);
    }
    return sent;
}

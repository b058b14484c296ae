/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/scheduler.h"

/* An endpoint may have thousands of flows with something to send and nothing that they can send now. */
#define WAKE 256u /* flows that are made active at once */
#define LOOKS 512u /* flows served in one run, and of one endpoint before it is another's turn: */
#define LOOKS_EP 64u

/* A flow is in one ring at most: of its endpoint, its link or the NIC, as `sched` says. */
static void push(struct nof_nic *nic, uint32_t *tail, struct nof_peer *peer)
{
    nof_ring_push(&nic->peers, tail, nof_peer_index(nic, peer), offsetof(struct nof_peer, sched_prev));
}

static struct nof_peer *pop(struct nof_nic *nic, uint32_t *tail)
{
    uint32_t i = nof_ring_pop(&nic->peers, tail, offsetof(struct nof_peer, sched_prev));
    return nof_peer_at(nic, i);
}

static void take_out(struct nof_nic *nic, uint32_t *tail, const struct nof_peer *peer)
{
    nof_ring_remove(&nic->peers, tail, nof_peer_index(nic, peer), offsetof(struct nof_peer, sched_prev));
}

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
    push(nic, &ep->active, peer);
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

bool nof_scheduler_unblock(struct nof_nic *nic, struct nof_link *link)
{
    for (unsigned n = 0; n < WAKE && link->blocked != NOF_NIL; n++)
        make_active(nic, pop(nic, &link->blocked));
    return link->blocked != NOF_NIL;
}

void nof_scheduler_remove(struct nof_nic *nic, struct nof_peer *peer)
{
    if (peer->sched == NOF_SCHED_ACTIVE)
        take_out(nic, &nic->eps[peer->ep].active, peer);
    else if (peer->sched == NOF_SCHED_BLOCKED)
        take_out(nic, &nic->links[peer->link].blocked, peer);
    else if (peer->sched == NOF_SCHED_BUSY)
        take_out(nic, &nic->busy_flows, peer);
    else if (peer->sched == NOF_SCHED_LATER)
        take_out(nic, &nic->later_flows, peer);
    peer->sched = NOF_SCHED_IDLE;
}

void nof_scheduler_retry(struct nof_nic *nic)
{
    for (unsigned n = 0; n < WAKE && nic->busy_flows != NOF_NIL; n++)
        make_active(nic, pop(nic, &nic->busy_flows));
    if (nic->busy_flows != NOF_NIL)
        nof_retry(nic);
}

void nof_scheduler_turn(struct nof_nic *nic)
{
    for (unsigned n = 0; n < WAKE && nic->later_flows != NOF_NIL; n++)
        make_active(nic, pop(nic, &nic->later_flows));
}

/* Put a flow that was served where it belongs now. */
static void file(struct nof_nic *nic, struct nof_peer *peer, enum nof_pump state)
{
    if (state == NOF_PUMP_MORE) {
        make_active(nic, peer);
    } else if (state == NOF_PUMP_BLOCKED) {
        peer->sched = NOF_SCHED_BLOCKED;
        push(nic, &nic->links[peer->link].blocked, peer);
    } else if (state == NOF_PUMP_LATER) {
        peer->sched =
            NOF_SCHED_LATER; /* not with those that the clock wakes: they would be tried again in each turn */
        push(nic, &nic->later_flows, peer);
    } else if (state != NOF_PUMP_IDLE) {
        peer->sched = NOF_SCHED_BUSY; /* the end of a read, or the clock, wakes it */
        push(nic, &nic->busy_flows, peer);
        if (state == NOF_PUMP_BUSY)
            nof_retry(nic);
    }
}

static int32_t topped_up(int32_t deficit, int32_t quantum)
{
    return deficit > 0 ? quantum : deficit + quantum;
}

/* The next flow of this endpoint that may send, or NULL. */
static struct nof_peer *next_of(struct nof_nic *nic, struct nof_scheduler_run *run, struct nof_endpoint *ep)
{
    int32_t quantum = (int32_t)nic->features[NOF_F_DRR_QUANTUM];
    /* bound: LOOKS_EP flows; paid by the endpoint's share of the link */
    while (run->looks_ep < LOOKS_EP && ep->active != NOF_NIL && ep->deficit > 0) {
        struct nof_peer *peer = pop(nic, &ep->active);
        run->looks_ep++;
        run->looks++;
        peer->sched = NOF_SCHED_IDLE;
        peer->deficit = topped_up(peer->deficit, quantum);
        if (peer->deficit > 0)
            return peer;
        make_active(nic, peer);
    }
    return NULL;
}

struct nof_peer *nof_scheduler_next(struct nof_nic *nic, struct nof_scheduler_run *run)
{
    struct nof_peer *peer = NULL;
    /* bound: LOOKS, and endpoints that are closing; paid by each endpoint's share of the link */
    while (run->ep != NULL || (nic->ring != NOF_NIL && run->looks < LOOKS)) {
        if (run->ep == NULL) {
            struct nof_endpoint *ep = ring_pop(nic);
            if (ep->state == NOF_EP_CLOSING)
                continue;
            int64_t quantum = (int64_t)nic->features[NOF_F_DRR_QUANTUM];
            ep->deficit = ep->deficit > 0 ? quantum : ep->deficit + quantum;
            run->ep = ep;
            run->looks_ep = 0;
        }
        peer = next_of(nic, run, run->ep);
        if (peer != NULL)
            return peer;
        nof_scheduler_end(nic, run);
    }
    return NULL;
}

void nof_scheduler_served(struct nof_nic *nic, const struct nof_scheduler_run *run, struct nof_peer *peer,
                          enum nof_pump state, uint32_t bytes)
{
    peer->deficit -= (int32_t)bytes;
    run->ep->deficit -= bytes;
    file(nic, peer, state);
}

void nof_scheduler_end(struct nof_nic *nic, struct nof_scheduler_run *run)
{
    if (run->ep != NULL && run->ep->active != NOF_NIL)
        ring_add(nic, run->ep);
    run->ep = NULL;
}

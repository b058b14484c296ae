/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/scheduler.h"

/* An endpoint may have thousands of flows with something to send and nothing that they can send now. */
#define WAKE 256u /* flows that are made active at once */
#define LOOKS 512u /* flows served in one run, and of one endpoint before it is another's turn: */
#define LOOKS_EP 64u
#define QUANTUM_US 250u
#define ORDER_LOOKS 64u /* with more flows than that the order is not exact */

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

static bool is_active(const struct nof_peer *peer)
{
    return peer->sched == NOF_SCHED_ACTIVE || peer->sched == NOF_SCHED_LOOPS;
}

static enum nof_sched_way way_of(const struct nof_peer *peer)
{
    return peer->sched == NOF_SCHED_LOOPS ? NOF_SCHED_LOOP : NOF_SCHED_WIRE;
}

/* Nothing but granted payload, to the wire. */
static bool is_bulk(const struct nof_nic *nic, const struct nof_peer *peer)
{
    return peer->dataq != NOF_NIL && peer->sendq == NOF_NIL && nic->links[peer->link].path != NULL;
}

static bool has_flows(const struct nof_sched_turns *t)
{
    return (t->active & t->bulk) != NOF_NIL;
}

/* Smaller: the message was posted before. */
static uint64_t order_of(const struct nof_nic *nic, uint32_t peer)
{
    uint32_t s = nof_queue_head(&nic->sends, nof_peer_at(nic, peer)->dataq);
    return s == NOF_NIL ? 0 : nof_send_at(nic, s)->order;
}

/* Behind those whose messages are not newer. */
static void put_in_order(const struct nof_nic *nic, uint32_t *tail, struct nof_peer *peer)
{
    const struct nof_pool *p = &nic->peers;
    uint32_t i = nof_peer_index(nic, peer), at = *tail;
    uint64_t order = order_of(nic, i);
    /* bound: ORDER_LOOKS, 64; paid by the message */
    for (unsigned looks = 0; looks < ORDER_LOOKS && at != NOF_NIL && order_of(nic, at) > order; looks++) {
        uint32_t prev = *nof_ring_prev(p, at, offsetof(struct nof_peer, sched_prev));
        at = prev == *tail ? NOF_NIL : prev;
    }
    peer->sched = NOF_SCHED_BULK;
    if (at == NOF_NIL)
        nof_ring_push_first(p, tail, i, offsetof(struct nof_peer, sched_prev));
    else
        nof_ring_push_behind(p, tail, at, i, offsetof(struct nof_peer, sched_prev));
}

void nof_scheduler_init(struct nof_endpoint *ep)
{
    /* bound: the two ways; paid by set-up */
    for (unsigned way = 0; way < NOF_SCHED_WAYS; way++) {
        ep->sched[way].active = ep->sched[way].bulk = NOF_NIL;
        ep->sched[way].deficit = 0;
    }
}

bool nof_scheduler_ready(const struct nof_nic *nic)
{
    return nic->ring[NOF_SCHED_LOOP] != NOF_NIL ||
           (nic->ring[NOF_SCHED_WIRE] != NOF_NIL && !nof_transport_waits(nic->transport));
}

/* Behind the other endpoints, or before them. */
static void ring_add(struct nof_nic *nic, unsigned way, struct nof_endpoint *ep, bool first)
{
    uint32_t i = ep->index, *tail = &nic->ring[way];
    struct nof_sched_turns *t = &ep->sched[way];
    if (t->listed)
        return;
    t->listed = 1;
    t->next = i;
    if (*tail != NOF_NIL) {
        t->next = nic->eps[*tail].sched[way].next;
        nic->eps[*tail].sched[way].next = i;
    }
    if (!first || *tail == NOF_NIL)
        *tail = i;
}

static struct nof_endpoint *ring_pop(struct nof_nic *nic, unsigned way)
{
    uint32_t *tail = &nic->ring[way];
    struct nof_sched_turns *last = &nic->eps[*tail].sched[way];
    struct nof_endpoint *ep = &nic->eps[last->next];
    if (&ep->sched[way] == last)
        *tail = NOF_NIL;
    else
        last->next = ep->sched[way].next;
    return ep;
}

static void make_active(struct nof_nic *nic, struct nof_peer *peer)
{
    enum nof_sched_way way = nof_scheduler_way(&nic->links[peer->link]);
    struct nof_endpoint *ep = &nic->eps[peer->ep];
    if (is_bulk(nic, peer)) {
        put_in_order(nic, &ep->sched[way].bulk, peer);
    } else {
        peer->sched = way == NOF_SCHED_LOOP ? NOF_SCHED_LOOPS : NOF_SCHED_ACTIVE;
        push(nic, &ep->sched[way].active, peer);
    }
    ring_add(nic, way, ep, false);
}

/* It was interrupted. */
static void make_first(struct nof_nic *nic, struct nof_scheduler_run *run, struct nof_peer *peer)
{
    struct nof_sched_turns *t = &run->ep->sched[run->way];
    t->bulk_turn = is_bulk(nic, peer);
    if (t->bulk_turn) {
        put_in_order(nic, &t->bulk, peer);
        return;
    }
    peer->sched = run->way == NOF_SCHED_LOOP ? NOF_SCHED_LOOPS : NOF_SCHED_ACTIVE;
    nof_ring_push_first(&nic->peers, &t->active, nof_peer_index(nic, peer),
                        offsetof(struct nof_peer, sched_prev));
}

void nof_scheduler_activate(struct nof_nic *nic, struct nof_peer *peer)
{
    if (peer->sched == NOF_SCHED_BULK && !is_bulk(nic, peer)) { /* not behind the payload of others */
        take_out(nic, &nic->eps[peer->ep].sched[NOF_SCHED_WIRE].bulk, peer);
        peer->sched = NOF_SCHED_IDLE;
    }
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
    if (is_active(peer))
        take_out(nic, &nic->eps[peer->ep].sched[way_of(peer)].active, peer);
    else if (peer->sched == NOF_SCHED_BULK)
        take_out(nic, &nic->eps[peer->ep].sched[NOF_SCHED_WIRE].bulk, peer);
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

/* What one sends before it is another's turn: on a slow link at most what that carries in QUANTUM_US, or a full frame. */
static int32_t quantum_of(const struct nof_nic *nic, unsigned way)
{
    uint64_t bytes = nic->features[NOF_F_DRR_QUANTUM], rate = nic->cfg.link_rate_bps;
    uint64_t carried = rate / 8 * QUANTUM_US / 1000000;
    uint64_t most = carried > nic->cfg.mtu_bytes ? carried : nic->cfg.mtu_bytes;
    return (int32_t)(way == NOF_SCHED_WIRE && rate > 0 && most < bytes ? most : bytes);
}

/* The next flow of this endpoint that may send, or NULL. */
static struct nof_peer *next_of(struct nof_nic *nic, struct nof_scheduler_run *run, struct nof_sched_turns *t)
{
    int32_t quantum = quantum_of(nic, run->way);
    /* bound: LOOKS_EP flows; paid by the endpoint's share of the link */
    while (run->looks_ep < LOOKS_EP && has_flows(t) && t->deficit > 0) {
        bool bulk = t->active == NOF_NIL || (t->bulk != NOF_NIL && t->bulk_turn);
        struct nof_peer *peer = pop(nic, bulk ? &t->bulk : &t->active);
        t->bulk_turn = !bulk;
        run->looks_ep++;
        run->looks++;
        peer->sched = NOF_SCHED_IDLE;
        if (peer->deficit <= 0)
            peer->deficit += quantum;
        if (peer->deficit > 0)
            return peer;
        make_active(nic, peer);
    }
    return NULL;
}

/* The next flow that goes this way. */
static struct nof_peer *next_on(struct nof_nic *nic, struct nof_scheduler_run *run)
{
    const uint32_t *ring = &nic->ring[run->way];
    /* bound: LOOKS; paid by each endpoint's share of the link */
    while (!run->waits && (run->ep != NULL || (*ring != NOF_NIL && run->looks < LOOKS))) {
        if (run->ep == NULL) {
            run->looks++;
            struct nof_endpoint *ep = ring_pop(nic, run->way);
            if (ep->state == NOF_EP_CLOSING) {
                ep->sched[run->way].listed = 0;
                continue;
            }
            if (ep->sched[run->way].deficit <= 0)
                ep->sched[run->way].deficit += quantum_of(nic, run->way);
            run->ep = ep;
            run->looks_ep = 0;
        }
        struct nof_peer *peer = next_of(nic, run, &run->ep->sched[run->way]);
        if (peer != NULL)
            return peer;
        nof_scheduler_end(nic, run);
    }
    return NULL;
}

void nof_scheduler_other_way(struct nof_nic *nic, struct nof_scheduler_run *run)
{
    nof_scheduler_end(nic, run);
    run->second = true;
    run->way ^= NOF_SCHED_WIRE ^ NOF_SCHED_LOOP;
    run->waits = false;
    run->looks = 0;
}

struct nof_peer *nof_scheduler_next(struct nof_nic *nic, struct nof_scheduler_run *run)
{
    struct nof_peer *peer = next_on(nic, run);
    if (peer != NULL || run->second)
        return peer;
    nof_scheduler_other_way(nic, run);
    return next_on(nic, run);
}

void nof_scheduler_served(struct nof_nic *nic, struct nof_scheduler_run *run, struct nof_peer *peer,
                          enum nof_pump state, uint32_t bytes, unsigned frames)
{
    run->waits =
        state == NOF_PUMP_BLOCKED && run->way == NOF_SCHED_WIRE && !nof_transport_room(nic->transport);
    peer->deficit -= (int32_t)bytes;
    run->ep->sched[run->way].deficit -= bytes;
    /* Frames of a block that was paid for when it was read: all of it would leave before others. */
    run->over = run->waits && bytes == 0 && frames > 0;
    if ((state == NOF_PUMP_MORE || run->waits) && peer->deficit > 0 && !run->over)
        make_first(nic, run, peer);
    else
        file(nic, peer, run->waits ? NOF_PUMP_MORE : state);
}

void nof_scheduler_end(struct nof_nic *nic, struct nof_scheduler_run *run)
{
    if (run->ep == NULL)
        return;
    struct nof_sched_turns *t = &run->ep->sched[run->way];
    t->listed = 0;
    if (has_flows(t))
        ring_add(nic, run->way, run->ep, t->deficit > 0 && run->looks_ep < LOOKS_EP && !run->over);
    run->over = false;
    run->ep = NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who sends next: deficit round robin in bytes, first between endpoints, then between the flows of
 * one endpoint. A turn adds feature drr_quantum_bytes to a deficit that is used up, on a slow link less; what is sent
 * is taken off, also beyond zero (a request is never cut for it), so shares are exact over time. Who is interrupted,
 * because the NIC may send no more for now, goes on first. Flows of one endpoint that have nothing but granted payload
 * for the wire send in the order of their messages, every second turn of it: a message that is whole early is worth
 * more than many that are half there. Flows of the loop-back are served by themselves: they wait
 * for no link, and take nothing of it.
 *
 *   next() -> the caller sends what the flow has -> served() ... end()
 *
 *   idle --activate()--> active --window shut--> blocked --unblock()--> active
 *                          '-----nothing to send-----> idle
 *
 * An endpoint that floods has one place in the ring, whatever it queues. */
#ifndef NOF_SCHEDULER_H
#define NOF_SCHEDULER_H

#include "nic.h"

enum nof_pump {
    NOF_PUMP_IDLE, /* nothing to send now; an event will activate the flow */
    NOF_PUMP_MORE, /* its share is used up */
    NOF_PUMP_BLOCKED, /* the link's window is shut */
    NOF_PUMP_BUSY, /* no frame or no DMA request to be had: try again soon */
    NOF_PUMP_READING, /* the endpoint has all the reads under way that it may have */
    NOF_PUMP_LATER, /* its endpoint has no steps left in this turn */
};

/* One run over the flows that have something to send. Zero it to begin. */
struct nof_scheduler_run {
    struct nof_endpoint *ep; /* whose turn it is, or NULL */
    unsigned way; /* enum nof_sched_way: the first one, as the caller says, then the other */
    bool second;
    bool waits; /* this way no more may leave for now, whosever it is */
    bool over; /* ep's turn, although its share is not used up */
    unsigned looks; /* endpoints and flows served this way, and flows of this endpoint: */
    unsigned looks_ep;
};

void nof_scheduler_init(struct nof_endpoint *ep); /* keeps its places in the NIC's rings */
/* Are there active flows, and some that may send before the clock or an event says so? */
static inline bool nof_scheduler_flows(const struct nof_nic *nic)
{
    return (nic->ring[NOF_SCHED_WIRE] & nic->ring[NOF_SCHED_LOOP]) != NOF_NIL;
}
bool nof_scheduler_ready(const struct nof_nic *nic);

static inline enum nof_sched_way nof_scheduler_way(const struct nof_link *link)
{
    return link->path != NULL ? NOF_SCHED_WIRE : NOF_SCHED_LOOP;
}

/* The flow may have something to send. */
void nof_scheduler_activate(struct nof_nic *nic, struct nof_peer *peer);
/* Flows that wait for this link's window are active again. True: it was not the turn of all. */
bool nof_scheduler_unblock(struct nof_nic *nic, struct nof_link *link);
/* The flow is dying: out of whatever queue it is in. */
void nof_scheduler_remove(struct nof_nic *nic, struct nof_peer *peer);
/* Flows that found no frame or no DMA request are active again. */
void nof_scheduler_retry(struct nof_nic *nic);
/* A turn of the NIC has begun: so are those whose endpoints had no steps left. */
void nof_scheduler_turn(struct nof_nic *nic);
/* The flow that sends next, or NULL; what it is charged for, what has left, and why no more; no further flow is asked
 * for. */
struct nof_peer *nof_scheduler_next(struct nof_nic *nic, struct nof_scheduler_run *run);
/* The rest of the run is the other way's. */
void nof_scheduler_other_way(struct nof_nic *nic, struct nof_scheduler_run *run);
void nof_scheduler_served(struct nof_nic *nic, struct nof_scheduler_run *run, struct nof_peer *peer,
                          enum nof_pump state, uint32_t bytes, unsigned frames);
void nof_scheduler_end(struct nof_nic *nic, struct nof_scheduler_run *run);

#endif

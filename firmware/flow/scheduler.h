/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who sends next: deficit round robin in bytes, first between endpoints, then between the flows of
 * one endpoint. A turn adds feature drr_quantum_bytes to the deficit; what is sent is taken off,
 * also beyond zero (a request is never cut for it), so shares are exact over time.
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
    unsigned looks; /* flows served, and of this endpoint: */
    unsigned looks_ep;
};

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
/* The flow that sends next, or NULL; what it has sent, and why no more; no further flow is asked for. */
struct nof_peer *nof_scheduler_next(struct nof_nic *nic, struct nof_scheduler_run *run);
void nof_scheduler_served(struct nof_nic *nic, const struct nof_scheduler_run *run, struct nof_peer *peer,
                          enum nof_pump state, uint32_t bytes);
void nof_scheduler_end(struct nof_nic *nic, struct nof_scheduler_run *run);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who sends next: deficit round robin in bytes, first between endpoints, then between the flows of
 * one endpoint. A turn adds feature drr_quantum_bytes to the deficit; what is sent is taken off,
 * also beyond zero (a request is never cut for it), so shares are exact over time.
 *
 *   idle --activate()--> active --window shut--> blocked --unblock()--> active
 *                          '-----nothing to send-----> idle
 *
 * An endpoint that floods has one place in the ring, whatever it queues. */
#ifndef NOF_SCHEDULER_H
#define NOF_SCHEDULER_H

#include "nic.h"

/* The flow may have something to send. */
void nof_scheduler_activate(struct nof_nic *nic, struct nof_peer *peer);
/* All flows that wait for this link's window are active again. */
void nof_scheduler_unblock(struct nof_nic *nic, struct nof_link *link);
/* The flow is dying: out of whatever queue it is in. */
void nof_scheduler_remove(struct nof_nic *nic, struct nof_peer *peer);
/* Flows that found no frame or no DMA request are active again. */
void nof_scheduler_retry(struct nof_nic *nic);
/* Send up to `budget` frames. Returns frames sent. */
unsigned nof_scheduler_run(struct nof_nic *nic, unsigned budget);

#endif

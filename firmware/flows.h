/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What concerns many flows of an endpoint at once, or many operations of one, in pieces of a turn (chores.h):
 *
 *   a path has come up    the endpoints look at their flows: those over it that the host wants are opened
 *   a path has ended      likewise: the peers behind it die
 *   a peer has died       at once its flow is in no table any more and nothing goes to it; then its operations end, one by
 *                         one, then PEER_DEAD is said, then posted receives that name it end (walk.h) */
#ifndef NOF_FLOWS_H
#define NOF_FLOWS_H

#include "nic.h"

/* A path of this job has come up or ended: its endpoints look at all their flows. */
void nof_flows_look(struct nof_nic *nic, uint32_t job);
/* Go on, as far as the steps of this turn reach. */
void nof_flows_run(struct nof_nic *nic, struct nof_endpoint *ep);

#endif

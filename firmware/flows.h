/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What concerns many flows of an endpoint at once, or many operations of one, in pieces of a turn (chores.h):
 *
 *   a path has come up    the endpoints look at their flows: those over it that the host wants are opened
 *   a path has ended      likewise: the peers behind it die
 *   a peer has died       at once its flow is in no table any more and nothing goes to it; then its operations end, one by
 *                         one, then PEER_DEAD is said; posted receives that were on no list (walk.h) end after it */
#ifndef NOF_FLOWS_H
#define NOF_FLOWS_H

#include "nic.h"

/* A path of this job has come up or ended: its endpoints look at all their flows. */
void nof_flows_look(struct nof_nic *nic, uint32_t job);
/* FLOW_REFUSED and EP_DOWN have come: NOF_OK or NOF_EPROTO. */
int nof_flows_refused_rx(struct nof_nic *nic, struct nof_link *link, const struct nof_wire_view *view);
int nof_flows_ep_down_rx(struct nof_nic *nic, struct nof_link *link, const struct nof_wire_view *view);
/* One operation of the flow ends with `status`; false: there is none. */
bool nof_flows_end_one(struct nof_nic *nic, struct nof_peer *peer, int status);
/* Its endpoint closes: the flow is out of every table, nothing is said. nof_peer_free() follows. */
void nof_flows_close(struct nof_nic *nic, struct nof_peer *peer);
/* Go on, as far as the steps of this turn reach. */
void nof_flows_run(struct nof_nic *nic, struct nof_endpoint *ep);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Closing an endpoint. From nof_ep_close() on it is deaf and dumb: no frame reaches its flows, nothing of it is sent or
 * copied, its host hears nothing and its BAR is not touched. What it held, be it thousands of messages, is cleared
 * away in pieces of a turn (chores.h):
 *
 *   completions that waited -> operations and flows -> receives -> unexpected messages -> what was spilled and not
 *   fetched -> layouts -> until its last DMA has ended -> FREE
 *
 * The peers are told meanwhile. */
#ifndef NOF_CLOSE_H
#define NOF_CLOSE_H

#include "nic.h"

void nof_ep_close(struct nof_nic *nic, struct nof_endpoint *ep, int reason);
/* Tell the peers; go on with those whose last DMA has ended. */
void nof_ep_closing_run(struct nof_nic *nic);
/* Go on with this one, which is closing, as far as its steps of this turn reach. */
void nof_close_run(struct nof_nic *nic, struct nof_endpoint *ep);

#endif

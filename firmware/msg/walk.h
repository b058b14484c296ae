/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The walk of an endpoint over all receives, to find those that it has posted: as long as the pool, and so in pieces of
 * a turn (chores.h). What every posted receive would have to pay for being found faster, few need:
 *
 *   a peer has become known    receives that name it and found no room on a peer's list go there, if there is some now
 *   a peer has died            those of them that name it end
 *   the first CANCEL           all must be found by their cookies; from then on each is when it is posted
 *
 * The walk goes round the pool: whoever needs it lets it go round once more from where it is. */
#ifndef NOF_WALK_H
#define NOF_WALK_H

#include "nic.h"

/* Is it known of every posted receive by which cookie it is found? Asking makes it so, in time. */
bool nof_walk_indexed(struct nof_endpoint *ep);
/* A CANCEL descriptor that found nothing while it is not known: r, which is not posted, is completed when it is. */
void nof_walk_seek(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r, uint64_t len);
/* Take a posted receive (or waiting probe) back: NOF_OK; NULL: NOF_ENOMATCH, it was matched already. */
int nof_walk_cancel(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r);
void nof_walk_run(struct nof_nic *nic, struct nof_endpoint *ep);

#endif

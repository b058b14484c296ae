/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives that wait until they may ask their sender:
 *
 *   for blocks   none is left for their payload: in order, oldest first
 *   for a while  the sender's host had no room for a GRANT or REVOKE: what was asked is asked again
 *
 * Lists only. Both are linked both ways: thousands that end in any order do not look for each other. */
#ifndef NOF_RECV_WAIT_H
#define NOF_RECV_WAIT_H

#include "nic.h"

/* r waits for blocks, behind all others of its endpoint. Nothing of it has come. */
void nof_recv_wait_for_blocks(struct nof_nic *nic, struct nof_recv *r);
/* The one that waits longest, or NULL. */
static inline struct nof_recv *nof_recv_wait_first(const struct nof_nic *nic, const struct nof_endpoint *ep)
{
    return ep->recv_wait != NOF_NIL ? nof_recv_at(nic, ep->recv_wait) : NULL;
}
/* r waits for a while, and the NIC for it. */
void nof_recv_wait_a_while(struct nof_nic *nic, struct nof_recv *r);
/* One of those, which waits no longer; there is one (endpoint.again). */
struct nof_recv *nof_recv_wait_over(struct nof_nic *nic, const struct nof_endpoint *ep);
/* r goes on or ends: it waits for neither any more. */
void nof_recv_wait_leave(struct nof_nic *nic, struct nof_recv *r);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Completions: what is said to the host. They go straight to its ring. What the ring does not take stays in the object
 * that it is about (send, receive, envelope, peer), on a FIFO of the endpoint, and no descriptor is taken meanwhile:
 * completions never need memory and never overtake each other.
 *
 *   say() -> true: the host has it, the object is free
 *         -> false: keep(), with the object -> again(), until it says which object is free now */
#ifndef NOF_COMPLETION_H
#define NOF_COMPLETION_H

#include "nic.h"

/* Into the host's ring; false: it is full. Only while nothing waits before it. */
static inline bool nof_completion_give(struct nof_nic *nic, struct nof_endpoint *ep,
                                       const struct nof_comp *comp)
{
    if (nic->host_ops->complete(nic->host, ep->index, comp, 1) != 1)
        return false;
    nof_count(nic, ep, NOF_C_COMPS, 1);
    return true;
}

/* True: the host has it, or the endpoint hears nothing any more. False: keep() must follow. */
static inline bool nof_completion_say(struct nof_nic *nic, struct nof_endpoint *ep,
                                      const struct nof_comp *comp)
{
    return ep->state != NOF_EP_OPEN || (ep->comp_head == NOF_NIL && nof_completion_give(nic, ep, comp));
}

void nof_completion_keep(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_comp *comp,
                         uint32_t ref);
/* PEER_DEAD; it needs no room but the peer's own link. */
void nof_completion_peer_dead(struct nof_nic *nic, struct nof_peer *peer);
/* The oldest completion that waits, once more. The ref of its object, which is the caller's to release
 * (nof_op_release()), or NOF_NIL: none waits, or the ring is still full. */
uint32_t nof_completion_again(struct nof_nic *nic, struct nof_endpoint *ep);
/* The oldest that waits, and one does: nobody will hear it. The ref of its object, as above. */
uint32_t nof_completion_forget(struct nof_nic *nic, struct nof_endpoint *ep);

#endif

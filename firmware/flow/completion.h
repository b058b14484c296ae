/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Endpoints: one rank's queues on this NIC. Open and close, and everything that is said to the host.
 *
 * Completions go straight to the host's ring. What the ring does not take stays in the object that
 * it is about (send, receive, envelope, peer), on a FIFO of the endpoint, and no descriptor is taken
 * meanwhile: completions never need memory and never overtake each other.
 *
 *   OPEN -> CLOSING (close.h: peers are told; DMA may be pending) -> FREE
 *   OPEN -> FAILED (the host broke the rules) -> nof_nic_endpoint_close() -> CLOSING */
#ifndef NOF_COMPLETION_H
#define NOF_COMPLETION_H

#include "nic.h"

int nof_ep_open(struct nof_nic *nic, const struct nof_endpoint_params *params, uint32_t *index_out,
                struct nof_card *card_out);
/* The host broke the rules: no further word to it, nofd has to close the endpoint. */
void nof_ep_fail(struct nof_nic *nic, struct nof_endpoint *ep, int status);

/* Into the host's ring: 1, or 0 if it is full. Only while nothing waits before it. */
static inline int nof_ep_give(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_comp *comp)
{
    if (nic->host_ops->complete(nic->host, nof_ep_index(nic, ep), comp, 1) != 1)
        return 0;
    nof_count(nic, ep, NOF_C_COMPS, 1);
    return 1;
}
/* Say `comp`; the object of `ref` (NOF_NIL: none) is freed when the host has it. NOF_EAGAIN: the ring
 * is full and there was no object to keep it in (never for the answer to a descriptor). */
int nof_ep_complete(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_comp *comp, uint32_t ref);
/* The same in two steps, for those who know what to do with the object: say() is 1 if the host has the
 * completion (or the endpoint hears nothing any more), else keep() must follow, with an object. */
static inline int nof_ep_say(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_comp *comp)
{
    return ep->state != NOF_EP_OPEN || (ep->comp_head == NOF_NIL && nof_ep_give(nic, ep, comp));
}
void nof_ep_keep(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_comp *comp, uint32_t ref);
/* The oldest completion that waits: nobody will hear it. */
void nof_ep_forget_completion(struct nof_nic *nic, struct nof_endpoint *ep);
/* Completions that wait, again. */
void nof_ep_completions_run(struct nof_nic *nic);
/* A completion without object: same opcode and cookie as the descriptor. */
void nof_ep_answer(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc, int status);
/* A waiting probe (not posted any more) has found a message. */
void nof_ep_probe_answer(struct nof_nic *nic, struct nof_recv *r, const struct nof_match_key *key,
                         uint64_t len, uint64_t handle);
void nof_ep_peer_dead(struct nof_nic *nic, struct nof_peer *peer);

/* FLUSH. */
void nof_ep_flush(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r);
void nof_ep_flush_run(struct nof_nic *nic);

#endif

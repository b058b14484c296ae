/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces of REDUCE and COPY steps on their way through the NIC: the operands are read out of the rank's memory, combined
 * here, and the result is written back.
 *
 *   begin() -> go() -> a read or write is pending: done() by its token, when the host has copied
 *                   -> put off, in nic->combine_later or nic->combine_retry: go() again
 *                   -> ended: the object is free
 *
 * Every endpoint has NOF_COMBINES_PER_EP of its own, with their memory: none waits for another rank's. A piece is paid for
 * with the endpoint's steps of a turn, before each of its three parts. What becomes of the step is decided above (drive.h). */
#ifndef NOF_COMBINE_H
#define NOF_COMBINE_H

#include "nic.h"

struct nof_combined {
    struct nof_endpoint *ep;
    uint32_t program, step;
    int status; /* NOF_OK: the result is in memory */
};

/* Bytes of a piece at most: whole elements. type: NOF_REDUCE_NONE for a copy. */
uint32_t nof_combine_most(unsigned type);
/* May the endpoint have one more under way? */
static inline bool nof_combine_may(const struct nof_endpoint *ep)
{
    return ep->combines < NOF_COMBINES_PER_EP;
}
/* `bytes` > 0 of step `step` from its byte `at` on; bases: of the run. Returns the piece, which is to go(). The endpoint may
 * have it. */
uint32_t nof_combine_begin(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t program, uint32_t step,
                           uint64_t at, const uint64_t *bases);
/* Until a request is pending, the endpoint has had its turn, or the host takes none: false. True: it has ended. */
bool nof_combine_go(struct nof_nic *nic, uint32_t index, struct nof_combined *ended_out);
/* dma_done() of its request; as go(). */
bool nof_combine_done(struct nof_nic *nic, uint32_t index, int status, struct nof_combined *ended_out);

#endif

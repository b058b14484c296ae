/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Payload goes to the rank: pieces as they come, a stored message, one that was granted early. What of it is written, and
 * what becomes of the receive when a write has ended, is decided here.
 *
 *   piece() ... flush()   pieces of one receive out of a burst of frames, one request. An endpoint whose host copies
 *                         inline is written straight from the lent frames; for any other they are gathered first
 *
 * In each of them the receive may end. */
#ifndef NOF_DELIVER_H
#define NOF_DELIVER_H

#include "nic.h"
#include "payload/gather.h"

/* n bytes at `offset` of r's buffer; r->received counts them already. lent: valid until the flush at
 * the end of the burst. */
static inline void nof_deliver_piece(struct nof_nic *nic, struct nof_recv *r, uint64_t offset,
                                     const uint8_t *data, uint32_t n, bool lent);
/* Likewise, any piece; inline is the next of a run that is written straight from the frames. */
void nof_deliver_any_piece(struct nof_nic *nic, struct nof_recv *r, uint64_t offset, const uint8_t *data,
                           uint32_t n, bool lent);
void nof_deliver_flush(struct nof_nic *nic);
/* All of r has arrived, and the last frame brought nothing: what waits is written, or r is complete. */
void nof_deliver_rest(struct nof_nic *nic, struct nof_recv *r);
/* r->wanted bytes, at most NOF_INLINE_BYTES: in the completion, or of a step into the buffer. */
void nof_deliver_small(struct nof_nic *nic, struct nof_recv *r, const uint8_t *data);
/* A stored message that is complete; the chain is freed. */
void nof_deliver_stored(struct nof_nic *nic, struct nof_recv *r, uint32_t chain);
/* A receive that was granted early, all of which is here (granted.h). */
void nof_deliver_granted(struct nof_nic *nic, struct nof_recv *r);
/* dma_done() of a write. */
void nof_deliver_done(struct nof_nic *nic, uint32_t write, int status);
/* Writes that were put off, in one of the NIC's queues. */
void nof_deliver_retry(struct nof_nic *nic, uint32_t *queue);

static inline void nof_deliver_piece(struct nof_nic *nic, struct nof_recv *r, uint64_t offset,
                                     const uint8_t *data, uint32_t n, bool lent)
{
    struct nof_gather *g = &nic->gather;
    if (lent && g->nbufs > 0 && nof_gather_follows(g, nof_recv_index(nic, r), offset, n))
        nof_gather_lent(g, data, n);
    else
        nof_deliver_any_piece(nic, r, offset, data, n, lent);
}

#endif

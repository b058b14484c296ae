/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes: payload from the network into a rank's buffer.
 *
 *   gather_add() ... gather_flush()   pieces of one receive out of a burst of frames, one request.
 *       An endpoint whose host copies inline is written straight from the lent frames; for any other
 *       the pieces are copied to network memory first, because the frames go back before the copy
 *       is done.
 *   write_chain()                     a stored message, or such a copy
 *
 * Blocks for rendezvous payload come from a part of network memory of its own. A receive reserves
 * blocks before its sender may send (rendezvous.c), so a request that never ends costs the endpoint
 * its share and nobody else anything. */
#ifndef NOF_WRITE_H
#define NOF_WRITE_H

#include "nic.h"

/* Payload that a reserved block stands for. It holds more; the rest pays for the two blocks that are
 * not full: the last one of what is being written, and of what waits behind that. */
#define NOF_WRITE_BYTES_PER_BLOCK 448u

/* n bytes at `offset` of r's buffer; r->received counts them already. lent: valid until the flush at
 * the end of the burst. r may have ended when this returns. */
void nof_gather_add(struct nof_nic *nic, struct nof_recv *r, uint64_t offset, const uint8_t *data, uint32_t n,
                    int lent);
void nof_gather_flush(struct nof_nic *nic);
/* r ends: pieces of it that were not written yet are dropped. */
void nof_gather_forget(struct nof_nic *nic, struct nof_recv *r);

/* Write `bytes` of the chain behind its first `skip` bytes to `offset` of r's buffer, then free it.
 * peer: the flow whose block credit it is, or NOF_NIL: blocks of r's reserve. */
void nof_write_chain(struct nof_nic *nic, struct nof_recv *r, uint32_t chain, uint32_t skip, uint32_t bytes,
                     uint64_t offset, uint32_t peer);
/* All of r has arrived, and the last frame brought nothing: what waits is written, or r is complete. */
void nof_write_rest(struct nof_nic *nic, struct nof_recv *r);
/* dma_done() of a write. */
void nof_write_done(struct nof_nic *nic, uint32_t index, int status);
/* Requests that the host did not take. */
void nof_write_retry(struct nof_nic *nic, uint32_t *queue);

/* Up to `want` blocks for r; returns how many it got (0 or at least `least`). */
uint32_t nof_write_reserve(struct nof_nic *nic, struct nof_recv *r, uint32_t want, uint32_t least);
void nof_write_unreserve(struct nof_nic *nic, struct nof_recv *r);
/* All of `want` blocks for r, out of those that no endpoint's minimum needs, or none: 1 or 0. They count
 * as the endpoint's only when claimed, or given back. */
int nof_write_borrow(struct nof_nic *nic, struct nof_recv *r, uint32_t want);
void nof_write_claim(struct nof_nic *nic, const struct nof_recv *r);

#endif

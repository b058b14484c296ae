/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes: a chain of network memory on its way into a rank's buffer, a request for each 64 KiB at most.
 *
 *   begin() -> go() -> pending: done() by its token, when the host has copied
 *                   -> put off, in nic->write_later or nic->write_retry: go() again
 *                   -> ended: chain and object are free, and the caller is told what it was
 *
 * What becomes of the receive then is decided above (deliver.h). */
#ifndef NOF_WRITE_H
#define NOF_WRITE_H

#include "nic.h"

struct nof_written {
    struct nof_recv *recv;
    uint64_t offset; /* in its buffer */
    uint32_t bytes;
    int status; /* NOF_OK: they are in the buffer */
};

/* Write `bytes` of the chain behind its first `skip` bytes to `offset` of r's buffer, then free it. peer: the flow whose
 * block credit it is, or NOF_NIL: blocks of r's reserve. Returns the write, which is to go(). */
uint32_t nof_write_begin(struct nof_nic *nic, struct nof_recv *r, uint32_t chain, uint32_t skip,
                         uint32_t bytes, uint64_t offset, uint32_t peer);
/* Requests, until one is pending, the endpoint has had its turn, or the host takes none: false. True: it has ended. */
bool nof_write_go(struct nof_nic *nic, uint32_t index, struct nof_written *ended_out);
/* It waits behind the writes of r that are under way or wait already; the first that does, which waits no longer, or NOF_NIL. */
void nof_write_later(struct nof_nic *nic, struct nof_recv *r, uint32_t index);
uint32_t nof_write_next(struct nof_nic *nic, struct nof_recv *r);
/* dma_done() of a write; as go(). */
bool nof_write_done(struct nof_nic *nic, uint32_t index, int status, struct nof_written *ended_out);

#endif

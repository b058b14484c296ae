/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces of a receive, gathered before they are written:
 *
 *   nic->gather   of one receive, out of a burst of frames: lent frames for a host that copies inline, for any other
 *                 copies in blocks of the receive's reserve, because the frames go back before the copy is done
 *   held          in the receive, between bursts: behind a write that is under way, too little for one, or, of a
 *                 rendezvous that was granted early, all that has come
 *
 * When they are written is decided above (deliver.h). */
#ifndef NOF_GATHER_H
#define NOF_GATHER_H

#include "nic.h"

/* Do n bytes at `offset` of the receive `recv` follow what is gathered, in the same request? */
static inline bool nof_gather_follows(const struct nof_gather *g, uint32_t recv, uint64_t offset, uint32_t n)
{
    return g->recv == recv && g->offset + g->bytes == offset && g->bytes + n <= NOF_DMA_BLOCK_BYTES &&
           g->nbufs < NOF_DMA_SEGMENTS_MAX;
}
/* They do, and stay where they are until they are written. */
static inline void nof_gather_lent(struct nof_gather *g, const uint8_t *data, uint32_t n)
{
    const uint8_t *const *from = &data;
    struct nof_buf *buf = &g->buf[g->nbufs++];
    g->bytes += n;
    memcpy(&buf->base, from, sizeof data); /* dma_write reads; struct nof_buf serves both ways */
    buf->len_bytes = n;
}
/* Nothing is gathered any more, whoever has it now. */
void nof_gather_clear(struct nof_gather *g);
/* n bytes of r, of which pieces are gathered, behind those and what is held; false: its reserve is used up. */
bool nof_gather_copy(struct nof_nic *nic, struct nof_recv *r, const uint8_t *data, uint32_t n);
/* n bytes of r behind what is held, without gaps. */
void nof_gather_collect(struct nof_nic *nic, struct nof_recv *r, const uint8_t *data, uint32_t n);
/* r ends: pieces of it that were not written yet are dropped. */
void nof_gather_forget(struct nof_nic *nic, struct nof_recv *r);

/* r begins: nothing is held. */
static inline void nof_gather_begin(struct nof_recv *r)
{
    r->hold_bytes = 0;
}
/* What is gathered of r is held: more will come behind it, so that small frames fill whole blocks and the reserve is
 * enough however little each frame carries. */
static inline void nof_gather_hold(struct nof_recv *r, const struct nof_gather *g)
{
    r->hold_chain = g->chain;
    r->hold_tail = g->chain_tail;
    r->hold_fill = g->chain_fill;
    r->hold_bytes = g->bytes;
    r->hold_at = g->offset;
}
/* Does what comes at `offset` of r follow what is held without a gap? */
static inline bool nof_gather_goes_on(const struct nof_recv *r, uint64_t offset)
{
    return r->hold_bytes == 0 || r->hold_at + r->hold_bytes == offset;
}
/* What was held is the caller's now: its bytes (0: there is none), and where they are. */
static inline uint32_t nof_gather_unhold(struct nof_recv *r, uint32_t *chain_out)
{
    uint32_t bytes = r->hold_bytes;
    *chain_out = r->hold_chain;
    r->hold_bytes = 0;
    return bytes;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads: payload from a rank's memory straight into the frames that will carry it, one request for
 * up to NOF_DMA_BLOCK_BYTES over many frames. A read that is done at once never leaves the stack of
 * the call; a pending one keeps its frames in the flow's queue, and they leave in order. */
#ifndef NOF_READ_H
#define NOF_READ_H

#include "nic.h"
#include "flow/scheduler.h"

/* Put the next bytes of s (the head of its queue) into at most `window` frames and send them, or
 * queue them until the host has copied. The endpoint has steps left if s has a layout. IDLE: pending or done, go on; the other values as in
 * enum nof_pump. *bytes and *frames are added to. */
enum nof_pump nof_read_start(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                             struct nof_send *s, unsigned window, uint32_t *bytes, unsigned *frames);
/* Send frames of the flow's oldest read; one that is packed has none (pack.h). IDLE: all have left. */
enum nof_pump nof_read_emit(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                            unsigned budget, unsigned *frames);
/* For pack.c. The fields of the frame at `offset`. */
void nof_read_fields(const struct nof_nic *nic, const struct nof_send *s, uint64_t offset,
                     uint32_t fields_bytes, uint8_t *at);
/* Where the next n bytes of s lie, in nic->segs; *n_out: those that one request reaches; *cost: what it is charged. */
unsigned nof_read_segments(struct nof_nic *nic, const struct nof_send *s, uint64_t n, uint64_t *n_out,
                           uint32_t *cost);
/* A read is under way, and done; it failed before it was. */
void nof_read_keep(struct nof_nic *nic, struct nof_peer *peer, struct nof_send *s, uint32_t index);
void nof_read_kept(struct nof_nic *nic, struct nof_send *s, uint32_t index);
void nof_read_fail(struct nof_nic *nic, struct nof_read *r, int status);
/* The flow is gone: drop its frames, those of pending requests when they are done. */
void nof_read_orphan(struct nof_nic *nic, struct nof_peer *peer);
/* dma_done() of a read; its send is the caller's to look at. */
void nof_read_done(struct nof_nic *nic, uint32_t index, int status);

/* Bytes of s that may be read now and lie together in the message, up to a block. */
uint64_t nof_read_bytes(const struct nof_send *s);

#endif

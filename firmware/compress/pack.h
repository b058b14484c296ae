/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packing: payload that may be compressed is read from the rank in blocks (up to NOF_DMA_BLOCK_BYTES, one request)
 * into a buffer of the NIC, and from there encoded frame by frame as the window allows, each frame as full as it
 * gets. A chunk is encoded just before it leaves, so the grant's predictor sees them in the order of the wire.
 * Whether a frame is a chunk is decided when it leaves: what was read before the grant ended, or was switched off,
 * goes as it is. The core encodes, not who reads (docs/decisions/0006): the predictor has one owner.
 *
 * The reads are those of read.c (one queue per flow, in order); `raw` of struct nof_read tells them apart. */
#ifndef NOF_PACK_H
#define NOF_PACK_H

#include "nic.h"
#include "flow/scheduler.h"

/* Is this send compressed from here on? Then its next bytes are read: *rc_out as nof_read_start(). False: read plainly. */
bool nof_pack_start(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer, struct nof_send *s,
                    uint32_t *bytes, enum nof_pump *rc_out);
/* Frames of the flow's oldest read, which is such a one and done. IDLE: all have left; BUSY: the port has no frame. */
enum nof_pump nof_pack_emit(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                            struct nof_read *r, unsigned budget, unsigned *frames);

#endif

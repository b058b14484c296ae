/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deferred decoding: an eager message that came early, compressed, and is not expected soon waits in network
 * memory as it came, in the blocks that it is charged for anyway.
 *
 *   takes() -> append() per frame ... open() when the message is needed: by its receive, or because the
 *                                     predictor expects it now (early.c)
 *
 * The chunks of a channel decode in the order of their arrival only. Its packed messages are a queue, and open()
 * decodes all that are before the one that is asked for; flush() decodes all, before a chunk behind them is
 * decoded and before the channel's predictor is given up. What waits undecoded is bounded per channel
 * (deferred_bytes); beyond that frames are decoded on arrival. docs/STAGING.md is normative. */
#ifndef NOF_DEFER_H
#define NOF_DEFER_H

#include "nic.h"

/* Values of feature `decode`. AUTO: when needed, where receives are predicted; else nothing would hide it. */
enum nof_decode { NOF_DECODE_AUTO = 0, NOF_DECODE_NEEDED, NOF_DECODE_ARRIVAL };

/* Is this frame, whose payload is a chunk, to be kept as it came? 1: *plain_out is the frame as it would be
 * decoded, but for the bytes themselves. */
int nof_defer_takes(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view,
                    struct nof_wire_view *plain_out);
/* The frame channels.deferring, which stands for n bytes, belongs to this message. */
void nof_defer_append(struct nof_nic *nic, uint32_t chain, uint32_t n);
/* Decode a message, if it is packed, and those before it. NOF_OK, or NOF_EPROTO: it did not decode; its
 * envelope says so, and the chain has been freed. */
int nof_defer_open(struct nof_nic *nic, uint32_t chain);
/* Decode all packed messages of a channel. */
void nof_defer_flush(struct nof_nic *nic, struct nof_grant *ch);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deferred decoding: an eager message that came early, compressed, and is not expected soon waits in network
 * memory as it came, in the blocks that it is charged for anyway.
 *
 * takes() says of a frame whether it is kept so; how it lies and when it is decoded is stored.h's. What waits undecoded
 * is bounded per grant (deferred_bytes); beyond that frames are decoded on arrival. docs/STAGING.md is normative. */
#ifndef NOF_DEFER_H
#define NOF_DEFER_H

#include "nic.h"

/* Values of feature `decode`. AUTO: when needed, where receives are predicted; else nothing would hide it. */
enum nof_decode { NOF_DECODE_AUTO = 0, NOF_DECODE_NEEDED, NOF_DECODE_ARRIVAL };

/* Is this frame, whose payload is a chunk, to be kept as it came? 1: *plain_out is the frame as it would be
 * decoded, but for the bytes themselves. */
int nof_defer_takes(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view,
                    struct nof_wire_view *plain_out);

#endif

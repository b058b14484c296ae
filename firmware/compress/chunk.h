/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chunks at the receiver: decoded one by one, by the predictor of their grant. In which order, and whether at once, is
 * decided above (stored.h, grant.h). */
#ifndef NOF_CHUNK_H
#define NOF_CHUNK_H

#include "nic.h"

/* Is there room for one more decoded chunk? Else what was gathered must be written first, and nof_grant_burst_end()
 * follow. */
static inline bool nof_chunk_room(const struct nof_grants *grants)
{
    return grants->plain_used + NOF_DMA_BLOCK_BYTES <= NOF_PLAIN_BYTES;
}

/* A frame whose payload is a chunk, with the flow's grant (NULL: it has none); there is room. As
 * nof_grant_open_chunk(). */
int nof_chunk_decode(struct nof_nic *nic, const struct nof_peer *peer, struct nof_grant *ch,
                     const struct nof_wire_view *view, struct nof_wire_view *plain_out);
/* Tell the sender that no chunk of this epoch will be decoded, or that the predictor is wanted for another flow. */
void nof_chunk_revoke(struct nof_nic *nic, struct nof_grant *ch, enum nof_grant_state state);

#endif

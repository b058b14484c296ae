/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/dma/dma_arena.h"

#include "nof/status.h"
#include "nof_private/buf_cursor.h"

#include "nofd/dma/dma_window.h"

static bool lies_within(uint64_t arena_bytes, const struct nof_segment *remote, unsigned nremote)
{
    for (unsigned i = 0; i < nremote; i++) {
        uint64_t at = remote[i].addr ^ NOF_BAR_ARENA;

        if (at > arena_bytes || remote[i].len_bytes > arena_bytes - at)
            return false;
    }
    return true;
}

int nofd_dma_arena(uint8_t *arena, uint64_t arena_bytes, bool write, const struct nof_segment *remote,
                   unsigned nremote, const struct nof_buf *local, unsigned nlocal)
{
    struct nof_buf_cursor c = nof_buf_begin(local, nlocal);

    if (!lies_within(arena_bytes, remote, nremote))
        return NOF_EFAULT;
    for (unsigned i = 0; i < nremote; i++)
        if (!nof_buf_move(&c, arena + (remote[i].addr ^ NOF_BAR_ARENA), remote[i].len_bytes, write))
            return NOF_EFAULT; /* no request of the core's: totals are equal */
    if (!nof_buf_ended(&c))
        return NOF_EFAULT;
    if (!write)
        nofd_window_sum(local, nlocal);
    return NOF_DMA_DONE;
}

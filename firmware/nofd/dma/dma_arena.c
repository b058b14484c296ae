/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/dma/dma_arena.h"

#include <string.h>

#include "nof/status.h"

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
    unsigned r = 0;
    uint64_t done = 0; /* of remote[r] */

    if (!lies_within(arena_bytes, remote, nremote))
        return NOF_EFAULT;
    for (unsigned i = 0; i < nlocal; i++)
        for (size_t at = 0; at < local[i].len_bytes;) {
            size_t n = local[i].len_bytes - at;
            uint8_t *ours = (uint8_t *)local[i].base + at, *theirs;

            while (r < nremote && done == remote[r].len_bytes) {
                r++;
                done = 0;
            }
            if (r == nremote)
                return NOF_EFAULT; /* no request of the core's: totals are equal */
            if (n > remote[r].len_bytes - done)
                n = (size_t)(remote[r].len_bytes - done);
            theirs = arena + (remote[r].addr ^ NOF_BAR_ARENA) + done;
            memcpy(write ? theirs : ours, write ? ours : theirs, n);
            at += n;
            done += n;
        }
    if (!write)
        nofd_window_sum(local, nlocal);
    return NOF_DMA_DONE;
}

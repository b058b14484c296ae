/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of a rank that is a part of its BAR: addresses with NOF_BAR_ARENA are offsets in its bounce arena. We have that mapped, so
 * such a copy asks neither the kernel nor a helper, and has ended when the call returns.
 *
 * The rank may write at any time: each byte is read once, and the sum is that of our copy. No lock, no heap; any thread. */
#ifndef NOFD_DMA_ARENA_H
#define NOFD_DMA_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "nof/bar.h"
#include "nof/port.h"

static inline bool nofd_dma_in_arena(const struct nof_segment *remote, unsigned nremote)
{
    return nremote > 0 && (remote[0].addr & NOF_BAR_ARENA) != 0;
}

/* As nof_host_ops.dma_write (write) and dma_read, of such addresses alone: NOF_DMA_DONE, or NOF_EFAULT: of what reaches past the arena
 * nothing was copied. */
int nofd_dma_arena(uint8_t *arena, uint64_t arena_bytes, bool write, const struct nof_segment *remote,
                   unsigned nremote, const struct nof_buf *local, unsigned nlocal);

#endif

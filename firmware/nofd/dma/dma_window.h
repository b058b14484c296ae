/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Payload between one block, which somebody else can write, and a list of our own buffers. Copied once, and the sum is
 * that of our copy. Any thread. */
#ifndef NOFD_DMA_WINDOW_H
#define NOFD_DMA_WINDOW_H

#include <string.h>

#include "nof/port.h"

#include "base/bytes.h"

static inline void nofd_window_gather(uint8_t *block, const struct nof_buf *local, unsigned nlocal)
{
    for (unsigned i = 0; i < nlocal; i++) {
        memcpy(block, local[i].base, local[i].len_bytes);
        block += local[i].len_bytes;
    }
}

/* As nof_buf.sum says, of buffers that are filled. */
static inline void nofd_window_sum(const struct nof_buf *local, unsigned nlocal)
{
    for (unsigned i = 0; i < nlocal; i++)
        if (local[i].sum != NULL)
            nof_put32(local[i].sum, nof_crc32c(local[i].base, local[i].len_bytes));
}

static inline void nofd_window_scatter(const uint8_t *block, const struct nof_buf *local, unsigned nlocal)
{
    for (unsigned i = 0; i < nlocal; i++) {
        memcpy(local[i].base, block, local[i].len_bytes);
        nofd_window_sum(&local[i], 1); /* while it is in the cache */
        block += local[i].len_bytes;
    }
}

#endif

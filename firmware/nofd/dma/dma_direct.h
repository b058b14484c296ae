/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A private daemon's copy, in the calling thread and with the daemon's own ids: it may block on a page that does not
 * come, and whoever watches `busy` sees it (busy.h). Any thread. */
#ifndef NOFD_DMA_DIRECT_H
#define NOFD_DMA_DIRECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nof/port.h"

#include "nofd/dma/busy.h"

/* nofd_dma_copy(), and a read fills nof_buf.sum. pid and rank are told to who watches. */
int nofd_dma_direct(struct nofd_busy *busy, pid_t pid, uint32_t rank, bool write,
                    const struct nof_segment *remote, unsigned nremote, const struct nof_buf *local,
                    unsigned nlocal);

/* Reads 8 bytes at `addr` of the process. NOF_OK if they are `value`. */
int nofd_dma_probe(struct nofd_busy *busy, pid_t pid, uint32_t rank, uint64_t addr, uint64_t value);

#endif

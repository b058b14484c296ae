/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The DMA engine: copies between a rank's memory and ours, behind one table per endpoint.
 *
 *   inline  one job, one user: the NIC core copies itself, with process_vm_*
 *   split   the same, and a second thread reads large blocks for it (copier.h)
 *   helper  shared daemon: a process with the user's ids copies (dma_helper.h)
 *   assist  the kernel forbids both: the library copies on request, through the BAR (assist.h)
 *
 * Threads: the NIC core of the endpoint. */
#ifndef NOFD_DMA_H
#define NOFD_DMA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "endpoint.h"

struct nofd_dma_ops {
    const char *name; /* "inline", "helper", "assist" */
    bool is_inline; /* never answers NOF_DMA_PENDING */
    bool reads_late; /* with is_inline: but for reads */
    bool reads_sum; /* reads fill nof_buf.sum */
    /* As nof_host_ops.dma_write (write) and dma_read; remote is the rank's memory. */
    int (*copy)(struct nofd_endpoint *ep, bool write, const struct nof_segment *remote, unsigned nremote,
                const struct nof_buf *local, unsigned nlocal, uint64_t token);
    /* The endpoint is closed: end what has not begun with nof_nic_dma_done(). NULL: nothing to do. */
    void (*cancel)(struct nofd_endpoint *ep, uint64_t now_ns);
};

extern const struct nofd_dma_ops nofd_dma_inline;
extern const struct nofd_dma_ops nofd_dma_split; /* inline, but for large reads: copier.h */
extern const struct nofd_dma_ops nofd_dma_helpers;
extern const struct nofd_dma_ops nofd_dma_assist;

/* A private daemon's copy, in the calling thread: nofd_dma_copy(), and a read fills `sum`. */
int nofd_dma_copy_inline(pid_t pid, bool write, const struct nof_segment *remote, unsigned nremote,
                         const struct nof_buf *local, unsigned nlocal);

/* Reads 8 bytes at `addr` of the process. NOF_OK if they are `value`. May block on a hostile page. */
int nofd_dma_probe(pid_t pid, uint64_t addr, uint64_t value);

#endif

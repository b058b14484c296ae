/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The DMA engine: copies between a rank's memory and ours, behind one table per rank.
 *
 *   inline  one job, one user: the NIC core copies itself, with process_vm_*
 *   split   the same, and a second thread reads large blocks for it (copier.h)
 *   helper  shared daemon: a process with the user's ids copies (dma_helper.h)
 *   assist  the kernel forbids both: the library copies on request, through the BAR (assist.h)
 *
 * Threads: the NIC core that serves the rank. */
#ifndef NOFD_DMA_H
#define NOFD_DMA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nof/core.h"

#include "nofd/dma/busy.h"
#include "nofd/dma/dma_helper.h"
#include "nofd/sys/doom.h"
#include "nofd/sys/lcore.h"

struct nofd_copier;
struct nofd_dma_memory;

struct nofd_dma_ops {
    const char *name; /* "inline", "helper", "assist" */
    bool is_inline; /* never answers NOF_DMA_PENDING */
    bool reads_late; /* with is_inline: but for reads */
    bool reads_sum; /* reads fill nof_buf.sum */
    /* As nof_host_ops.dma_write (write) and dma_read; remote is the rank's memory. */
    int (*copy)(struct nofd_dma_memory *memory, bool write, const struct nof_segment *remote,
                unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token);
    /* The endpoint is closed: end what has not begun with nofd_dma_ended(). NULL: nothing to do. */
    void (*cancel)(struct nofd_dma_memory *memory);
};

/* What copies for one NIC core. */
struct nofd_dma {
    struct nofd_lcore *lcore;
    struct nofd_dma_pools pools; /* of a shared daemon */
    struct nofd_copier *copier; /* of a private daemon; NULL: the core does all copies itself */
    struct nofd_busy busy; /* crosses: the core's own copy under way */
};

/* The memory of one rank, and how it is reached. */
struct nofd_dma_memory {
    const struct nofd_dma_ops *ops;
    struct nofd_dma *dma; /* of its NIC core */
    struct nof_nic *nic; /* whose copies they are */
    const char *nic_name;
    struct nofd_doom *doom; /* its endpoint's */
    pid_t pid;
    uint32_t rank; /* in its job */
    int pidfd; /* of that process, as long as it is served; -1: it copies itself */
    uint64_t alive_ns; /* last look at it, by inline copies */
    struct nofd_dma_rank *helped; /* NULL unless helpers copy */
    unsigned pending; /* copies under way */
};

extern const struct nofd_dma_ops nofd_dma_inline;
extern const struct nofd_dma_ops nofd_dma_split; /* inline, but for large reads: copier.h */
extern const struct nofd_dma_ops nofd_dma_helpers;
extern const struct nofd_dma_ops nofd_dma_assist;

/* A copy that was answered with NOF_DMA_PENDING has ended. */
static inline void nofd_dma_ended(struct nofd_dma_memory *memory, uint64_t token, int status)
{
    memory->pending--;
    nof_nic_dma_done(memory->nic, memory->dma->lcore->now_ns, token, status);
}

#endif

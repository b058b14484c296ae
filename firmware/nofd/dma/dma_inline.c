/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/dma/dma.h"

#include "nofd/sys/clock.h"
#include "nofd/dma/copier.h"
#include "nofd/dma/dma_copy.h"
#include "nofd/dma/dma_direct.h"

/* A number is given to another process only when the kernel has been through all others: some 30 000 forks, tens of
 * milliseconds at best. */
#define LOOK_NS (1 * NOFD_MS)

/* The process that attached, and no other that has its number now. */
static bool alive(struct nofd_dma_memory *memory)
{
    uint64_t now_ns = memory->dma->lcore->now_ns;

    if (now_ns - memory->alive_ns <= LOOK_NS)
        return true;
    if (!nofd_pidfd_alive(memory->pidfd))
        return false;
    memory->alive_ns = now_ns;
    return true;
}

static int copy_inline(struct nofd_dma_memory *memory, bool write, const struct nof_segment *remote,
                       unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    int rc;

    (void)token;
    if (!alive(memory))
        return NOF_EPEERDEAD;
    rc =
        nofd_dma_direct(&memory->dma->busy, memory->pid, memory->rank, write, remote, nremote, local, nlocal);
    return rc == NOF_OK ? NOF_DMA_DONE : rc;
}

static int copy_split(struct nofd_dma_memory *memory, bool write, const struct nof_segment *remote,
                      unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < nlocal; i++)
        bytes += local[i].len_bytes;
    if (!write && bytes >= NOFD_COPIER_LEAST_BYTES && alive(memory) &&
        nofd_copier_read(memory->dma->copier, memory, remote, nremote, local, nlocal, token) ==
            NOF_DMA_PENDING)
        return NOF_DMA_PENDING;
    return copy_inline(memory, write, remote, nremote, local, nlocal, token);
}

static void cancel_split(struct nofd_dma_memory *memory)
{
    nofd_copier_cancel(memory->dma->copier, memory);
}

const struct nofd_dma_ops nofd_dma_split = {
    .name = "split",
    .is_inline = true,
    .reads_late = true,
    .reads_sum = true,
    .copy = copy_split,
    .cancel = cancel_split,
};

const struct nofd_dma_ops nofd_dma_inline = {
    .name = "inline",
    .is_inline = true,
    .reads_sum = true,
    .copy = copy_inline,
};

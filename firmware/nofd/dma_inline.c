/* SPDX-License-Identifier: BSD-3-Clause */
#include "dma.h"

#include "clock.h"
#include "copier.h"
#include "core.h"
#include "dma_copy.h"
#include "dma_window.h"

/* A number is given to another process only when the kernel has been through all others: some 30 000 forks, tens of
 * milliseconds at best. */
#define LOOK_NS (1 * NOFD_MS)

int nofd_dma_copy_inline(pid_t pid, bool write, const struct nof_segment *remote, unsigned nremote,
                         const struct nof_buf *local, unsigned nlocal)
{
    int rc = nofd_dma_copy(pid, write, remote, nremote, local, nlocal);

    if (rc == NOF_OK && !write)
        nofd_window_sum(local, nlocal);
    return rc;
}

int nofd_dma_probe(pid_t pid, uint64_t addr, uint64_t value)
{
    uint64_t read = ~value;
    struct nof_segment remote = {.addr = addr, .len_bytes = sizeof(read)};
    struct nof_buf local = {.base = &read, .len_bytes = sizeof(read)};
    int rc = nofd_dma_copy(pid, false, &remote, 1, &local, 1);

    if (rc != NOF_OK)
        return rc;
    return read == value ? NOF_OK : NOF_EFAULT;
}

/* The process that attached, and no other that has its number now. */
static bool alive(struct nofd_endpoint *ep)
{
    uint64_t now_ns = ep->nic->core->lcore.now_ns;

    if (now_ns - ep->alive_ns <= LOOK_NS)
        return true;
    if (!nofd_pidfd_alive(ep->pidfd))
        return false;
    ep->alive_ns = now_ns;
    return true;
}

static int copy_inline(struct nofd_endpoint *ep, bool write, const struct nof_segment *remote,
                       unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    struct nofd_busy *busy = &ep->nic->core->busy;
    int rc;

    (void)token;
    if (!alive(ep))
        return NOF_EPEERDEAD;
    nofd_busy_begin(busy, ep->pid, ep->rank);
    rc = nofd_dma_copy_inline(ep->pid, write, remote, nremote, local, nlocal);
    nofd_busy_end(busy);
    return rc == NOF_OK ? NOF_DMA_DONE : rc;
}

static int copy_split(struct nofd_endpoint *ep, bool write, const struct nof_segment *remote,
                      unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < nlocal; i++)
        bytes += local[i].len_bytes;
    if (!write && bytes >= NOFD_COPIER_LEAST_BYTES && alive(ep) &&
        nofd_copier_read(ep->nic->core->copier, ep, remote, nremote, local, nlocal, token) == NOF_DMA_PENDING)
        return NOF_DMA_PENDING;
    return copy_inline(ep, write, remote, nremote, local, nlocal, token);
}

static void cancel_split(struct nofd_endpoint *ep, uint64_t now_ns)
{
    (void)now_ns;
    nofd_copier_cancel(ep->nic->core->copier, ep);
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

/* SPDX-License-Identifier: BSD-3-Clause */
#include "dma.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "../crc32c.h"
#include "../transport/wire.h"
#include "copier.h"
#include "core.h"

/* Drops `done` bytes from the front of a list; returns how many elements are left, moved to the
 * front. */
static unsigned advance(struct iovec *iov, unsigned n, size_t done)
{
    unsigned skip = 0;

    while (skip < n && done >= iov[skip].iov_len) {
        done -= iov[skip].iov_len;
        skip++;
    }
    if (skip < n && done > 0) {
        iov[skip].iov_base = (uint8_t *)iov[skip].iov_base + done;
        iov[skip].iov_len -= done;
    }
    if (skip > 0)
        memmove(iov, iov + skip, (n - skip) * sizeof(*iov));
    return n - skip;
}

static int status_of(int error)
{
    switch (error) {
    case ESRCH:
        return NOF_EPEERDEAD;
    case EPERM:
        return NOF_EPERM;
    default:
        return NOF_EFAULT;
    }
}

int nofd_dma_copy(pid_t pid, bool write, const struct nof_segment *remote, unsigned nremote,
                  const struct nof_buf *local, unsigned nlocal)
{
    struct iovec theirs[NOF_DMA_SEGMENTS_MAX];
    struct iovec ours[NOF_DMA_SEGMENTS_MAX];
    unsigned nours = nlocal;
    size_t left = 0;

    if (nremote > NOF_DMA_SEGMENTS_MAX || nlocal > NOF_DMA_SEGMENTS_MAX)
        return NOF_EINVAL;
    for (unsigned i = 0; i < nremote; i++) {
        theirs[i].iov_base = (void *)(uintptr_t)remote[i].addr;
        theirs[i].iov_len = remote[i].len_bytes;
    }
    for (unsigned i = 0; i < nlocal; i++) {
        ours[i].iov_base = local[i].base;
        ours[i].iov_len = local[i].len_bytes;
        left += local[i].len_bytes;
    }
    while (left > 0) {
        ssize_t n = write ? process_vm_writev(pid, ours, nours, theirs, nremote, 0)
                          : process_vm_readv(pid, ours, nours, theirs, nremote, 0);

        if (n <= 0)
            return n == 0 ? NOF_EFAULT : status_of(errno);
        if ((size_t)n >= left)
            break;
        left -= (size_t)n;
        nours = advance(ours, nours, (size_t)n);
        nremote = advance(theirs, nremote, (size_t)n);
    }
    for (unsigned i = 0; i < nlocal && !write; i++)
        if (local[i].sum != NULL)
            nof_put32(local[i].sum, nof_crc32c(local[i].base, local[i].len_bytes));
    return NOF_OK;
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

static int copy_inline(struct nofd_endpoint *ep, bool write, const struct nof_segment *remote,
                       unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    struct nofd_busy *busy = &ep->nic->core->busy;
    int rc;

    (void)token;
    nofd_busy_begin(busy, ep->pid, ep->rank);
    rc = nofd_dma_copy(ep->pid, write, remote, nremote, local, nlocal);
    nofd_busy_end(busy);
    return rc == NOF_OK ? NOF_DMA_DONE : rc;
}

static int copy_split(struct nofd_endpoint *ep, bool write, const struct nof_segment *remote,
                      unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < nlocal; i++)
        bytes += local[i].len_bytes;
    if (!write && bytes >= NOFD_COPIER_LEAST_BYTES &&
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

/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/dma/dma_direct.h"

#include "nof/status.h"

#include "nofd/dma/dma_copy.h"
#include "nofd/dma/dma_window.h"

int nofd_dma_direct(struct nofd_busy *busy, pid_t pid, uint32_t rank, bool write,
                    const struct nof_segment *remote, unsigned nremote, const struct nof_buf *local,
                    unsigned nlocal)
{
    int rc;

    nofd_busy_begin(busy, pid, rank);
    rc = nofd_dma_copy(pid, write, remote, nremote, local, nlocal);
    if (rc == NOF_OK && !write)
        nofd_window_sum(local, nlocal);
    nofd_busy_end(busy);
    return rc;
}

int nofd_dma_probe(struct nofd_busy *busy, pid_t pid, uint32_t rank, uint64_t addr, uint64_t value)
{
    uint64_t read = ~value;
    struct nof_segment remote = {.addr = addr, .len_bytes = sizeof(read)};
    struct nof_buf local = {.base = &read, .len_bytes = sizeof(read)};
    int rc = nofd_dma_direct(busy, pid, rank, false, &remote, 1, &local, 1);

    if (rc != NOF_OK)
        return rc;
    return read == value ? NOF_OK : NOF_EFAULT;
}

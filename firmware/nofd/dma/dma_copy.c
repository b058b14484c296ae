/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/dma/dma_copy.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "nof/status.h"

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
    return NOF_OK;
}

/* ppoll() in the raw: what the helper's filter admits must not hang on the C library's choice. */
bool nofd_pidfd_alive(int pidfd)
{
    struct pollfd look = {.fd = pidfd, .events = POLLIN};
    struct timespec none = {0};

    return pidfd >= 0 && syscall(SYS_ppoll, &look, 1, &none, NULL, 0) == 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/shm/cma.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PIECE_BYTES (1u << 30) /* of one call; the kernel's own limit is just below 2 GiB */

static bool lives(const struct nof_cma_peer *peer)
{
    struct pollfd line = {.fd = peer->pidfd, .events = POLLIN};
    int n;
    do
        n = poll(&line, 1, 0);
    while (n < 0 && errno == EINTR); /* a signal of ours says nothing of the peer */
    return n == 0;
}

static int copy(pid_t pid, uint64_t address, void *to, size_t bytes)
{
    uint8_t *at = to;
    while (bytes > 0) {
        size_t piece = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
        struct iovec local = {.iov_base = at, .iov_len = piece};
        struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = piece}; // NOLINT: another's
        ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? -EFAULT : -errno;
        at += got;
        address += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return 0;
}

void nof_cma_open(struct nof_cma_peer *peer, pid_t pid, const struct nof_cma_probe *probe)
{
    uint64_t value = ~probe->value;
    *peer = (struct nof_cma_peer){.pid = pid, .pidfd = -1, .tried = true};
    if (pid <= 0)
        return;
    peer->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    peer->works = peer->pidfd >= 0 && copy(pid, probe->address, &value, sizeof(value)) == 0 &&
                  value == probe->value && lives(peer);
    if (!peer->works)
        nof_cma_close(peer);
}

void nof_cma_close(struct nof_cma_peer *peer)
{
    if (peer->pidfd >= 0)
        (void)close(peer->pidfd);
    peer->pidfd = -1;
    peer->works = false;
}

int nof_cma_read(const struct nof_cma_peer *peer, uint64_t address, void *to, size_t bytes)
{
    int rc = copy(peer->pid, address, to, bytes);
    if (rc == -ESRCH || !lives(peer))
        return -ESRCH;
    return rc == 0 || rc == -EPERM ? rc : -EFAULT;
}

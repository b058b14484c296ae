/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/sys/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* A larger file would be a SIGXFSZ. */
static bool file_may_have(uint64_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur;
}

/* A signal undoes it: SIGSTOP or a debugger, since nofd blocks the others. */
static int allocate(int fd, uint64_t bytes)
{
    int rc;

    do {
        rc = fallocate(fd, 0, 0, (off_t)bytes);
    } while (rc != 0 && errno == EINTR);
    return rc;
}

int nofd_memfd_sparse(const char *name, uint64_t bytes, uint64_t allocated)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    int rc;

    if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    if (!file_may_have(bytes))
        rc = -EFBIG;
    else
        rc = ftruncate(fd, (off_t)bytes) != 0 || allocate(fd, allocated) != 0 ? -errno : 0;
    if (rc != 0) {
        close(fd);
        errno = -rc;
        return rc;
    }
    return fd;
}

int nofd_memfd_create(const char *name, uint64_t bytes)
{
    return nofd_memfd_sparse(name, bytes, bytes);
}

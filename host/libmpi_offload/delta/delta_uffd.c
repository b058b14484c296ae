/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes caught by userfaultfd: pages are write-protected without a change of mappings, and a write is SIGBUS in the thread that
 * writes. Of the descriptor nothing is read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

#include "delta/delta_pages.h"

/* Of linux/userfaultfd.h since 6.4: pages that were never touched are protected, too. */
#define WP_UNPOPULATED (1u << 13)
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

static int fd = -1;

static const char *open_uffd(void)
{
    static char why[128];
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_SIGBUS | WP_UNPOPULATED};
    fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    if (fd < 0) {
        snprintf(why, sizeof(why), "userfaultfd(): %s", strerror(errno));
        return why;
    }
    if (ioctl(fd, UFFDIO_API, &api) == 0)
        return NULL;
    (void)close(fd);
    fd = -1;
    return "this kernel's userfaultfd does not protect pages that were never touched (Linux 6.4 does)";
}

static bool begin(uintptr_t low, size_t bytes)
{
    struct uffdio_register pages = {.range = {.start = low, .len = bytes}, .mode = UFFDIO_REGISTER_MODE_WP};
    return ioctl(fd, UFFDIO_REGISTER, &pages) == 0;
}

static bool protect(uintptr_t low, size_t bytes, uint64_t mode)
{
    struct uffdio_writeprotect pages = {.range = {.start = low, .len = bytes}, .mode = mode};
    int rc;
    do
        rc = ioctl(fd, UFFDIO_WRITEPROTECT, &pages);
    while (rc != 0 && errno == EAGAIN); /* mappings change at this moment */
    return rc == 0;
}

static bool guard(uintptr_t low, size_t bytes)
{
    return protect(low, bytes, UFFDIO_WRITEPROTECT_MODE_WP);
}

static bool allow(uintptr_t low, size_t bytes)
{
    return protect(low, bytes, 0);
}

/* What was unmapped or moved is no longer the descriptor's. */
static bool end(uintptr_t low, size_t bytes)
{
    bool all = nof_delta_pages_plain(low, low + bytes);
    struct uffdio_range pages = {.start = low, .len = bytes};
    if (ioctl(fd, UFFDIO_UNREGISTER, &pages) != 0)
        for (uintptr_t page = low; page < low + bytes; page += NOF_DELTA_PAGE) {
            pages = (struct uffdio_range){.start = page, .len = NOF_DELTA_PAGE};
            (void)ioctl(fd, UFFDIO_UNREGISTER, &pages);
        }
    return all;
}

const struct nof_delta_pages_ops nof_delta_pages_by_userfaultfd = {
    .name = "userfaultfd", .open = open_uffd, .begin = begin, .guard = guard, .allow = allow, .end = end};

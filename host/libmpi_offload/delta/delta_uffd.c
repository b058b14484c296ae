/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes caught by userfaultfd: pages are write-protected without a change of mappings. Of the descriptor nothing is read. Either a
 * write is SIGBUS in the thread that writes, or the kernel lets it through, whoever writes, and tells which pages were written
 * since they were asked about last (PAGEMAP_SCAN). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

#include "delta/delta_uffd.h"

/* Of linux/userfaultfd.h since 6.4, and 6.7: pages that were never touched are protected, too; writes only make a note. */
#define WP_UNPOPULATED (1u << 13)
#define WP_ASYNC (1u << 15)
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

/* Of linux/fs.h since 6.7. */
struct scan {
    uint64_t size, flags, start, end, walk_end, ranges, ranges_room, most_pages;
    uint64_t inverted, all_of, any_of, tell;
};
struct scanned {
    uint64_t start, end, is;
};
#define SCAN _IOWR('f', 16, struct scan)
enum { PROTECT_AGAIN = 1, ONLY_ASYNC = 2, WRITTEN = 2 };

static int faulting = -1, noting = -1, pagemap = -1;

const char *nof_delta_uffd_open(uint64_t features, const char *since, int *fd_out)
{
    static char why[128];
    struct uffdio_api api = {.api = UFFD_API, .features = features};
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    if (fd < 0) {
        snprintf(why, sizeof(why), "userfaultfd(): %s", strerror(errno));
        return why;
    }
    if (ioctl(fd, UFFDIO_API, &api) == 0) {
        *fd_out = fd;
        return NULL;
    }
    (void)close(fd);
    return since;
}

static const char *open_faulting(void)
{
    return nof_delta_uffd_open(
        UFFD_FEATURE_SIGBUS | WP_UNPOPULATED,
        "this kernel's userfaultfd does not protect pages that were never touched (Linux 6.4 does)",
        &faulting);
}

static const char *open_noting(void)
{
    static const char since[] = "this kernel does not tell which pages were written (Linux 6.7 does)";
    pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    return pagemap < 0 ? "/proc/self/pagemap cannot be opened"
                       : nof_delta_uffd_open(WP_ASYNC | WP_UNPOPULATED, since, &noting);
}

bool nof_delta_uffd_enlist(int fd, uintptr_t low, size_t bytes, uint64_t mode)
{
    struct uffdio_register pages = {.range = {.start = low, .len = bytes}, .mode = mode};
    return ioctl(fd, UFFDIO_REGISTER, &pages) == 0;
}

static bool protect(int fd, uintptr_t low, size_t bytes, uint64_t mode)
{
    struct uffdio_writeprotect pages = {.range = {.start = low, .len = bytes}, .mode = mode};
    int rc;
    do
        rc = ioctl(fd, UFFDIO_WRITEPROTECT, &pages);
    while (rc != 0 && errno == EAGAIN); /* mappings change at this moment */
    return rc == 0;
}

bool nof_delta_uffd_dismiss(int fd, uintptr_t low, size_t bytes)
{
    struct uffdio_range pages = {.start = low, .len = bytes};
    bool all = ioctl(fd, UFFDIO_UNREGISTER, &pages) == 0;
    for (uintptr_t page = low; !all && bytes > NOF_DELTA_PAGE && page < low + bytes; page += NOF_DELTA_PAGE) {
        pages = (struct uffdio_range){.start = page, .len = NOF_DELTA_PAGE};
        (void)ioctl(fd, UFFDIO_UNREGISTER, &pages);
    }
    return all;
}

static bool dismiss(int fd, uintptr_t low, size_t bytes)
{
    bool all = nof_delta_pages_plain(low, low + bytes);
    (void)nof_delta_uffd_dismiss(fd, low, bytes);
    return all;
}

static bool begin_faulting(uintptr_t low, size_t bytes)
{
    return nof_delta_uffd_enlist(faulting, low, bytes, UFFDIO_REGISTER_MODE_WP);
}

static bool guard_faulting(uintptr_t low, size_t bytes)
{
    return protect(faulting, low, bytes, UFFDIO_WRITEPROTECT_MODE_WP);
}

static bool allow_faulting(uintptr_t low, size_t bytes)
{
    return protect(faulting, low, bytes, 0);
}

static bool end_faulting(uintptr_t low, size_t bytes)
{
    return dismiss(faulting, low, bytes);
}

const struct nof_delta_pages_ops nof_delta_pages_by_userfaultfd = {.name = "userfaultfd",
                                                                   .open = open_faulting,
                                                                   .begin = begin_faulting,
                                                                   .guard = guard_faulting,
                                                                   .allow = allow_faulting,
                                                                   .end = end_faulting};

static bool begin_noting(uintptr_t low, size_t bytes)
{
    return nof_delta_uffd_enlist(noting, low, bytes, UFFDIO_REGISTER_MODE_WP);
}

static bool guard_noting(uintptr_t low, size_t bytes)
{
    return protect(noting, low, bytes, UFFDIO_WRITEPROTECT_MODE_WP);
}

static bool allow_noting(uintptr_t low, size_t bytes)
{
    return protect(noting, low, bytes, 0);
}

static bool end_noting(uintptr_t low, size_t bytes)
{
    return dismiss(noting, low, bytes);
}

static size_t written(uintptr_t *from, uintptr_t high, struct nof_delta_range *ranges, size_t most)
{
    struct scanned found[NOF_DELTA_RANGES];
    struct scan scan = {.size = sizeof(scan),
                        .flags = PROTECT_AGAIN | ONLY_ASYNC,
                        .start = *from,
                        .end = high,
                        .ranges = (uint64_t)(uintptr_t)found,
                        .ranges_room = most < NOF_DELTA_RANGES ? most : NOF_DELTA_RANGES,
                        .all_of = WRITTEN,
                        .tell = WRITTEN};
    int n = *from < high ? ioctl(pagemap, SCAN, &scan) : 0;
    for (int i = 0; i < n; i++)
        ranges[i] =
            (struct nof_delta_range){.low = (uintptr_t)found[i].start, .high = (uintptr_t)found[i].end};
    *from = n > 0 ? (uintptr_t)scan.walk_end : high;
    return n > 0 ? (size_t)n : 0;
}

const struct nof_delta_pages_ops nof_delta_pages_by_pagemap = {.name = "pagemap",
                                                               .open = open_noting,
                                                               .begin = begin_noting,
                                                               .guard = guard_noting,
                                                               .allow = allow_noting,
                                                               .end = end_noting,
                                                               .written = written};

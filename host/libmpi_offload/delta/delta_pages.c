/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of linux/fs.h since 6.11: what lies at an address, without the text of all mappings. */
struct query {
    uint64_t size, flags, address, start, end, is, page_bytes, offset, inode;
    uint32_t dev_major, dev_minor, name_bytes, build_id_bytes;
    uint64_t name, build_id;
};
#define QUERY _IOWR('f', 17, struct query)
enum { READABLE = 1, WRITABLE = 2, SHARED = 8 };

struct mapping {
    uintptr_t start, end;
    bool usable; /* can be read and written */
    bool plain;
};

static int maps = -1, memory = -1;
static bool has_query;

static bool ask(uintptr_t address, struct mapping *found)
{
    char name[16] = "";
    struct query q = {
        .size = sizeof(q), .address = address, .name_bytes = sizeof(name), .name = (uint64_t)(uintptr_t)name};
    if (ioctl(maps, QUERY, &q) != 0) {
        q.name_bytes = 0; /* a longer name is no stack's */
        q.name = 0;
        if (errno != ENAMETOOLONG || ioctl(maps, QUERY, &q) != 0)
            return false;
    }
    found->start = (uintptr_t)q.start;
    found->end = (uintptr_t)q.end;
    found->usable = (q.is & (READABLE | WRITABLE)) == (READABLE | WRITABLE);
    found->plain = found->usable && (q.is & SHARED) == 0 && q.inode == 0 && q.page_bytes == NOF_DELTA_PAGE &&
                   !(name[0] == '[' && name[1] == 's');
    return true;
}

bool nof_delta_pages_open(void)
{
    static bool tried;
    struct mapping here;
    if (!tried) {
        tried = true;
        maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
        memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
        has_query = maps >= 0 && memory >= 0 && sysconf(_SC_PAGESIZE) == (long)NOF_DELTA_PAGE &&
                    ask((uintptr_t)&here, &here);
    }
    return has_query;
}

bool nof_delta_pages_plain(uintptr_t low, uintptr_t high)
{
    struct mapping m;
    while (low < high) {
        if (!ask(low, &m) || !m.plain || m.end <= low)
            return false;
        low = m.end;
    }
    return true;
}

bool nof_delta_pages_usable(uintptr_t address)
{
    struct mapping m;
    return has_query && ask(address, &m) && m.usable;
}

static void *at(uintptr_t address)
{
    return (void *)address; // NOLINT: what the kernel is asked about
}

static bool guard(uintptr_t low, size_t bytes)
{
    return mprotect(at(low), bytes, PROT_READ) == 0;
}

static bool hide(uintptr_t low, size_t bytes)
{
    return mprotect(at(low), bytes, PROT_NONE) == 0;
}

static bool allow(uintptr_t low, size_t bytes)
{
    return mprotect(at(low), bytes, PROT_READ | PROT_WRITE) == 0;
}

static bool put(uintptr_t from, uintptr_t to, size_t bytes)
{
    return mremap(at(from), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, at(to)) == at(to);
}

const struct nof_delta_pages_ops nof_delta_pages_by_mprotect = {
    .name = "mprotect", .guard = guard, .hide = hide, .allow = allow, .put = put};

bool nof_delta_pages_peek(uintptr_t from, void *to, size_t bytes)
{
    return pread(memory, to, bytes, (off_t)from) == (ssize_t)bytes;
}

void *nof_delta_pages_new(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
    (void)madvise(pages, bytes, MADV_NOHUGEPAGE); /* they leave by fours */
    return pages;
}

void nof_delta_pages_free(void *pages, size_t bytes)
{
    if (pages != NULL)
        (void)munmap(pages, bytes);
}

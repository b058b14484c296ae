/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_pages.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "delta/delta_count.h"

static int memory = -1;
static bool opened;

static bool look_at_self(void)
{
    memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    return nof_delta_maps_open() && memory >= 0 && sysconf(_SC_PAGESIZE) == (long)NOF_DELTA_PAGE;
}

bool nof_delta_pages_open(void)
{
    static bool tried;
    if (!tried) {
        tried = true;
        opened = look_at_self();
    }
    return opened;
}

void nof_delta_pages_in_child(void)
{
    if (!opened)
        return;
    (void)close(memory);
    opened = look_at_self();
}

static bool is_plain(void *arg, const struct nof_delta_mapping *part)
{
    (void)arg;
    return part->usable && part->own;
}

bool nof_delta_pages_plain(uintptr_t low, uintptr_t high)
{
    return nof_delta_maps_each(low, high, is_plain, NULL);
}

/* glibc's: nothing before it, and its size, of whole pages, with a mark. Not the program's memory, a sanitizer would say. */
__attribute__((no_sanitize("address"))) bool nof_delta_pages_block(uintptr_t data, size_t bytes)
{
    enum { MAPPED = 2, HEAD_BYTES = 2 * sizeof(size_t) };
    if (data % NOF_DELTA_PAGE != HEAD_BYTES)
        return false;
    const size_t *head = (const size_t *)(data - HEAD_BYTES); // NOLINT: what lies in front of a buffer
    return head[0] == 0 && head[1] % NOF_DELTA_PAGE == MAPPED && head[1] - MAPPED >= bytes + HEAD_BYTES;
}

bool nof_delta_pages_usable(uintptr_t address)
{
    struct nof_delta_mapping m;
    return opened && nof_delta_maps_ask(address, &m) && m.usable;
}

bool nof_delta_pages_own(uintptr_t address)
{
    struct nof_delta_mapping m;
    return opened && nof_delta_maps_ask(address, &m) && m.own;
}

static bool is_hidden(void *arg, const struct nof_delta_mapping *part)
{
    (void)arg;
    return !part->readable && !part->usable && part->own;
}

static bool hidden(uintptr_t low, uintptr_t high)
{
    return nof_delta_maps_each(low, high, is_hidden, NULL);
}

static void *at(uintptr_t address)
{
    return (void *)address; // NOLINT: what the kernel is asked about
}

static bool allow(uintptr_t low, size_t bytes)
{
    return mprotect(at(low), bytes, PROT_READ | PROT_WRITE) == 0;
}

struct giving {
    bool readable, all;
};

static bool give_part_back(void *arg, const struct nof_delta_mapping *part)
{
    struct giving *giving = arg;
    if (!part->own || (!part->usable &&
                       (part->readable != giving->readable || !allow(part->start, part->end - part->start))))
        giving->all = false;
    return true;
}

/* What was unmapped, or is another mapping by now, is left alone: ours can be read, or not, and is nobody else's. */
static bool give_back(uintptr_t low, uintptr_t high, bool readable)
{
    struct giving giving = {.readable = readable, .all = true};
    return nof_delta_maps_each(low, high, give_part_back, &giving) && giving.all;
}

bool nof_delta_pages_release(uintptr_t address)
{
    struct nof_delta_mapping m;
    return opened && nof_delta_maps_ask(address, &m) && m.own && !m.usable && allow(m.start, m.end - m.start);
}

static const char *open_mprotect(void)
{
    return NULL;
}

static bool begin(uintptr_t low, size_t bytes)
{
    (void)low;
    (void)bytes;
    return true;
}

/* All of them, or none: of several mappings the kernel keeps what it did before the one that it could not split. */
static bool protected(uintptr_t low, size_t bytes, int protection)
{
    if (mprotect(at(low), bytes, protection) == 0)
        return true;
    (void)allow(low, bytes);
    return false;
}

static bool guard(uintptr_t low, size_t bytes)
{
    return protected(low, bytes, PROT_READ);
}

static bool end(uintptr_t low, size_t bytes)
{
    return give_back(low, low + bytes, true);
}

const struct nof_delta_pages_ops nof_delta_pages_by_mprotect = {.name = "mprotect",
                                                                .open = open_mprotect,
                                                                .begin = begin,
                                                                .guard = guard,
                                                                .allow = allow,
                                                                .end = end,
                                                                .in_child = true};

static bool hide(uintptr_t low, size_t bytes, uintptr_t *kept_out)
{
    *kept_out = low;
    return protected(low, bytes, PROT_NONE);
}

static bool show(uintptr_t low, uintptr_t kept, size_t bytes)
{
    (void)kept;
    return give_back(low, low + bytes, false);
}

/* Where memory for one more mapping is missing, by a copy that other threads can see half done. */
static void replace(uintptr_t from, uintptr_t to, size_t bytes)
{
    if (mremap(at(from), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, at(to)) == at(to))
        return;
    (void)give_back(to, to + bytes, false);
    nof_delta_count(NOF_DELTA_COUNT_COPIED_BYTES, bytes);
    memcpy(at(to), at(from), bytes);
}

/* Nothing is put over what the program has there by now. */
static bool put_where(bool (*still)(uintptr_t low, uintptr_t high), uintptr_t from, uintptr_t to,
                      size_t bytes)
{
    bool all = still(to, to + bytes);
    size_t step = all ? bytes : NOF_DELTA_PAGE;
    for (size_t done = 0; done < bytes; done += step)
        if (all || still(to + done, to + done + step))
            replace(from + done, to + done, step);
    return all;
}

static bool put(uintptr_t from, uintptr_t to, size_t bytes)
{
    return put_where(hidden, from, to, bytes);
}

bool nof_delta_pages_put(uintptr_t from, uintptr_t to, size_t bytes)
{
    return put_where(nof_delta_pages_plain, from, to, bytes);
}

static bool peek(uintptr_t low, uintptr_t kept, void *to, size_t bytes)
{
    (void)kept;
    return pread(memory, to, bytes, (off_t)low) == (ssize_t)bytes;
}

static void end_hiding(uintptr_t low, uintptr_t kept, size_t bytes)
{
    (void)low;
    (void)kept;
    (void)bytes;
}

const struct nof_delta_hide_ops nof_delta_hide_by_mprotect = {.name = "mprotect",
                                                              .open = open_mprotect,
                                                              .hide = hide,
                                                              .put = put,
                                                              .show = show,
                                                              .peek = peek,
                                                              .end = end_hiding,
                                                              .show_in_child = show};

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

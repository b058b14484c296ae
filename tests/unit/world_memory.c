/* SPDX-License-Identifier: BSD-3-Clause */
#include "world_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "world_state.h"

#define PAGE ((size_t)4096)
#define HUGE_PAGE ((size_t)2 << 20)
#define KEPT_MAX 64
#define KEPT_BYTES_MAX ((size_t)64 << 20) /* of one: what is larger goes back to the kernel */

static struct {
    uint8_t *at; /* NULL: nothing */
    size_t bytes;
} kept[KEPT_MAX];

/* What is large enough begins where a huge page may. */
static size_t page_of(size_t bytes)
{
    return bytes < HUGE_PAGE ? PAGE : HUGE_PAGE;
}

/* Between the pages that are forbidden; the memory ends where they end, but for its alignment. */
static size_t mapped_bytes(size_t bytes)
{
    return (bytes + page_of(bytes) - 1) / page_of(bytes) * page_of(bytes);
}

static size_t aligned_bytes(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static void cut(uint8_t *from, const uint8_t *to)
{
    if (to > from && munmap(from, (size_t)(to - from)) != 0)
        abort();
}

static uint8_t *map(size_t bytes, int filled)
{
    const size_t page = page_of(bytes), inside = mapped_bytes(bytes), room = inside - aligned_bytes(bytes);
    const size_t all = inside + 2 * PAGE + (page - PAGE);
    uint8_t *from = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (from == MAP_FAILED)
        abort();
    uint8_t *pages = from + PAGE + (page - ((uintptr_t)from + PAGE) % page) % page;
    cut(from, pages - PAGE);
    cut(pages + inside + PAGE, from + all);
    if (mprotect(pages, inside, PROT_READ | PROT_WRITE) != 0)
        abort();
    if (filled && page > PAGE)
        (void)madvise(pages, inside, MADV_HUGEPAGE); /* all of it is touched; a kernel may have none */
    uint8_t *at = pages + room;
    forbid(pages, room);
    forbid(at + bytes, aligned_bytes(bytes) - bytes);
    return at;
}

static void unmap(uint8_t *at, size_t bytes)
{
    const size_t inside = mapped_bytes(bytes), room = inside - aligned_bytes(bytes);

    allow(at - room, inside);
    if (munmap(at - room - PAGE, inside + 2 * PAGE) != 0)
        abort();
}

/* Whole pages go back to the kernel, which has zeroed ones when they are touched. */
static void zero(uint8_t *at, size_t bytes)
{
    uint8_t *page = at + (PAGE - (uintptr_t)at % PAGE) % PAGE;
    size_t pages = (aligned_bytes(bytes) - (size_t)(page - at)) / PAGE * PAGE;

    memset(at, 0, bytes < (size_t)(page - at) ? bytes : (size_t)(page - at));
    if (pages > 0 && madvise(page, pages, MADV_DONTNEED) != 0)
        abort();
}

void *world_memory_take(size_t bytes, int zeroed)
{
    for (unsigned i = 0; i < KEPT_MAX; i++)
        if (kept[i].at != NULL && kept[i].bytes == bytes) {
            uint8_t *at = kept[i].at;
            kept[i].at = NULL;
            allow(at, bytes);
            if (zeroed)
                zero(at, bytes);
            return at;
        }
    uint8_t *at = map(bytes, !zeroed);
    if (!zeroed)
        memset(at, 0xa5, bytes < KEPT_BYTES_MAX ? bytes : PAGE);
    return at;
}

void world_memory_give(void *at, size_t bytes)
{
    if (at == NULL)
        return;
    for (unsigned i = 0; i < KEPT_MAX && bytes <= KEPT_BYTES_MAX; i++)
        if (kept[i].at == NULL) {
            kept[i].at = at;
            kept[i].bytes = bytes;
            forbid(at, bytes);
            return;
        }
    unmap(at, bytes);
}

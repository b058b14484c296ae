/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages hidden by userfaultfd: the buffer's place is kept and its pages are elsewhere, so that any access is SIGBUS; what has come is
 * moved there by UFFDIO_MOVE, which changes no mapping. What is no longer the descriptor's, because the program has unmapped or moved
 * it, the kernel refuses. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <linux/userfaultfd.h>

#include "delta/delta_count.h"
#include "delta/delta_hold.h"
#include "delta/delta_uffd.h"

/* Of linux/userfaultfd.h since 6.8. */
struct move {
    uint64_t to, from, bytes, mode;
    int64_t moved;
};
#define MOVE _IOWR(UFFDIO, 0x05, struct move)
#define CAN_MOVE (1ull << 16)
enum { EMPTY_TOO = 2 };

static int missing = -1;

static const char *open_missing(void)
{
    return nof_delta_uffd_open(UFFD_FEATURE_SIGBUS | CAN_MOVE,
                               "this kernel's userfaultfd does not move pages (Linux 6.8 does)", &missing);
}

static void *at(uintptr_t address)
{
    return (void *)address; // NOLINT: inside a buffer
}

/* A page on either side is nobody's: beside the buffer, pages that were never touched would become one mapping with it, and mremap()
 * would strike both from the descriptor's. */
static bool keep(uintptr_t low, size_t bytes, uintptr_t *kept_out)
{
    size_t fenced = bytes + 2 * NOF_DELTA_PAGE;
    void *fence = mmap(NULL, fenced, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fence == MAP_FAILED)
        return false;
    uintptr_t kept = (uintptr_t)fence + NOF_DELTA_PAGE;
    int how = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
    if (mremap(at(low), bytes, bytes, how, at(kept)) == MAP_FAILED) {
        (void)munmap(fence, fenced);
        return false;
    }
    *kept_out = kept;
    return true;
}

/* For other threads the place is never empty and readable. What lies in several mappings mremap() does not take. */
static bool hide(uintptr_t low, size_t bytes, uintptr_t *kept_out)
{
    if (!nof_delta_uffd_enlist(missing, low, bytes, UFFDIO_REGISTER_MODE_MISSING))
        return false;
    if (keep(low, bytes, kept_out))
        return true;
    (void)nof_delta_uffd_dismiss(missing, low, bytes);
    return false;
}

/* There is no memory to do so unseen, and the page is the descriptor's still: it becomes the program's, which waits for memory, or is
 * ended, as with any page; other threads can see it half done. */
static void copy_openly(uintptr_t from, uintptr_t to)
{
    if (!nof_delta_uffd_dismiss(missing, to, NOF_DELTA_PAGE))
        nof_delta_give_up("libmpi_offload: the kernel has no memory to put a page of a delta receive into "
                          "its buffer: raise the memory limit of the job (or its vm.max_map_count), or set "
                          "NOF_DELTA=explicit\n");
    memcpy(at(to), at(from), NOF_DELTA_PAGE);
}

/* A page that the kernel does not move: a child has it, too, or only one of the two may be swapped out. False: the place is not
 * ours. */
static bool copy_page(uintptr_t from, uintptr_t to)
{
    struct uffdio_copy page = {.dst = to, .src = from, .len = NOF_DELTA_PAGE};
    int rc;
    do
        rc = ioctl(missing, UFFDIO_COPY, &page);
    while (rc != 0 && errno == EAGAIN);
    if (rc != 0 && errno != ENOMEM)
        return false;
    if (rc != 0)
        copy_openly(from, to);
    nof_delta_count(NOF_DELTA_COUNT_COPIED_BYTES, NOF_DELTA_PAGE);
    return true;
}

static bool move_pages(uintptr_t from, uintptr_t to, size_t bytes, uint64_t mode)
{
    bool all = true;
    for (size_t done = 0; done < bytes;) {
        struct move pages = {.to = to + done, .from = from + done, .bytes = bytes - done, .mode = mode};
        (void)ioctl(missing, MOVE, &pages);
        if (pages.moved > 0) {
            done += (size_t)pages.moved;
            continue;
        }
        all = copy_page(from + done, to + done) && all;
        done += NOF_DELTA_PAGE;
    }
    return all;
}

static bool put(uintptr_t from, uintptr_t to, size_t bytes)
{
    return move_pages(from, to, bytes, 0);
}

/* Pages that were never touched are not at `kept` either: the kernel brings them, where they are the descriptor's no longer. */
static bool show(uintptr_t low, uintptr_t kept, size_t bytes)
{
    bool all = move_pages(kept, low, bytes, EMPTY_TOO);
    (void)nof_delta_uffd_dismiss(missing, low, bytes);
    return all;
}

static bool peek(uintptr_t low, uintptr_t kept, void *to, size_t bytes)
{
    (void)low;
    memcpy(to, at(kept), bytes);
    return true;
}

static void end(uintptr_t low, uintptr_t kept, size_t bytes)
{
    (void)nof_delta_uffd_dismiss(missing, low, bytes);
    (void)munmap(at(kept - NOF_DELTA_PAGE), bytes + 2 * NOF_DELTA_PAGE);
}

/* The descriptor is its parent's, and does not watch the child. */
static bool show_in_child(uintptr_t low, uintptr_t kept, size_t bytes)
{
    return mremap(at(kept), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at(low)) == at(low);
}

const struct nof_delta_hide_ops nof_delta_hide_by_userfaultfd = {.name = "userfaultfd",
                                                                 .open = open_missing,
                                                                 .hide = hide,
                                                                 .put = put,
                                                                 .show = show,
                                                                 .peek = peek,
                                                                 .end = end,
                                                                 .show_in_child = show_in_child};

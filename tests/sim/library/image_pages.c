/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages that the library protects (delta/delta_pages.h), and faults on them (delta_fault.h): here a table says what may be
 * done to a page, and the program asks it before each access (nof_image_touch). One area of memory can be watched. */
#include <stdlib.h>
#include <string.h>

#include "delta/delta_fault.h"
#include "delta/delta_hold.h"
#include "delta/delta_pages.h"
#include "delta/delta_poll.h"
#include "delta/delta_scan.h"
#include "delta/delta_watch.h"
#include "image_run.h"

enum { FREE, GUARDED, HIDDEN };

static uintptr_t area_low, area_high;
static uint8_t *state; /* by page */

void nof_image_pages_watch(void *low, size_t bytes)
{
    free(state);
    area_low = (uintptr_t)low;
    area_high = area_low + bytes;
    state = calloc(bytes / NOF_DELTA_PAGE + 1, 1);
    if (state == NULL)
        abort();
}

bool nof_delta_pages_open(void)
{
    return true;
}

bool nof_delta_fault_open(void)
{
    return true;
}

void nof_delta_pages_in_child(void)
{
}

/* No signal comes, and nobody else runs. */
void nof_delta_hold(sigset_t *before)
{
    sigemptyset(before);
}

void nof_delta_hold_open(const sigset_t *more)
{
    (void)more;
}

void nof_delta_let_go(const sigset_t *before)
{
    (void)before;
}

bool nof_delta_pages_plain(uintptr_t low, uintptr_t high)
{
    return low >= area_low && high <= area_high;
}

bool nof_delta_pages_usable(uintptr_t address)
{
    return nof_delta_pages_plain(address, address + 1) &&
           state[(address - area_low) / NOF_DELTA_PAGE] == FREE;
}

static bool set(uintptr_t low, size_t bytes, uint8_t to)
{
    if (!nof_delta_pages_plain(low, low + bytes))
        return false;
    memset(&state[(low - area_low) / NOF_DELTA_PAGE], to, bytes / NOF_DELTA_PAGE);
    return true;
}

bool nof_delta_pages_own(uintptr_t address)
{
    return nof_delta_pages_plain(address, address + 1);
}

bool nof_delta_pages_block(uintptr_t data, size_t bytes)
{
    (void)data;
    (void)bytes;
    return false;
}

/* None is moved. */
bool nof_delta_pages_release(uintptr_t address)
{
    (void)address;
    return false;
}

static const char *open_here(void)
{
    return NULL;
}

static const char *open_nowhere(void)
{
    return "there is one way here";
}

static bool guard(uintptr_t low, size_t bytes)
{
    return set(low, bytes, GUARDED);
}

static bool allow(uintptr_t low, size_t bytes)
{
    return set(low, bytes, FREE);
}

const struct nof_delta_pages_ops nof_delta_pages_by_mprotect = {
    .name = "sim", .open = open_here, .begin = allow, .guard = guard, .allow = allow, .end = allow};
const struct nof_delta_pages_ops nof_delta_pages_by_userfaultfd = {.name = "none", .open = open_nowhere};
const struct nof_delta_pages_ops nof_delta_pages_by_pagemap = {.name = "none", .open = open_nowhere};

void nof_delta_scan_begin(void)
{
}

void nof_delta_scan_end(void)
{
}

/* There are no threads: what is waited for in a fault is brought by the NIC alone. */
bool nof_delta_poll_begin(const struct nof_sched *(*describe)(const void *slot))
{
    (void)describe;
    return true;
}

void nof_delta_poll_end(void)
{
}

void nof_delta_poll_in_child(void)
{
}

void nof_delta_poll_summon(uint32_t slot)
{
    (void)slot;
}

void nof_delta_poll_dismiss(void)
{
}

bool nof_delta_poll_pays(void)
{
    return false;
}

static bool hide(uintptr_t low, size_t bytes, uintptr_t *kept_out)
{
    *kept_out = low;
    return set(low, bytes, HIDDEN);
}

static bool show(uintptr_t low, uintptr_t kept, size_t bytes)
{
    (void)kept;
    return set(low, bytes, FREE);
}

bool nof_delta_pages_put(uintptr_t from, uintptr_t to, size_t bytes)
{
    if (!set(to, bytes, FREE))
        return false;
    memcpy((void *)to, (void *)from, bytes); // NOLINT: pages of this process
    memset((void *)from, 0, bytes); // NOLINT
    return true;
}

static bool peek(uintptr_t low, uintptr_t kept, void *to, size_t bytes)
{
    (void)kept;
    memcpy(to, (void *)low, bytes); // NOLINT: a page of this process
    return true;
}

static void end(uintptr_t low, uintptr_t kept, size_t bytes)
{
    (void)low;
    (void)kept;
    (void)bytes;
}

const struct nof_delta_hide_ops nof_delta_hide_by_mprotect = {.name = "sim",
                                                              .open = open_here,
                                                              .hide = hide,
                                                              .put = nof_delta_pages_put,
                                                              .show = show,
                                                              .peek = peek,
                                                              .end = end,
                                                              .show_in_child = show};
const struct nof_delta_hide_ops nof_delta_hide_by_userfaultfd = {.name = "none", .open = open_nowhere};

void *nof_delta_pages_new(size_t bytes)
{
    void *pages = NULL;
    return posix_memalign(&pages, NOF_DELTA_PAGE, bytes) == 0 ? pages : NULL;
}

void nof_delta_pages_free(void *pages, size_t bytes)
{
    (void)bytes;
    free(pages);
}

/* A write's fault announces what was written before it when its time has passed; a read's costs as much after its page has come. */
static void fault(uintptr_t address, bool writes)
{
    const struct nof_increments *i = nof_run.program->increments;
    if (writes)
        nof_image->ops->nap(nof_image->process, i->write_fault_ns);
    if (!nof_delta_watch_fault((struct nof_delta_access){.address = address}))
        nof_run_fail("a fault on page %zu is nobody's", (size_t)(address - area_low) / NOF_DELTA_PAGE);
    if (!writes)
        nof_image->ops->nap(nof_image->process, i->read_fault_ns);
}

void nof_image_touch(const void *address, size_t bytes, bool writes)
{
    uintptr_t at = (uintptr_t)address & ~(NOF_DELTA_PAGE - 1), end = (uintptr_t)address + bytes;
    for (; at < end; at += NOF_DELTA_PAGE) {
        const uint8_t *now = &state[(at - area_low) / NOF_DELTA_PAGE];
        if (*now == HIDDEN)
            fault(at, false);
        if (*now == GUARDED && writes)
            fault(at, true);
    }
}

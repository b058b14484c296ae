/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_way.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lib.h"
#include "nof_private/env.h"

#define PROBE_PAGES 8u
#define PROBE_BYTES (PROBE_PAGES * NOF_DELTA_PAGE)
#define PROBE_ROUNDS 4u /* the best counts */
#define UNMEASURED_NS 7500u /* mprotect, on a virtual machine of 2026 */

static const char *const names[] = {[NOF_DELTA_WAY_AUTO] = "auto",
                                    [NOF_DELTA_WAY_MPROTECT] = "mprotect",
                                    [NOF_DELTA_WAY_USERFAULTFD] = "userfaultfd",
                                    [NOF_DELTA_WAY_PAGEMAP] = "pagemap"};

enum { WAYS = NOF_DELTA_WAY_PAGEMAP + 1 };

static const struct nof_delta_pages_ops *const guards[WAYS] = {
    [NOF_DELTA_WAY_MPROTECT] = &nof_delta_pages_by_mprotect,
    [NOF_DELTA_WAY_USERFAULTFD] = &nof_delta_pages_by_userfaultfd,
    [NOF_DELTA_WAY_PAGEMAP] = &nof_delta_pages_by_pagemap,
};
static const struct nof_delta_hide_ops *const hides[WAYS] = {
    [NOF_DELTA_WAY_MPROTECT] = &nof_delta_hide_by_mprotect,
    [NOF_DELTA_WAY_USERFAULTFD] = &nof_delta_hide_by_userfaultfd,
};

/* What is known of the ways of a table. */
struct known {
    const char *what;
    const char *(*open)(enum nof_delta_way way);
    /* A round of all pages of the probe, whose `low` and `from` are set; 0: it cannot be done. */
    uint64_t (*time_round)(enum nof_delta_way way);
    bool told;
    struct way {
        bool tried;
        const char *why; /* it cannot be had */
        uint64_t page_ns; /* 0: not measured */
    } ways[WAYS];
};

static enum nof_delta_way wanted = NOF_DELTA_WAY_AUTO;

/* Pages that are touched to see what it costs; low 0: none. Read by the handler in the thread that set it. */
static struct {
    enum nof_delta_way way;
    bool hidden; /* else guarded */
    uintptr_t low, last;
    uintptr_t from; /* what is put in their place */
} probe;

bool nof_delta_way_named(const char *name, enum nof_delta_way *way_out)
{
    for (unsigned i = NOF_DELTA_WAY_AUTO; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            *way_out = (enum nof_delta_way)i;
            return true;
        }
    }
    return false;
}

const char *nof_delta_way_name(enum nof_delta_way way)
{
    return names[way == NOF_DELTA_WAY_UNSAID ? wanted : way];
}

int nof_delta_way_open(char *text, size_t text_bytes)
{
    const char *name = nof_env("NOF_DELTA_TRIGGER");
    if (name == NULL || nof_delta_way_named(name, &wanted))
        return 0;
    snprintf(text, text_bytes, "NOF_DELTA_TRIGGER=%s: must be auto, mprotect, userfaultfd or pagemap", name);
    return -1;
}

static bool open_page(uintptr_t page)
{
    if (probe.hidden)
        return hides[probe.way]->put(probe.from + (page - probe.low), page, NOF_DELTA_PAGE);
    bool done = guards[probe.way]->allow(page, NOF_DELTA_PAGE);
    if (done && probe.last != 0)
        (void)guards[probe.way]->guard(probe.last, NOF_DELTA_PAGE);
    probe.last = page;
    return done;
}

bool nof_delta_way_fault(uintptr_t address)
{
    uintptr_t page = address & ~(NOF_DELTA_PAGE - 1), low = __atomic_load_n(&probe.low, __ATOMIC_RELAXED);
    return low != 0 && page >= low && page < low + PROBE_BYTES && open_page(page);
}

static void touch_pages(void)
{
    volatile char *at = (volatile char *)probe.low; // NOLINT: pages of ours
    for (unsigned i = 0; i < PROBE_PAGES; i++)
        at[i * NOF_DELTA_PAGE] += 1;
}

static uint64_t time_guarded(enum nof_delta_way way)
{
    uint64_t took_ns = 0;
    if (!guards[way]->begin(probe.low, PROBE_BYTES))
        return 0;
    probe.hidden = false;
    probe.last = 0;
    uint64_t began_ns = nof_lib_now_ns();
    if (guards[way]->guard(probe.low, PROBE_BYTES)) {
        touch_pages();
        took_ns = nof_lib_now_ns() - began_ns;
    }
    (void)guards[way]->end(probe.low, PROBE_BYTES);
    return took_ns;
}

static uint64_t time_hidden(enum nof_delta_way way)
{
    uintptr_t kept;
    memset((char *)probe.from, 0, PROBE_BYTES); // NOLINT: pages of ours
    probe.hidden = true;
    uint64_t began_ns = nof_lib_now_ns();
    if (!hides[way]->hide(probe.low, PROBE_BYTES, &kept))
        return 0;
    touch_pages();
    hides[way]->end(probe.low, kept, PROBE_BYTES);
    return nof_lib_now_ns() - began_ns;
}

static const char *open_guard(enum nof_delta_way way)
{
    return guards[way]->open();
}

static const char *open_hide(enum nof_delta_way way)
{
    return hides[way]->open();
}

static struct known of_guards = {.what = "sends", .open = open_guard, .time_round = time_guarded},
                    of_hides = {.what = "receives", .open = open_hide, .time_round = time_hidden};

static void measure(struct known *known, enum nof_delta_way way)
{
    char *pages = nof_delta_pages_new(2 * PROBE_BYTES);
    uint64_t best_ns = 0;
    if (pages == NULL)
        return;
    memset(pages, 0, 2 * PROBE_BYTES);
    probe.way = way;
    probe.from = (uintptr_t)pages + PROBE_BYTES;
    __atomic_store_n(&probe.low, (uintptr_t)pages, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < PROBE_ROUNDS; i++) {
        uint64_t ns = known->time_round(way);
        best_ns = best_ns == 0 || ns < best_ns ? ns : best_ns;
    }
    __atomic_store_n(&probe.low, 0, __ATOMIC_RELAXED);
    nof_delta_pages_free(pages, 2 * PROBE_BYTES);
    known->ways[way].page_ns = best_ns / PROBE_PAGES;
}

static const struct way *try_way(struct known *known, enum nof_delta_way number)
{
    struct way *way = &known->ways[number];
    if (!way->tried) {
        way->tried = true;
        way->why = known->open(number);
        if (way->why == NULL)
            measure(known, number);
    }
    return way;
}

static enum nof_delta_way least(struct known *known)
{
    const struct way *best = try_way(known, NOF_DELTA_WAY_MPROTECT),
                     *other = try_way(known, NOF_DELTA_WAY_USERFAULTFD);
    return other->why == NULL && other->page_ns != 0 && other->page_ns < best->page_ns
               ? NOF_DELTA_WAY_USERFAULTFD
               : NOF_DELTA_WAY_MPROTECT;
}

static enum nof_delta_way choose(struct known *known, enum nof_delta_way way)
{
    if (way == NOF_DELTA_WAY_AUTO)
        return least(known);
    const char *why = try_way(known, way)->why;
    if (why == NULL)
        return way;
    if (!known->told)
        fprintf(stderr,
                "libmpi_offload: rank %d on %s: NOF_DELTA_TRIGGER=%s: %s; mprotect is used instead for %s\n",
                nof_lib.world_rank, nof_lib.host, names[way], why, known->what);
    known->told = true;
    return NOF_DELTA_WAY_MPROTECT;
}

const struct nof_delta_pages_ops *nof_delta_way_ops(enum nof_delta_way way)
{
    return guards[choose(&of_guards, way == NOF_DELTA_WAY_UNSAID ? wanted : way)];
}

const struct nof_delta_hide_ops *nof_delta_way_hide_ops(enum nof_delta_way way)
{
    way = way == NOF_DELTA_WAY_UNSAID ? wanted : way;
    return hides[choose(&of_hides, way == NOF_DELTA_WAY_PAGEMAP ? NOF_DELTA_WAY_AUTO : way)];
}

uint64_t nof_delta_way_fault_ns(const struct nof_delta_pages_ops *ops)
{
    for (unsigned i = NOF_DELTA_WAY_MPROTECT; i < WAYS; i++)
        if (guards[i] == ops && of_guards.ways[i].page_ns != 0)
            return of_guards.ways[i].page_ns;
    return UNMEASURED_NS;
}

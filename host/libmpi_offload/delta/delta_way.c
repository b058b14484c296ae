/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_way.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lib.h"

#define PROBE_PAGES 8u
#define PROBE_ROUNDS 4u /* the best counts */
#define UNMEASURED_NS 7500u /* mprotect, on a virtual machine of 2026 */

static const char *const names[] = {[NOF_DELTA_WAY_AUTO] = "auto",
                                    [NOF_DELTA_WAY_MPROTECT] = "mprotect",
                                    [NOF_DELTA_WAY_USERFAULTFD] = "userfaultfd",
                                    [NOF_DELTA_WAY_PAGEMAP] = "pagemap"};

static struct way {
    const struct nof_delta_pages_ops *ops;
    bool tried;
    const char *why; /* it cannot be had */
    uint64_t fault_ns; /* 0: not measured */
} ways[] = {[NOF_DELTA_WAY_MPROTECT] = {.ops = &nof_delta_pages_by_mprotect},
            [NOF_DELTA_WAY_USERFAULTFD] = {.ops = &nof_delta_pages_by_userfaultfd},
            [NOF_DELTA_WAY_PAGEMAP] = {.ops = &nof_delta_pages_by_pagemap}};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static enum nof_delta_way wanted = NOF_DELTA_WAY_AUTO;

/* Pages that are written to see what it costs; low 0: none. Read by the handler in the thread that set it. */
static struct {
    const struct nof_delta_pages_ops *ops;
    uintptr_t low, last;
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
    const char *name = getenv("NOF_DELTA_TRIGGER");
    if (name == NULL || nof_delta_way_named(name, &wanted))
        return 0;
    snprintf(text, text_bytes, "NOF_DELTA_TRIGGER=%s: must be auto, mprotect, userfaultfd or pagemap", name);
    return -1;
}

bool nof_delta_way_fault(uintptr_t address)
{
    uintptr_t page = address & ~(NOF_DELTA_PAGE - 1), low = __atomic_load_n(&probe.low, __ATOMIC_RELAXED);
    if (low == 0 || page < low || page >= low + PROBE_PAGES * NOF_DELTA_PAGE)
        return false;
    bool done = probe.ops->allow(page, NOF_DELTA_PAGE);
    if (done && probe.last != 0)
        (void)probe.ops->guard(probe.last, NOF_DELTA_PAGE);
    probe.last = page;
    return done;
}

/* A round of all pages; 0: they cannot be guarded. */
static uint64_t time_round(const struct nof_delta_pages_ops *ops, volatile char *at)
{
    uint64_t began_ns = nof_lib_now_ns();
    if (!ops->guard(probe.low, PROBE_PAGES * NOF_DELTA_PAGE))
        return 0;
    probe.last = 0;
    for (unsigned i = 0; i < PROBE_PAGES; i++)
        at[i * NOF_DELTA_PAGE] = 1;
    return (nof_lib_now_ns() - began_ns) / PROBE_PAGES + 1;
}

static void measure(struct way *way)
{
    size_t bytes = PROBE_PAGES * NOF_DELTA_PAGE;
    char *at = nof_delta_pages_new(bytes);
    uint64_t best_ns = 0;
    if (at == NULL)
        return;
    memset(at, 0, bytes);
    if (way->ops->begin((uintptr_t)at, bytes)) {
        probe.ops = way->ops;
        __atomic_store_n(&probe.low, (uintptr_t)at, __ATOMIC_RELAXED);
        for (unsigned i = 0; i < PROBE_ROUNDS; i++) {
            uint64_t ns = time_round(way->ops, at);
            best_ns = best_ns == 0 || ns < best_ns ? ns : best_ns;
        }
        __atomic_store_n(&probe.low, 0, __ATOMIC_RELAXED);
        (void)way->ops->end((uintptr_t)at, bytes);
    }
    nof_delta_pages_free(at, bytes);
    way->fault_ns = best_ns;
}

static bool can(struct way *way)
{
    if (!way->tried) {
        way->tried = true;
        way->why = way->ops->open();
        if (way->why == NULL)
            measure(way);
    }
    return way->why == NULL;
}

static struct way *least(void)
{
    struct way *best = &ways[NOF_DELTA_WAY_MPROTECT], *other = &ways[NOF_DELTA_WAY_USERFAULTFD];
    (void)can(best);
    return can(other) && other->fault_ns != 0 && other->fault_ns < best->fault_ns ? other : best;
}

const struct nof_delta_pages_ops *nof_delta_way_ops(enum nof_delta_way way)
{
    static bool told;
    if (way == NOF_DELTA_WAY_UNSAID)
        way = wanted;
    if (way == NOF_DELTA_WAY_AUTO)
        return least()->ops;
    if (can(&ways[way]))
        return ways[way].ops;
    if (!told)
        fprintf(stderr, "libmpi_offload: rank %d on %s: NOF_DELTA_TRIGGER=%s: %s; mprotect is used instead\n",
                nof_lib.world_rank, nof_lib.host, names[way], ways[way].why);
    told = true;
    return ways[NOF_DELTA_WAY_MPROTECT].ops;
}

uint64_t nof_delta_way_fault_ns(const struct nof_delta_pages_ops *ops)
{
    for (unsigned i = NOF_DELTA_WAY_MPROTECT; i < WAYS; i++)
        if (ways[i].ops == ops && ways[i].fault_ns != 0)
            return ways[i].fault_ns;
    return UNMEASURED_NS;
}

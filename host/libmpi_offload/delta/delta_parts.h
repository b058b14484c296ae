/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole pages of a buffer, cut into parts of some pages each; of each part, what became of it. The last parts halve, down to two of
 * a single page: a part is done when the next one is written, so those two are all that is left to send when the program has
 * written everything. The first part is shorter for them. */
#ifndef NOF_MPI_DELTA_PARTS_H
#define NOF_MPI_DELTA_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delta/delta_pages.h"

#define NOF_DELTA_WRITERS \
    16 /* threads that write parts of their own; what more of them write leaves with the end */

enum nof_delta_part {
    NOF_DELTA_PART_UNTOUCHED,
    NOF_DELTA_PART_DONE,
    NOF_DELTA_PART_OPEN, /* and the number of its writer */
    NOF_DELTA_PART_LATE =
        NOF_DELTA_PART_OPEN + NOF_DELTA_WRITERS, /* nobody tells when it is done: with the end */
};

struct nof_delta_parts {
    uintptr_t low, high; /* whole pages */
    size_t part_bytes;
    size_t tail_bytes; /* of the parts that halve: as many pages as a power of two */
    size_t cut_bytes; /* of the first one: what it lacks */
    uint32_t count;
    uint8_t *state; /* enum nof_delta_part, by part; malloc'ed, for the next buffer, too */
    size_t state_room;
};

/* Behind the last one it is the end. */
static inline uintptr_t nof_delta_part_low(const struct nof_delta_parts *p, uint32_t part)
{
    if (part >= p->count)
        return p->high;
    uint32_t behind = p->count - 1 - part;
    if (behind < 32 && NOF_DELTA_PAGE << behind <= p->tail_bytes)
        return p->high - (NOF_DELTA_PAGE << behind);
    return part == 0 ? p->low : p->low + part * p->part_bytes - p->cut_bytes;
}

static inline uintptr_t nof_delta_part_high(const struct nof_delta_parts *p, uint32_t part)
{
    return nof_delta_part_low(p, part + 1);
}

/* Of what lies before all of them, the first; of what lies behind, the count. */
static inline uint32_t nof_delta_part_of(const struct nof_delta_parts *p, uintptr_t address)
{
    if (address >= p->high)
        return p->count;
    size_t behind = (p->high - 1 - address) / NOF_DELTA_PAGE; /* pages */
    if (behind < p->tail_bytes / NOF_DELTA_PAGE)
        return p->count - 1 - (behind == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(behind));
    return address < p->low ? 0 : (uint32_t)((address - p->low + p->cut_bytes) / p->part_bytes);
}

#endif

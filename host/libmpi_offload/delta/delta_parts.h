/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole pages of a buffer, cut into parts of some pages each; of each part, what became of it. The last one is a single page, which is all
 * that is left to send when the program ends the message; the first one is shorter for it. */
#ifndef NOF_MPI_DELTA_PARTS_H
#define NOF_MPI_DELTA_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    size_t cut_bytes; /* of the first one: what it lacks */
    uint32_t count;
    uint8_t *state; /* enum nof_delta_part, by part; malloc'ed, for the next buffer, too */
    size_t state_room;
};

static inline uintptr_t nof_delta_part_low(const struct nof_delta_parts *p, uint32_t part)
{
    return part == 0 ? p->low : p->low + part * p->part_bytes - p->cut_bytes;
}

static inline uintptr_t nof_delta_part_high(const struct nof_delta_parts *p, uint32_t part)
{
    uintptr_t high = nof_delta_part_low(p, part + 1);
    return high < p->high ? high : p->high;
}

/* Of what lies before all of them, the first. */
static inline uint32_t nof_delta_part_of(const struct nof_delta_parts *p, uintptr_t address)
{
    return address < p->low ? 0 : (uint32_t)((address - p->low + p->cut_bytes) / p->part_bytes);
}

#endif

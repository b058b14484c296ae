/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Staging area of one endpoint: payload that the host reads in place or copies out, and gives back
 * with NOF_DESC_RELEASE. The host maps the area read-only; what it says about it (offsets to
 * release) is checked against our own table.
 *
 *   alloc() -> offset, write the bytes, complete with F_STAGED -> RELEASE -> release()
 *
 * Memory: the area is the caller's (in the BAR); the table is in this struct. Cost: alloc looks at
 * a few words of a bitmap, beginning where the last one ended, because slots come back in about
 * the order in which they were given. */
#ifndef NOF_STAGE_CACHE_H
#define NOF_STAGE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#define NOF_STAGE_SLOTS 2048u /* granules that the table can hold */
#define NOF_STAGE_GRANULE_MIN 256u

struct nof_stage {
    uint8_t *area;
    uint32_t granule_shift;
    uint32_t granules;
    uint32_t cursor;
    uint32_t free;
    uint64_t taken[NOF_STAGE_SLOTS / 64];
    uint16_t run[NOF_STAGE_SLOTS]; /* granules of the slot that begins here; 0: none begins */
};

#define NOF_STAGE_NONE UINT32_MAX

void nof_stage_init(struct nof_stage *st, void *area, size_t area_bytes);
/* Offset of len bytes (>= 1) in the area, or NOF_STAGE_NONE. */
uint32_t nof_stage_alloc(struct nof_stage *st, uint32_t len_bytes);
/* 1, or 0 if no slot begins at this offset. */
int nof_stage_release(struct nof_stage *st, uint32_t offset);

#endif

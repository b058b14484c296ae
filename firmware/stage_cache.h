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
    uint32_t granule_bytes;
    uint32_t granules;
    uint32_t cursor; /* < granules, or 0 */
    uint32_t free;
    uint64_t taken[NOF_STAGE_SLOTS / 64]; /* also what lies beyond the area */
    uint16_t run[NOF_STAGE_SLOTS]; /* granules of the slot that begins here; 0: none begins */
};

#define NOF_STAGE_NONE UINT32_MAX

void nof_stage_init(struct nof_stage *st, void *area, size_t area_bytes);
/* Any slot, wherever there is room; as nof_stage_alloc(). */
uint32_t nof_stage_search(struct nof_stage *st, uint32_t len_bytes);
/* Mark n granules that lie in several words. */
void nof_stage_mark(struct nof_stage *st, uint32_t at, uint32_t n, int taken);

/* The granules [at, at + n), n >= 1, as bits of one word; 0: they lie in several. */
static inline uint64_t nof_stage_bits(uint32_t at, uint32_t n)
{
    return at % 64 + n <= 64 ? (UINT64_MAX >> (64 - n)) << (at % 64) : 0;
}

/* Offset of len bytes (>= 1) in the area, or NOF_STAGE_NONE. Inline: one granule, where the last slot
 * ended. */
static inline uint32_t nof_stage_alloc(struct nof_stage *st, uint32_t len_bytes)
{
    uint32_t at = st->cursor;
    uint64_t bit = 1ull << (at % 64);
    if (len_bytes > st->granule_bytes || (st->taken[at / 64] & bit) != 0)
        return nof_stage_search(st, len_bytes);
    st->taken[at / 64] |= bit;
    st->run[at] = 1;
    st->free--;
    st->cursor = at + 1 == st->granules ? 0 : at + 1;
    return at << st->granule_shift;
}

/* 1, or 0 if no slot begins at this offset. */
static inline int nof_stage_release(struct nof_stage *st, uint32_t offset)
{
    uint32_t at = offset >> st->granule_shift;
    if (at >= st->granules || at << st->granule_shift != offset || st->run[at] == 0)
        return 0;
    uint32_t n = st->run[at];
    uint64_t bits = n == 1 ? 1ull << (at % 64) : nof_stage_bits(at, n);
    st->run[at] = 0;
    if (bits != 0)
        st->taken[at / 64] &= ~bits;
    else
        nof_stage_mark(st, at, n, 0);
    st->free += n;
    return 1;
}

#endif

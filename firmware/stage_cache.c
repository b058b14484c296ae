/* SPDX-License-Identifier: BSD-3-Clause */
#include "stage_cache.h"

#include <string.h>

void nof_stage_init(struct nof_stage *st, void *area, size_t area_bytes)
{
    memset(st, 0, sizeof *st);
    st->area = area;
    uint32_t granule = NOF_STAGE_GRANULE_MIN;
    st->granule_shift = 8;
    while (area_bytes / granule > NOF_STAGE_SLOTS) {
        granule <<= 1;
        st->granule_shift++;
    }
    st->granules = (uint32_t)(area_bytes / granule);
    st->free = st->granules;
}

static int is_taken(const struct nof_stage *st, uint32_t g)
{
    return (int)(st->taken[g / 64] >> (g % 64) & 1);
}

/* First granule of a free run of n in [from, to), or NONE. */
static uint32_t find_run(const struct nof_stage *st, uint32_t from, uint32_t to, uint32_t n)
{
    uint32_t length = 0;
    for (uint32_t g = from; g < to; g++) {
        if (st->taken[g / 64] == UINT64_MAX) {
            length = 0;
            g |= 63;
            continue;
        }
        length = is_taken(st, g) ? 0 : length + 1;
        if (length == n)
            return g + 1 - n;
    }
    return NOF_STAGE_NONE;
}

/* The granules [at, at + n), as the bits of one word; 0: they lie in several. */
static uint64_t in_one_word(uint32_t at, uint32_t n)
{
    return at % 64 + n <= 64 ? (UINT64_MAX >> (64 - n)) << (at % 64) : 0;
}

static void set_taken(struct nof_stage *st, uint32_t at, uint32_t n, int taken)
{
    uint64_t bits = in_one_word(at, n);
    if (bits != 0) {
        st->taken[at / 64] ^= bits;
        return;
    }
    for (uint32_t g = at; g < at + n; g++)
        st->taken[g / 64] = (st->taken[g / 64] & ~(1ull << (g % 64))) | (uint64_t)(taken != 0) << (g % 64);
}

/* First granule of n free ones, at best where the last slot ended. */
static uint32_t find_slot(const struct nof_stage *st, uint32_t n)
{
    uint64_t bits = in_one_word(st->cursor, n);
    if (bits != 0 && (st->taken[st->cursor / 64] & bits) == 0 && st->cursor + n <= st->granules)
        return st->cursor;
    uint32_t at = find_run(st, st->cursor, st->granules, n);
    if (at != NOF_STAGE_NONE || st->cursor == 0)
        return at;
    uint32_t to = st->cursor + n - 1;
    return find_run(st, 0, to < st->granules ? to : st->granules, n);
}

uint32_t nof_stage_alloc(struct nof_stage *st, uint32_t len_bytes)
{
    uint32_t n = (len_bytes + (1u << st->granule_shift) - 1) >> st->granule_shift;
    uint32_t at = n <= st->free && n <= UINT16_MAX ? find_slot(st, n) : NOF_STAGE_NONE;
    if (at == NOF_STAGE_NONE)
        return NOF_STAGE_NONE;
    set_taken(st, at, n, 1);
    st->run[at] = (uint16_t)n;
    st->free -= n;
    st->cursor = at + n == st->granules ? 0 : at + n;
    return at << st->granule_shift;
}

int nof_stage_release(struct nof_stage *st, uint32_t offset)
{
    uint32_t at = offset >> st->granule_shift;
    if (at >= st->granules || at << st->granule_shift != offset || st->run[at] == 0)
        return 0;
    uint32_t n = st->run[at];
    st->run[at] = 0;
    set_taken(st, at, n, 0);
    st->free += n;
    return 1;
}

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

uint32_t nof_stage_search(const struct nof_stage *st, uint32_t n)
{
    uint32_t at = find_run(st, st->cursor, st->granules, n);
    if (at != NOF_STAGE_NONE || st->cursor == 0)
        return at;
    uint32_t to = st->cursor + n - 1;
    return find_run(st, 0, to < st->granules ? to : st->granules, n);
}

void nof_stage_mark(struct nof_stage *st, uint32_t at, uint32_t n, int taken)
{
    for (uint32_t g = at; g < at + n; g++)
        st->taken[g / 64] = (st->taken[g / 64] & ~(1ull << (g % 64))) | (uint64_t)(taken != 0) << (g % 64);
}

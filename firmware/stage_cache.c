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
    st->granule_bytes = granule;
    st->granules = (uint32_t)(area_bytes / granule);
    st->free = st->granules;
    nof_stage_mark(st, st->granules, NOF_STAGE_SLOTS - st->granules, 1);
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

/* A free run of n granules, first from where the last slot ended. */
static uint32_t find_room(const struct nof_stage *st, uint32_t n)
{
    uint32_t at = find_run(st, st->cursor, st->granules, n);
    if (at != NOF_STAGE_NONE || st->cursor == 0)
        return at;
    uint32_t to = st->cursor + n - 1;
    return find_run(st, 0, to < st->granules ? to : st->granules, n);
}

uint32_t nof_stage_search(struct nof_stage *st, uint32_t len_bytes)
{
    uint32_t n = (len_bytes + st->granule_bytes - 1) >> st->granule_shift;
    uint32_t at = st->cursor;
    if (n > st->free || n > UINT16_MAX)
        return NOF_STAGE_NONE;
    uint64_t bits = nof_stage_bits(at, n);
    if (bits == 0 || (st->taken[at / 64] & bits) != 0) {
        at = find_room(st, n);
        if (at == NOF_STAGE_NONE)
            return NOF_STAGE_NONE;
    }
    nof_stage_mark(st, at, n, 1);
    st->run[at] = (uint16_t)n;
    st->free -= n;
    st->cursor = at + n == st->granules ? 0 : at + n;
    return at << st->granule_shift;
}

void nof_stage_mark(struct nof_stage *st, uint32_t at, uint32_t n, int taken)
{
    uint64_t bits = n > 0 ? nof_stage_bits(at, n) : 0;
    if (bits != 0)
        st->taken[at / 64] = (st->taken[at / 64] & ~bits) | (taken ? bits : 0);
    for (uint32_t g = at; bits == 0 && g < at + n; g++)
        st->taken[g / 64] = (st->taken[g / 64] & ~(1ull << (g % 64))) | (uint64_t)(taken != 0) << (g % 64);
}

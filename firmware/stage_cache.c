/* SPDX-License-Identifier: BSD-3-Clause */
#include "stage_cache.h"

#include <string.h>

#include "base/invariant.h"

void nof_stage_init(struct nof_stage *st, void *area, size_t area_bytes)
{
    memset(st, 0, sizeof *st);
    st->area = area;
    uint32_t granule = NOF_STAGE_GRANULE_MIN;
    st->granule_shift = 8;
    /* bound: doublings up to the area; paid by set-up */
    while (area_bytes / granule > NOF_STAGE_SLOTS) {
        granule <<= 1;
        st->granule_shift++;
    }
    st->granule_bytes = granule;
    st->granules = (uint32_t)(area_bytes / granule);
    st->free = st->granules;
    nof_stage_mark(st, st->granules, NOF_STAGE_SLOTS - st->granules, true);
}

static int is_taken(const struct nof_stage *st, uint32_t g)
{
    return (int)(st->taken[g / 64] >> (g % 64) & 1);
}

/* First granule of a free run of n in [from, to), or NONE. */
static uint32_t find_run(const struct nof_stage *st, uint32_t from, uint32_t to, uint32_t n)
{
    uint32_t length = 0;
    /* bound: granules of the staging area, by words of 64; paid by the endpoint's message */
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
    nof_stage_mark(st, at, n, true);
    st->run[at] = (uint16_t)n;
    st->free -= n;
    st->cursor = at + n == st->granules ? 0 : at + n;
    return at << st->granule_shift;
}

void nof_stage_mark(struct nof_stage *st, uint32_t at, uint32_t n, bool taken)
{
    uint64_t bits = n > 0 ? nof_stage_bits(at, n) : 0;
    if (bits != 0)
        st->taken[at / 64] = (st->taken[at / 64] & ~bits) | (taken ? bits : 0);
    /* bound: granules of one slot; paid by the endpoint's message */
    for (uint32_t g = at; bits == 0 && g < at + n; g++)
        st->taken[g / 64] = (st->taken[g / 64] & ~(1ull << (g % 64))) | (uint64_t)(taken != 0) << (g % 64);
}

static uint32_t granules_of(const struct nof_stage *st, uint32_t len_bytes)
{
    return (len_bytes + st->granule_bytes - 1) >> st->granule_shift;
}

uint32_t nof_stage_open(struct nof_stage *st, const struct nof_message_id *id, uint32_t network,
                        uint32_t len_bytes, uint64_t due, uint32_t limit_bytes)
{
    if (st->lines == NOF_STAGE_LINES || len_bytes > limit_bytes)
        return NOF_STAGE_NONE;
    uint32_t room = granules_of(st, len_bytes) << st->granule_shift;
    if (room > limit_bytes || st->line_bytes > limit_bytes - room)
        return NOF_STAGE_NONE;
    uint32_t offset = nof_stage_alloc(st, len_bytes);
    if (offset == NOF_STAGE_NONE)
        return NOF_STAGE_NONE;
    uint32_t i = 0;
    /* bound: NOF_STAGE_LINES, 64; paid by the endpoint's message */
    while (st->line[i].bytes != 0)
        i++;
    st->line[i] = (struct nof_stage_line){.id = *id,
                                          .network = network,
                                          .process = NOF_STAGE_NONE,
                                          .offset = offset,
                                          .bytes = len_bytes,
                                          .due = due,
                                          .used = st->clock++};
    st->lines++;
    st->line_bytes += room;
    return i;
}

/* Receives between now and the one that is predicted to take the line. */
static uint64_t distance(uint64_t due, uint64_t now)
{
    return due == NOF_STAGE_NEVER || due <= now ? NOF_STAGE_NEVER : due - now;
}

static uint32_t least_recent(const struct nof_stage *st)
{
    uint32_t best = NOF_STAGE_NONE;
    for (uint32_t i = 0; i < NOF_STAGE_LINES; i++) {
        const struct nof_stage_line *l = &st->line[i];
        if (l->bytes != 0 && l->process != NOF_STAGE_NONE &&
            (best == NOF_STAGE_NONE || l->used < st->line[best].used))
            best = i;
    }
    return best;
}

static uint32_t furthest(const struct nof_stage *st, uint64_t now, uint64_t due)
{
    uint32_t best = NOF_STAGE_NONE;
    uint64_t most = distance(due, now);
    for (uint32_t i = 0; i < NOF_STAGE_LINES; i++) {
        const struct nof_stage_line *l = &st->line[i];
        if (l->bytes == 0 || l->process != NOF_STAGE_NONE || distance(l->due, now) <= most)
            continue;
        most = distance(l->due, now);
        best = i;
    }
    return best;
}

uint32_t nof_stage_victim(const struct nof_stage *st, enum nof_stage_policy policy, uint64_t now,
                          uint64_t due)
{
    if (st->lines == 0)
        return NOF_STAGE_NONE;
    uint32_t line = policy == NOF_STAGE_BOUND_FIRST ? least_recent(st) : furthest(st, now, due);
    if (line != NOF_STAGE_NONE)
        return line;
    return policy == NOF_STAGE_BOUND_FIRST ? furthest(st, now, due) : least_recent(st);
}

void nof_stage_remap(struct nof_stage *st, uint32_t line, uint32_t process)
{
    nof_invariant(line < NOF_STAGE_LINES && st->line[line].bytes != 0 &&
                  st->line[line].process == NOF_STAGE_NONE);
    st->line[line].process = process;
    st->line[line].network = NOF_STAGE_NONE;
    st->line[line].used = st->clock++;
}

uint32_t nof_stage_give(struct nof_stage *st, uint32_t line)
{
    nof_invariant(line < NOF_STAGE_LINES && st->line[line].bytes != 0);
    struct nof_stage_line *l = &st->line[line];
    st->line_bytes -= granules_of(st, l->bytes) << st->granule_shift;
    st->lines--;
    l->bytes = 0;
    return l->offset;
}

void nof_stage_close(struct nof_stage *st, uint32_t line)
{
    nof_stage_release(st, nof_stage_give(st, line));
}

bool nof_stage_is_line(const struct nof_stage *st, uint32_t offset)
{
    for (uint32_t i = 0; st->lines > 0 && i < NOF_STAGE_LINES; i++)
        if (st->line[i].bytes != 0 && st->line[i].offset == offset)
            return true;
    return false;
}

uint8_t *nof_stage_touch(struct nof_stage *st, uint32_t line, uint32_t at, uint32_t n)
{
    nof_invariant(line < NOF_STAGE_LINES && at <= st->line[line].bytes && n <= st->line[line].bytes - at);
    st->line[line].used = st->clock++;
    return st->area + st->line[line].offset + at;
}

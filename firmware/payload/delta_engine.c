/* SPDX-License-Identifier: BSD-3-Clause */
#include "payload/delta_engine.h"

#include <stddef.h>

static uint64_t units_of(uint64_t bytes, uint32_t unit_log2)
{
    uint64_t units = (bytes >> unit_log2) + ((bytes & ((1ull << unit_log2) - 1)) != 0);
    return units < NOF_DELTA_UNITS ? units : NOF_DELTA_UNITS;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t nof_delta_extent(const struct nof_delta_taken *taken, uint32_t unit_log2, uint64_t bytes)
{
    /* bound: NOF_DELTA_WORDS, 64; paid by the end of the message */
    for (uint64_t w = NOF_DELTA_WORDS; w > 0; w--) {
        uint64_t word = taken->unit[w - 1];
        if (word != 0)
            return least((w * 64 - (uint64_t)__builtin_clzll(word)) << unit_log2, bytes);
    }
    return 0;
}

/* Units of word w that are ready and not taken, below unit `units`, from unit `from` on. */
static uint64_t open_units(const struct nof_delta_ready *ready, const struct nof_delta_taken *taken,
                           uint64_t w, uint64_t from, uint64_t units)
{
    uint64_t bits = ready == NULL ? UINT64_MAX : __atomic_load_n(&ready->unit[w], __ATOMIC_ACQUIRE);
    bits &= ~taken->unit[w];
    if (from > w * 64)
        bits &= from - w * 64 >= 64 ? 0 : UINT64_MAX << (from - w * 64);
    if (units < (w + 1) * 64)
        bits &= units <= w * 64 ? 0 : (1ull << (units - w * 64)) - 1;
    return bits;
}

/* Takes what is open from unit `unit` on, without a gap; returns where that ends. */
static uint64_t take_run(const struct nof_delta_ready *ready, struct nof_delta_taken *taken, uint64_t unit,
                         uint64_t units)
{
    /* bound: NOF_DELTA_WORDS, 64; paid by the flow's share of the link */
    while (unit < units) {
        uint64_t w = unit / 64;
        uint64_t bits = open_units(ready, taken, w, unit, units) >> unit % 64;
        uint64_t n = bits == UINT64_MAX ? 64 : (uint64_t)__builtin_ctzll(~bits);
        if (n == 0)
            break;
        taken->unit[w] |= (n == 64 ? UINT64_MAX : (1ull << n) - 1) << unit % 64;
        unit += n;
        if (unit % 64 != 0)
            break;
    }
    return unit;
}

/* The first open unit in [from, to), or `to`. */
static uint64_t find(const struct nof_delta_ready *ready, const struct nof_delta_taken *taken, uint64_t from,
                     uint64_t to)
{
    /* bound: NOF_DELTA_WORDS, 64; paid by the flow's share of the link */
    for (uint64_t w = from / 64; w * 64 < to; w++) {
        uint64_t bits = open_units(ready, taken, w, from, to);
        if (bits != 0)
            return w * 64 + (uint64_t)__builtin_ctzll(bits);
    }
    return to;
}

bool nof_delta_next(const struct nof_delta_ready *ready, struct nof_delta_taken *taken, uint32_t unit_log2,
                    uint64_t bytes, uint64_t from, struct nof_delta_run *out)
{
    uint64_t units = units_of(bytes, unit_log2);
    uint64_t start = least(from >> unit_log2, units);
    uint64_t unit = find(ready, taken, start, units);
    if (unit == units) {
        unit = find(ready, taken, 0, start);
        if (unit == start)
            return false;
    }
    uint64_t end = take_run(ready, taken, unit, units);
    *out = (struct nof_delta_run){unit << unit_log2, least(end << unit_log2, bytes)};
    return out->end > out->offset;
}

bool nof_delta_comes(struct nof_delta_taken *came, uint32_t unit_log2, uint64_t at, uint64_t offset,
                     uint64_t n)
{
    uint64_t within = (1ull << unit_log2) - 1;
    if (n == 0)
        return true;
    if (offset != at && (offset & within) != 0)
        return false;
    uint64_t unit = (offset + within) >> unit_log2; /* the one before it has begun to come already */
    uint64_t end = units_of(offset + n, unit_log2);
    /* bound: units of one frame's payload; paid by the flow's bytes */
    for (; unit < end; unit++) {
        if (nof_delta_has(came->unit, unit))
            return false;
        came->unit[unit / 64] |= 1ull << unit % 64;
    }
    return true;
}

static void set(uint64_t *bits, uint64_t from, uint64_t to)
{
    /* bound: NOF_DELTA_WORDS, 64; paid by the flow's bytes */
    for (uint64_t w = from / 64; w * 64 < to; w++) {
        uint64_t mask = UINT64_MAX;
        if (from > w * 64)
            mask &= UINT64_MAX << (from - w * 64);
        if (to < (w + 1) * 64)
            mask &= (1ull << (to - w * 64)) - 1;
        __atomic_store_n(&bits[w], bits[w] | mask, __ATOMIC_RELEASE);
    }
}

void nof_delta_arrives(struct nof_delta_arrival *arrival, uint64_t offset, uint64_t n, uint64_t bytes)
{
    uint32_t log2 = arrival->unit_log2;
    uint64_t end = offset + n;
    uint64_t to = end >= bytes ? units_of(bytes, log2) : end >> log2;
    if (to > offset >> log2)
        set(arrival->unit, offset >> log2, to);
    __atomic_store_n(&arrival->bytes, arrival->bytes + n, __ATOMIC_RELEASE);
}

void nof_delta_arrives_all(struct nof_delta_arrival *arrival, uint64_t bytes)
{
    set(arrival->unit, 0, units_of(bytes, arrival->unit_log2));
    __atomic_store_n(&arrival->bytes, bytes, __ATOMIC_RELEASE);
}

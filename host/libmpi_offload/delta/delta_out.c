/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_out.h"

#include <stdlib.h>
#include <string.h>

#include "delta/delta_count.h"
#include "delta/delta_size.h"

enum { GRAINS = 64, GRAIN_SHIFT = 6, ELEMENT_LOG2_MAX = 3, GROUPS = 1024 };

/* The first has the slots of the board; the others are made as they are needed, and stay. */
struct group {
    struct nof_delta_out out[NOF_DELTA_SLOTS];
    uint64_t taken; /* bits; changed under the lock, read without */
};

static struct group of_board, *groups[GROUPS] = {&of_board};
static struct nof_delta_ready nowhere; /* of sends whose board nobody looks at */

static_assert(NOF_DELTA_SLOTS == 64, "a bit for each slot");

/* NULL behind the last. */
static struct group *group_at(uint32_t number)
{
    return number < GROUPS ? __atomic_load_n(&groups[number], __ATOMIC_ACQUIRE) : NULL;
}

/* A slot that is free. False: there is none. */
static bool find_slot(bool off_board, bool on_board, uint32_t *slot_out)
{
    for (uint32_t g = off_board; g < (on_board ? 1 : GROUPS); g++) {
        if (groups[g] == NULL)
            __atomic_store_n(&groups[g], calloc(1, sizeof(*groups[g])), __ATOMIC_RELEASE);
        if (groups[g] == NULL)
            return false;
        if (~groups[g]->taken == 0)
            continue;
        *slot_out = g * NOF_DELTA_SLOTS + (uint32_t)__builtin_ctzll(~groups[g]->taken);
        return true;
    }
    return false;
}

static void mark_taken(uint32_t slot, bool is_taken)
{
    struct group *group = groups[slot / NOF_DELTA_SLOTS];
    uint64_t bit = 1ull << slot % NOF_DELTA_SLOTS;
    __atomic_store_n(&group->taken, is_taken ? group->taken | bit : group->taken & ~bit, __ATOMIC_RELEASE);
}

static size_t units_of(const struct nof_delta_out *out)
{
    return (out->bytes + ((size_t)1 << out->unit_log2) - 1) >> out->unit_log2;
}

static bool room_for_units(struct nof_delta_out *out)
{
    size_t n = units_of(out);
    if (n > out->unit_room) {
        free(out->unit);
        out->unit = malloc(n * sizeof(*out->unit));
        out->unit_room = out->unit == NULL ? 0 : n;
    }
    if (out->unit == NULL)
        return false;
    memset(out->unit, 0, n * sizeof(*out->unit));
    return true;
}

/* Grains as large as elements, as long as there are enough units. */
static uint32_t least_for(uint32_t align_bytes)
{
    uint32_t log2 = 0;
    while (log2 < ELEMENT_LOG2_MAX && align_bytes >> (log2 + 1) != 0)
        log2++;
    return log2 + GRAIN_SHIFT;
}

struct nof_delta_out *nof_delta_out_take(const struct nof_delta_out_args *args)
{
    uint32_t slot, least = args->least_log2;
    if (args->board == NULL || args->board->host() == NULL ||
        !find_slot(args->board->by_memory, args->on_board, &slot))
        return NULL;
    struct nof_delta_out *out = nof_delta_out_at(slot);
    struct nof_delta_ready *ready = args->board->ready(slot);
    if (args->by_address && least_for(args->align_bytes) > least)
        least = least_for(args->align_bytes);
    uint32_t unit_log2 = nof_delta_unit_log2(args->bytes, least);
    *out = (struct nof_delta_out){.board = args->board,
                                  .ready = ready == NULL ? &nowhere : ready,
                                  .looked_at = ready != NULL,
                                  .base = args->by_address ? (uintptr_t)args->data : 0,
                                  .bytes = args->bytes,
                                  .slot = slot,
                                  .unit_log2 = unit_log2,
                                  .grain_log2 = unit_log2 < GRAIN_SHIFT ? 0 : unit_log2 - GRAIN_SHIFT,
                                  .over = (out->over | 1) + 1,
                                  .begun_ns = nof_lib_now_ns(),
                                  .unit = out->unit,
                                  .unit_room = out->unit_room};
    if (args->by_address && !room_for_units(out))
        return NULL;
    out->delta_bytes = nof_delta_size(args->bytes, 0, NOF_DELTA_CALL_NS, NOF_DELTA_LEAST_BYTES);
    if (ready != NULL)
        memset(ready, 0, sizeof(*ready));
    mark_taken(slot, true);
    return out;
}

void nof_delta_out_publish(struct nof_delta_out *out, MPI_Request handle)
{
    __atomic_store_n(&out->name, nof_lib_bits(handle), __ATOMIC_RELEASE);
}

void nof_delta_out_give(struct nof_delta_out *out)
{
    __atomic_store_n(&out->name, 0, __ATOMIC_RELEASE);
    mark_taken(out->slot, false);
    if (out->slot < NOF_DELTA_SLOTS)
        return;
    free(out->unit);
    out->unit = NULL;
    out->unit_room = 0;
}

struct nof_delta_out *nof_delta_out_at(uint32_t slot)
{
    return &group_at(slot / NOF_DELTA_SLOTS)->out[slot % NOF_DELTA_SLOTS];
}

struct nof_delta_out *nof_delta_out_of(MPI_Request handle)
{
    uint64_t name = nof_lib_bits(handle);
    struct group *group;
    for (uint32_t g = 0; name != 0 && (group = group_at(g)) != NULL; g++) {
        for (uint64_t left = __atomic_load_n(&group->taken, __ATOMIC_ACQUIRE); left != 0; left &= left - 1) {
            struct nof_delta_out *out = &group->out[__builtin_ctzll(left)];
            if (__atomic_load_n(&out->name, __ATOMIC_ACQUIRE) == name)
                return out;
        }
    }
    return NULL;
}

/* What of one unit a range covers. */
struct piece {
    size_t unit;
    uint64_t unit_bytes;
    uint64_t bytes;
    uint64_t whole; /* grains */
    uint64_t part;
};

static struct piece piece_at(const struct nof_delta_out *out, size_t from, size_t to)
{
    size_t unit = from >> out->unit_log2, begin = unit << out->unit_log2;
    size_t end = begin + ((size_t)1 << out->unit_log2);
    if (end > out->bytes)
        end = out->bytes;
    if (to > end)
        to = end;
    struct piece p = {.unit = unit, .unit_bytes = end - begin, .bytes = to - from};
    if (p.bytes == p.unit_bytes) {
        p.whole = UINT64_MAX;
        return p;
    }
    uint32_t log2 = out->grain_log2;
    size_t grain = (size_t)1 << log2, first = (from - begin) >> log2, last = (to - 1 - begin) >> log2;
    p.whole = (UINT64_MAX >> (GRAINS - 1 - (last - first))) << first;
    if (((from - begin) & (grain - 1)) != 0)
        p.part |= 1ull << first;
    if (((to - begin) & (grain - 1)) != 0 && to != end)
        p.part |= 1ull << last;
    p.whole &= ~p.part;
    return p;
}

static bool free_for(const struct nof_delta_out *out, const struct piece *p)
{
    const struct nof_delta_unit *unit = &out->unit[p->unit];
    return (__atomic_load_n(&unit->whole, __ATOMIC_RELAXED) & (p->whole | p->part)) == 0 &&
           (__atomic_load_n(&unit->part, __ATOMIC_RELAXED) & p->whole) == 0 &&
           __atomic_load_n(&unit->bytes, __ATOMIC_RELAXED) + p->bytes <= p->unit_bytes;
}

/* True: all of the unit is ready. The one thread that adds its last bytes has, by the counter, what the others wrote. */
static bool count_piece(struct nof_delta_out *out, const struct piece *p)
{
    struct nof_delta_unit *unit = &out->unit[p->unit];
    __atomic_or_fetch(&unit->whole, p->whole, __ATOMIC_RELAXED);
    if (p->part != 0)
        __atomic_or_fetch(&unit->part, p->part, __ATOMIC_RELAXED);
    return __atomic_add_fetch(&unit->bytes, p->bytes, __ATOMIC_ACQ_REL) == p->unit_bytes;
}

void nof_delta_out_units(struct nof_delta_out *out, size_t first, size_t n)
{
    while (n > 0) {
        size_t at = first % 64, here = n < 64 - at ? n : 64 - at;
        __atomic_or_fetch(&out->ready->unit[first / 64], (UINT64_MAX >> (64 - here)) << at, __ATOMIC_RELEASE);
        first += here;
        n -= here;
    }
}

void nof_delta_out_ring(struct nof_delta_out *out)
{
    if (out->looked_at)
        out->board->ring(out->slot);
}

void nof_delta_out_tell(struct nof_delta_out *out)
{
    if (out->looked_at)
        nof_delta_count(NOF_DELTA_COUNT_INCREMENTS, 1);
    nof_delta_out_ring(out);
}

/* The size of the next increment, from how fast they came so far. */
static void adapt(struct nof_delta_out *out, uint64_t ready_bytes)
{
    uint64_t ns_per_kib = (nof_lib_now_ns() - out->begun_ns) * 1024 / ready_bytes + 1;
    nof_delta_size_learn(ns_per_kib);
    size_t next = nof_delta_size(out->bytes, ns_per_kib, NOF_DELTA_CALL_NS, NOF_DELTA_LEAST_BYTES);
    __atomic_store_n(&out->delta_bytes, next, __ATOMIC_RELAXED);
}

/* When there are so many bytes of `all` that are ready, the NIC is told. Towards the end increments halve: what the last one has is
 * left to send when the program has computed everything. */
static uint64_t enough(const struct nof_delta_out *out, uint64_t all)
{
    uint64_t delta = __atomic_load_n(&out->delta_bytes, __ATOMIC_RELAXED), rest = out->bytes - all;
    uint64_t unit = 1ull << out->unit_log2,
             least = unit < NOF_DELTA_LEAST_BYTES ? NOF_DELTA_LEAST_BYTES : unit;
    least = rest < least ? least : rest;
    return out->watched || delta < least ? delta : least;
}

static void announce(struct nof_delta_out *out, size_t bytes, size_t to)
{
    uint64_t highest = __atomic_load_n(&out->highest, __ATOMIC_RELAXED);
    while (highest < to && !__atomic_compare_exchange_n(&out->highest, &highest, to, true, __ATOMIC_RELAXED,
                                                        __ATOMIC_RELAXED))
        ;
    uint64_t all = __atomic_add_fetch(&out->ready_bytes, bytes, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&out->fresh_bytes, bytes, __ATOMIC_RELAXED) < enough(out, all))
        return;
    __atomic_store_n(&out->fresh_bytes, 0, __ATOMIC_RELAXED);
    nof_delta_out_tell(out);
    if (!out->watched)
        adapt(out, all);
}

static void add_pieces(struct nof_delta_out *out, size_t from, size_t to)
{
    size_t first = 0, n = 0; /* units that are ready, not yet told */
    for (size_t at = from; at < to;) {
        struct piece p = piece_at(out, at, to);
        at += p.bytes;
        if (!count_piece(out, &p))
            continue;
        if (n == 0)
            first = p.unit;
        n = p.unit - first + 1;
    }
    if (out->looked_at)
        nof_delta_count(NOF_DELTA_COUNT_EARLY_BYTES, (uint64_t)n << out->unit_log2);
    nof_delta_out_units(out, first, n);
}

enum nof_delta_out_result nof_delta_out_add(struct nof_delta_out *out, const void *address, size_t bytes)
{
    size_t from = (uintptr_t)address - out->base;
    if (__atomic_load_n(&out->ended, __ATOMIC_RELAXED))
        return NOF_DELTA_OUT_ENDED;
    if (bytes == 0 || out->base == 0)
        return NOF_DELTA_OUT_OK;
    if ((uintptr_t)address < out->base || from > out->bytes || bytes > out->bytes - from)
        return NOF_DELTA_OUT_RANGE;
    for (size_t at = from; at < from + bytes;) {
        struct piece p = piece_at(out, at, from + bytes);
        if (!free_for(out, &p))
            return NOF_DELTA_OUT_OVERLAP;
        at += p.bytes;
    }
    add_pieces(out, from, from + bytes);
    announce(out, bytes, from + bytes);
    return NOF_DELTA_OUT_OK;
}

bool nof_delta_out_end(struct nof_delta_out *out, size_t bytes)
{
    if (__atomic_exchange_n(&out->ended, true, __ATOMIC_RELAXED))
        return false;
    if (out->watched)
        nof_delta_size_learn((nof_lib_now_ns() - out->begun_ns) * 1024 / (bytes + 1) + 1);
    uint64_t open = __atomic_load_n(&out->over, __ATOMIC_RELAXED);
    out->end_bytes = bytes;
    __atomic_store_n(&out->ready->end, 1 + (uint64_t)bytes, __ATOMIC_RELEASE);
    nof_delta_out_tell(out);
    /* From here on the request may go, and the slot be another's. One that is parked stays until it is over: `parked` is set
     * before who is to send it looks for that. */
    (void)__atomic_compare_exchange_n(&out->over, &open, open | 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    return true;
}

void nof_delta_out_end_all(void)
{
    struct group *group;
    for (uint32_t g = 0; (group = group_at(g)) != NULL; g++) {
        for (uint64_t left = group->taken; left != 0; left &= left - 1) {
            struct nof_delta_out *out = &group->out[__builtin_ctzll(left)];
            (void)nof_delta_out_end(out, out->bytes);
        }
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_in.h"

#include <sched.h>
#include <stdlib.h>

#include "nof/status.h"
#include "nof_private/fence.h"

#define POLLS 2000u /* 20 us */
#define POLLS_CROWDED 20u /* those whom we wait for may want this CPU */
#define SLEEP_NS 1000000u /* what else this rank has to do waits no longer */
#define SLEEP_POLLING_NS 50000u /* where what is waited for comes by our polls, or is told there */

enum { GROUPS = 1024 };

/* The first has the slots of the NIC's board; the others are made as they are needed, with boards of their own, and stay. */
struct group {
    struct nof_delta_in in[NOF_DELTA_SLOTS];
    uint64_t taken; /* bits; under the lock */
    uint64_t published; /* changed under the lock, read without */
    struct nof_delta_arrival *own;
};

static struct group of_board, *groups[GROUPS] = {&of_board};
static const struct nof_delta_board *boards; /* of the last one taken: whose words are waited on */
static uint32_t unheard; /* of those published; changed under the lock, read without */

static_assert(NOF_DELTA_SLOTS == 64, "a bit for each slot");

/* NULL behind the last. */
static struct group *group_at(uint32_t number)
{
    return number < GROUPS ? __atomic_load_n(&groups[number], __ATOMIC_ACQUIRE) : NULL;
}

static struct group *new_group(void)
{
    struct group *group = calloc(1, sizeof(*group));
    struct nof_delta_arrival *own = group == NULL ? NULL : calloc(NOF_DELTA_SLOTS, sizeof(*own));
    if (own != NULL) {
        group->own = own;
        return group;
    }
    free(group);
    return NULL;
}

/* A slot that is free. False: there is none. */
static bool find_slot(bool off_board, bool on_board, uint32_t *slot_out)
{
    for (uint32_t g = off_board; g < (on_board ? 1 : GROUPS); g++) {
        if (groups[g] == NULL)
            __atomic_store_n(&groups[g], new_group(), __ATOMIC_RELEASE);
        if (groups[g] == NULL)
            return false;
        if (~groups[g]->taken == 0)
            continue;
        *slot_out = g * NOF_DELTA_SLOTS + (uint32_t)__builtin_ctzll(~groups[g]->taken);
        return true;
    }
    return false;
}

static uint64_t bit_of(const struct nof_delta_in *in)
{
    return 1ull << in->slot % NOF_DELTA_SLOTS;
}

static struct group *group_of(const struct nof_delta_in *in)
{
    return groups[in->slot / NOF_DELTA_SLOTS];
}

static void clear(struct nof_delta_arrival *arrival)
{
    __atomic_store_n(&arrival->state, NOF_DELTA_FREE, __ATOMIC_RELAXED);
    for (size_t i = 0; i < NOF_DELTA_WORDS; i++)
        __atomic_store_n(&arrival->unit[i], 0, __ATOMIC_RELAXED);
}

static struct nof_delta_arrival *own_of(const struct nof_delta_in *in)
{
    return nof_delta_in_on_board(in) ? NULL : &group_of(in)->own[in->slot % NOF_DELTA_SLOTS];
}

struct nof_delta_in *nof_delta_in_take(const struct nof_delta_board *board, const void *base, size_t bytes,
                                       bool on_board)
{
    const struct nof_delta_nic *nic = board == NULL ? NULL : board->nic();
    uint32_t slot;
    if (nic == NULL || !find_slot(board->by_memory, on_board, &slot))
        return NULL;
    struct nof_delta_in *in = nof_delta_in_at(slot);
    in->slot = slot;
    struct nof_delta_arrival *own = own_of(in);
    __atomic_store_n(&in->version, in->version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&in->arrival, own == NULL ? &nic->arrival[slot] : own, __ATOMIC_RELAXED);
    if (own != NULL)
        clear(own);
    __atomic_store_n(&in->base, (uintptr_t)base, __ATOMIC_RELAXED);
    __atomic_store_n(&in->bytes, bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&in->version, in->version + 1, __ATOMIC_RELEASE);
    in->req = NULL;
    in->buf = NULL;
    group_of(in)->taken |= bit_of(in);
    boards = board;
    return in;
}

void nof_delta_in_publish(struct nof_delta_in *in)
{
    struct group *group = group_of(in);
    in->unheard = nof_delta_in_unheard(in);
    __atomic_store_n(&unheard, unheard + in->unheard, __ATOMIC_RELAXED);
    __atomic_store_n(&group->published, group->published | bit_of(in), __ATOMIC_RELEASE);
}

void nof_delta_in_give(struct nof_delta_in *in)
{
    struct group *group = group_of(in);
    __atomic_store_n(&group->published, group->published & ~bit_of(in), __ATOMIC_RELEASE);
    group->taken &= ~bit_of(in);
    __atomic_store_n(&unheard, unheard - in->unheard, __ATOMIC_RELAXED);
    in->unheard = false;
}

struct nof_delta_in *nof_delta_in_at(uint32_t slot)
{
    return &group_at(slot / NOF_DELTA_SLOTS)->in[slot % NOF_DELTA_SLOTS];
}

bool nof_delta_in_is_taken(const struct nof_delta_in *in)
{
    return (group_of(in)->taken & bit_of(in)) != 0;
}

bool nof_delta_in_unheard(struct nof_delta_in *in)
{
    const struct nof_delta_arrival *arrival = __atomic_load_n(&in->arrival, __ATOMIC_RELAXED);
    return !nof_delta_in_on_board(in) ||
           __atomic_load_n(&arrival->state, __ATOMIC_ACQUIRE) == NOF_DELTA_PLAIN;
}

enum nof_delta_state nof_delta_in_state(struct nof_delta_in *in)
{
    uint32_t version = __atomic_load_n(&in->version, __ATOMIC_ACQUIRE);
    const struct nof_delta_arrival *arrival = __atomic_load_n(&in->arrival, __ATOMIC_RELAXED);
    uint32_t state = __atomic_load_n(&arrival->state, __ATOMIC_ACQUIRE);
    if (state == NOF_DELTA_POSTED || state == NOF_DELTA_MATCHED)
        __atomic_store_n(&in->begun, version, __ATOMIC_RELAXED);
    else if (state != NOF_DELTA_DONE || __atomic_load_n(&in->begun, __ATOMIC_RELAXED) != version)
        return NOF_DELTA_FREE;
    return (enum nof_delta_state)state;
}

void nof_delta_in_matched(struct nof_delta_in *in, int world_rank, int tag, size_t bytes, uint32_t unit_log2)
{
    struct nof_delta_arrival *own = own_of(in);
    if (own == NULL)
        return;
    __atomic_store_n(&own->peer, world_rank, __ATOMIC_RELAXED);
    __atomic_store_n(&own->tag, tag, __ATOMIC_RELAXED);
    __atomic_store_n(&own->len, bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&own->unit_log2, unit_log2, __ATOMIC_RELAXED);
    __atomic_store_n(&own->state, NOF_DELTA_MATCHED, __ATOMIC_RELEASE);
}

void nof_delta_in_came(struct nof_delta_in *in, size_t first, size_t n)
{
    struct nof_delta_arrival *own = own_of(in);
    while (own != NULL && n > 0) {
        size_t at = first % 64, here = n < 64 - at ? n : 64 - at;
        __atomic_or_fetch(&own->unit[first / 64], (UINT64_MAX >> (64 - here)) << at, __ATOMIC_RELEASE);
        first += here;
        n -= here;
    }
}

static bool all_units(const struct nof_delta_arrival *arrival, size_t first, size_t last)
{
    for (size_t at = first; at <= last;) {
        size_t bit = at % 64, n = last - at + 1 < 64 - bit ? last - at + 1 : 64 - bit;
        uint64_t want = (UINT64_MAX >> (64 - n)) << bit;
        if ((__atomic_load_n(&arrival->unit[at / 64], __ATOMIC_ACQUIRE) & want) != want)
            return false;
        at += n;
    }
    return true;
}

bool nof_delta_in_units(struct nof_delta_in *in, size_t from, size_t to)
{
    const struct nof_delta_arrival *arrival = __atomic_load_n(&in->arrival, __ATOMIC_RELAXED);
    enum nof_delta_state state = nof_delta_in_state(in);
    if (state != NOF_DELTA_MATCHED && state != NOF_DELTA_DONE)
        return false;
    uint64_t bound = __atomic_load_n(&arrival->len, __ATOMIC_RELAXED);
    uint32_t log2 = __atomic_load_n(&arrival->unit_log2, __ATOMIC_RELAXED);
    if (to > bound)
        to = (size_t)bound;
    if (from >= to)
        return true;
    /* Where the board cannot say it, the end of the message does. */
    return log2 < 64 && (to - 1) >> log2 < NOF_DELTA_UNITS &&
           all_units(arrival, from >> log2, (to - 1) >> log2);
}

enum nof_delta_in_result nof_delta_in_has(struct nof_delta_in *in, size_t from, size_t to)
{
    const struct nof_delta_arrival *arrival = __atomic_load_n(&in->arrival, __ATOMIC_RELAXED);
    enum nof_delta_state state = nof_delta_in_state(in);
    if (state == NOF_DELTA_DONE) {
        int32_t status = __atomic_load_n(&arrival->status, __ATOMIC_RELAXED);
        return status == NOF_OK || status == NOF_ETRUNC ? NOF_DELTA_IN_THERE : NOF_DELTA_IN_FAILED;
    }
    return nof_delta_in_units(in, from, to) ? NOF_DELTA_IN_THERE : NOF_DELTA_IN_WAITS;
}

static enum nof_delta_in_result worse(enum nof_delta_in_result a, enum nof_delta_in_result b)
{
    return a == NOF_DELTA_IN_WAITS || b == NOF_DELTA_IN_WAITS     ? NOF_DELTA_IN_WAITS
           : a == NOF_DELTA_IN_FAILED || b == NOF_DELTA_IN_FAILED ? NOF_DELTA_IN_FAILED
                                                                  : NOF_DELTA_IN_THERE;
}

/* A slot that is taken anew while we look: what we saw is of neither. */
static bool changed(const struct nof_delta_in *in, uint32_t version)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return (version & 1) != 0 || __atomic_load_n(&in->version, __ATOMIC_RELAXED) != version;
}

/* Of the bytes from low to high - 1, those that it receives. */
static enum nof_delta_in_result look(struct nof_delta_in *in, uintptr_t low, uintptr_t high)
{
    uint32_t version = __atomic_load_n(&in->version, __ATOMIC_ACQUIRE);
    uintptr_t base = __atomic_load_n(&in->base, __ATOMIC_RELAXED);
    size_t n = __atomic_load_n(&in->bytes, __ATOMIC_RELAXED);
    uintptr_t from = low > base ? low - base : 0, to = high > base ? high - base : 0;
    if (to > n)
        to = n;
    if (from >= to)
        return NOF_DELTA_IN_THERE;
    enum nof_delta_in_result found = nof_delta_in_has(in, from, to);
    return changed(in, version) ? NOF_DELTA_IN_WAITS : found;
}

enum nof_delta_in_result nof_delta_in_look(const void *address, size_t bytes)
{
    uintptr_t low = (uintptr_t)address;
    enum nof_delta_in_result worst = NOF_DELTA_IN_THERE;
    struct group *group;
    for (uint32_t g = 0; (group = group_at(g)) != NULL; g++)
        for (uint64_t left = __atomic_load_n(&group->published, __ATOMIC_ACQUIRE); left != 0;
             left &= left - 1)
            worst = worse(worst, look(&group->in[__builtin_ctzll(left)], low, low + bytes));
    return worst;
}

struct nof_delta_in *nof_delta_in_find(const void *buf)
{
    struct group *group;
    for (uint32_t g = 0; (group = group_at(g)) != NULL; g++) {
        for (uint64_t left = group->published; left != 0; left &= left - 1) {
            struct nof_delta_in *in = &group->in[__builtin_ctzll(left)];
            if (in->buf == buf)
                return in;
        }
    }
    return NULL;
}

bool nof_delta_in_overlaps(uintptr_t low, uintptr_t high)
{
    struct group *group;
    for (uint32_t g = 0; (group = group_at(g)) != NULL; g++) {
        for (uint64_t left = group->published; left != 0; left &= left - 1) {
            const struct nof_delta_in *in = &group->in[__builtin_ctzll(left)];
            if (in->base < high && low < in->base + in->bytes)
                return true;
        }
    }
    return false;
}

struct nof_delta_in *nof_delta_in_any(void)
{
    struct group *group;
    for (uint32_t g = 0; (group = group_at(g)) != NULL; g++)
        if (group->taken != 0)
            return &group->in[__builtin_ctzll(group->taken)];
    return NULL;
}

static bool polls(const struct nof_delta_pause *pause)
{
    return pause->polls < (nof_lib.crowded ? POLLS_CROWDED : POLLS);
}

bool nof_delta_pause_sleeps(const struct nof_delta_pause *pause)
{
    return !polls(pause);
}

void nof_delta_pause_look(struct nof_delta_pause *pause)
{
    struct nof_delta_host *host = boards == NULL || polls(pause) ? NULL : boards->host();
    if (host == NULL)
        return;
    __atomic_store_n(&host->asleep, 1, __ATOMIC_RELAXED);
    nof_fence_full(); /* with the NIC's, between what it writes and its look at `asleep` */
    pause->seen = __atomic_load_n(&host->wake, __ATOMIC_ACQUIRE);
}

bool nof_delta_pause(struct nof_delta_pause *pause)
{
    if (polls(pause)) {
        pause->polls++;
        if (nof_lib.crowded)
            sched_yield();
        return true;
    }
    bool soon = pause->soon || boards->assisted() || __atomic_load_n(&unheard, __ATOMIC_RELAXED) > 0;
    pause->sleeps++;
    return boards->wait(pause->seen, soon ? SLEEP_POLLING_NS : SLEEP_NS);
}

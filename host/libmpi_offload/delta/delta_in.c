/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_in.h"

#include <sched.h>

#include "nof/status.h"

#define POLLS 2000u /* 20 us */
#define POLLS_CROWDED 20u /* those whom we wait for may want this CPU */
#define SLEEP_NS 1000000u /* what else this rank has to do waits no longer */
#define SLEEP_ASSISTED_NS 50000u /* then the payload itself waits for our polls */

static struct nof_delta_in slots[NOF_DELTA_SLOTS];
static uint64_t taken; /* under the lock */
static uint64_t published; /* bits; changed under the lock, read without */
static const struct nof_delta_board *boards; /* of the last one taken: whose words are waited on */

static_assert(NOF_DELTA_SLOTS == 64, "a bit for each slot");

struct nof_delta_in *nof_delta_in_take(const struct nof_delta_board *board, const void *base, size_t bytes)
{
    const struct nof_delta_nic *nic = board == NULL ? NULL : board->nic();
    if (nic == NULL || ~taken == 0)
        return NULL;
    uint32_t slot = (uint32_t)__builtin_ctzll(~taken);
    struct nof_delta_in *in = &slots[slot];
    __atomic_store_n(&in->version, in->version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&in->begun, false, __ATOMIC_RELAXED);
    __atomic_store_n(&in->arrival, &nic->arrival[slot], __ATOMIC_RELAXED);
    __atomic_store_n(&in->base, (uintptr_t)base, __ATOMIC_RELAXED);
    __atomic_store_n(&in->bytes, bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&in->version, in->version + 1, __ATOMIC_RELEASE);
    in->req = NULL;
    in->buf = NULL;
    taken |= 1ull << slot;
    boards = board;
    return in;
}

uint32_t nof_delta_in_slot(const struct nof_delta_in *in)
{
    return (uint32_t)(in - slots);
}

void nof_delta_in_publish(struct nof_delta_in *in)
{
    __atomic_store_n(&published, published | 1ull << nof_delta_in_slot(in), __ATOMIC_RELEASE);
}

void nof_delta_in_give(struct nof_delta_in *in)
{
    uint64_t bit = 1ull << nof_delta_in_slot(in);
    __atomic_store_n(&published, published & ~bit, __ATOMIC_RELEASE);
    taken &= ~bit;
}

struct nof_delta_in *nof_delta_in_at(uint32_t slot)
{
    return &slots[slot];
}

enum nof_delta_state nof_delta_in_state(struct nof_delta_in *in)
{
    const struct nof_delta_arrival *arrival = __atomic_load_n(&in->arrival, __ATOMIC_RELAXED);
    uint32_t state = __atomic_load_n(&arrival->state, __ATOMIC_ACQUIRE);
    if (state == NOF_DELTA_POSTED || state == NOF_DELTA_MATCHED)
        __atomic_store_n(&in->begun, true, __ATOMIC_RELAXED);
    else if (state != NOF_DELTA_DONE || !__atomic_load_n(&in->begun, __ATOMIC_RELAXED))
        return NOF_DELTA_FREE;
    return (enum nof_delta_state)state;
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

enum nof_delta_in_result nof_delta_in_look(const void *address, size_t bytes)
{
    uintptr_t low = (uintptr_t)address, high = low + bytes;
    enum nof_delta_in_result worst = NOF_DELTA_IN_THERE;
    for (uint64_t left = __atomic_load_n(&published, __ATOMIC_ACQUIRE); left != 0; left &= left - 1) {
        struct nof_delta_in *in = &slots[__builtin_ctzll(left)];
        uint32_t version = __atomic_load_n(&in->version, __ATOMIC_ACQUIRE);
        uintptr_t base = __atomic_load_n(&in->base, __ATOMIC_RELAXED);
        size_t n = __atomic_load_n(&in->bytes, __ATOMIC_RELAXED);
        uintptr_t from = low > base ? low - base : 0, to = high > base ? high - base : 0;
        if (to > n)
            to = n;
        if (from >= to)
            continue;
        enum nof_delta_in_result found = nof_delta_in_has(in, from, to);
        worst = worse(worst, changed(in, version) ? NOF_DELTA_IN_WAITS : found);
    }
    return worst;
}

struct nof_delta_in *nof_delta_in_find(const void *buf)
{
    for (uint64_t left = published; left != 0; left &= left - 1) {
        struct nof_delta_in *in = &slots[__builtin_ctzll(left)];
        if (in->buf == buf)
            return in;
    }
    return NULL;
}

struct nof_delta_in *nof_delta_in_any(void)
{
    return taken == 0 ? NULL : &slots[__builtin_ctzll(taken)];
}

void nof_delta_pause_look(struct nof_delta_pause *pause)
{
    const struct nof_delta_host *host = boards == NULL ? NULL : boards->host();
    if (host != NULL)
        pause->seen = __atomic_load_n(&host->wake, __ATOMIC_ACQUIRE);
}

bool nof_delta_pause(struct nof_delta_pause *pause)
{
    if (pause->polls++ < (nof_lib.crowded ? POLLS_CROWDED : POLLS)) {
        if (nof_lib.crowded)
            sched_yield();
        return true;
    }
    return boards->wait(pause->seen, boards->assisted() ? SLEEP_ASSISTED_NS : SLEEP_NS);
}

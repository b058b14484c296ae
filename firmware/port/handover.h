/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hand-over ring: frames, or what stands for them, from any core to one.
 *
 *   any core     nof_handover_push()                 false: full, and it stays the caller's
 *   its reader   nof_handover_pop(), until nothing waits
 *
 * and back to who owns the memory: a list, which the last holder of a frame puts it on.
 *
 *   any core     nof_handback_push()
 *   its owner    nof_handback_take(): all of them
 *
 * A producer that loses its CPU in the middle of a push holds up nobody: others push behind it, and the reader finds the
 * ring empty until it goes on (rte_ring would have the others spin for its time slice; docs/decisions/0046). Who pushes
 * wakes the reader afterwards, as anybody who fills a queue (nof_private/fence.h).
 *
 * After D. Vyukov's bounded queue: each cell says whose turn it is. Memory: the caller's. No lock, no system call. */
#ifndef NOF_HANDOVER_H
#define NOF_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nof_handover_item {
    void *what;
    uint64_t when_ns; /* the other two are the users' */
    uint64_t tag;
};

struct nof_handover {
    uint32_t mask;
    _Alignas(64) uint64_t tail; /* crosses: next to fill */
    _Alignas(64) uint64_t head; /* the reader's: next to fetch */
    _Alignas(64) struct nof_handover_cell {
        uint64_t turn; /* crosses: its number while empty, one more while full */
        struct nof_handover_item item;
    } cell[];
};

/* slots: a power of two. Bytes, to be aligned to 64. */
static inline size_t nof_handover_bytes(uint32_t slots)
{
    return (sizeof(struct nof_handover) + slots * sizeof(struct nof_handover_cell) + 63) & ~(size_t)63;
}

/* Before anybody else knows of it. */
static inline void nof_handover_init(struct nof_handover *ring, uint32_t slots)
{
    ring->mask = slots - 1;
    ring->tail = ring->head = 0;
    for (uint32_t i = 0; i < slots; i++)
        ring->cell[i].turn = i;
}

static inline bool nof_handover_push(struct nof_handover *ring, const struct nof_handover_item *item)
{
    uint64_t at = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);

    for (;;) {
        struct nof_handover_cell *cell = &ring->cell[at & ring->mask];
        int64_t ahead = (int64_t)(__atomic_load_n(&cell->turn, __ATOMIC_ACQUIRE) - at);

        if (ahead < 0)
            return false;
        if (ahead > 0) {
            at = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
        } else if (__atomic_compare_exchange_n(&ring->tail, &at, at + 1, true, __ATOMIC_RELAXED,
                                               __ATOMIC_RELAXED)) {
            cell->item = *item;
            __atomic_store_n(&cell->turn, at + 1, __ATOMIC_RELEASE);
            return true;
        }
    }
}

/* Reader. */
static inline bool nof_handover_waits(const struct nof_handover *ring)
{
    return __atomic_load_n(&ring->cell[ring->head & ring->mask].turn, __ATOMIC_ACQUIRE) == ring->head + 1;
}

/* Reader. False: nothing waits. */
static inline bool nof_handover_pop(struct nof_handover *ring, struct nof_handover_item *item_out)
{
    struct nof_handover_cell *cell = &ring->cell[ring->head & ring->mask];

    if (!nof_handover_waits(ring))
        return false;
    *item_out = cell->item;
    __atomic_store_n(&cell->turn, ring->head + ring->mask + 1, __ATOMIC_RELEASE);
    ring->head++;
    return true;
}

/* next: where the item keeps whatever is behind it, of no other use until it has been taken. */
static inline void nof_handback_push(void **list, void *item, void **next)
{
    *next = __atomic_load_n(list, __ATOMIC_RELAXED);
    /* bound: items that others put there at the same time; paid by those who do */
    while (!__atomic_compare_exchange_n(list, next, item, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        continue;
}

/* Owner. The latest, behind it all the others; NULL: none. */
static inline void *nof_handback_take(void **list)
{
    if (__atomic_load_n(list, __ATOMIC_RELAXED) == NULL)
        return NULL;
    return __atomic_exchange_n(list, NULL, __ATOMIC_ACQUIRE);
}

#endif

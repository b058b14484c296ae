/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ring placement: struct rte_ring with 64-byte slots, cut by a page boundary exactly before `prod`.
 *
 *      page (memfd RO)                       pages (memfd RW)
 *   ...-----------------+-------------------------------------------------------+
 *        | name, size,  | prod | pad | cons | pad | slot 0 | slot 1 | ...       |
 *        | mask, ...    |      |     |      |     |        |        |           |
 *   ...-----------------+-------------------------------------------------------+
 *        ^ ring         ^ page boundary = ring + NOF_RING_HEAD_BYTES
 *
 * What the other side may not change (size, mask, capacity) ends the read-only page; what both
 * sides write lies behind the boundary. nofd calls rte_ring_init() on it with single producer and
 * single consumer; from then on both sides use only the two bursts below: they are compiled for one
 * producer and one consumer and never look at `sync_type`, which the host can overwrite.
 *
 * Threads: one producer, one consumer, in two processes. Both bursts are non-blocking, O(n).
 * A hostile peer can make a burst return too many or stale slots, never touch memory outside the
 * ring, as long as n <= capacity: nofd must check the indices itself (nof_ring_used()). */
#ifndef NOF_PRIVATE_RING_H
#define NOF_PRIVATE_RING_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Acquire and release instead of bare compiler barriers: the same instructions on x86, right on
 * every other machine, and visible to ThreadSanitizer. */
#ifndef RTE_USE_C11_MEM_MODEL
#define RTE_USE_C11_MEM_MODEL
#endif
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "nof/bar.h"
#include "nof/desc.h"

#define NOF_RING_SLOT_BYTES ((unsigned)NOF_DESC_BYTES)
/* From the page boundary to the first slot. */
#define NOF_RING_INDEX_BYTES (sizeof(struct rte_ring) - NOF_RING_HEAD_BYTES)

static_assert(offsetof(struct rte_ring, prod) == NOF_RING_HEAD_BYTES,
              "the page boundary lies exactly before rte_ring's producer");
static_assert(offsetof(struct rte_ring, size) < NOF_RING_HEAD_BYTES &&
                  offsetof(struct rte_ring, mask) < NOF_RING_HEAD_BYTES &&
                  offsetof(struct rte_ring, capacity) < NOF_RING_HEAD_BYTES,
              "size, mask and capacity are on the read-only page");
static_assert(offsetof(struct rte_ring, cons) > NOF_RING_HEAD_BYTES, "the consumer is on the writable page");
static_assert(sizeof(struct rte_ring) % NOF_RING_SLOT_BYTES == 0,
              "slots follow struct rte_ring and start on a cache line");
static_assert(RTE_CACHE_LINE_SIZE == 64, "the ABI is for 64-byte cache lines");
static_assert(NOF_BAR_PAGE_BYTES % NOF_RING_HEAD_BYTES == 0 && NOF_RING_HEAD_BYTES % 64 == 0,
              "a ring that starts before a page boundary is aligned to a cache line");

/* slots: a power of two; one less can be used. Bytes of writable pages behind the boundary. */
static inline uint64_t nof_ring_rw_bytes(uint32_t slots)
{
    uint64_t bytes = NOF_RING_INDEX_BYTES + (uint64_t)slots * NOF_RING_SLOT_BYTES;

    return (bytes + NOF_BAR_PAGE_BYTES - 1) & ~(uint64_t)(NOF_BAR_PAGE_BYTES - 1);
}

/* Offset of struct rte_ring when its writable pages start at `boundary_offset` (a page boundary
 * with a read-only page before it). */
static inline uint64_t nof_ring_offset(uint64_t boundary_offset)
{
    return boundary_offset - NOF_RING_HEAD_BYTES;
}

/* Whether a ring at `ring_offset` with `capacity` usable slots has its boundary on a page and ends at
 * or before `bar_bytes`: what a host checks before it believes an identity page. */
static inline bool nof_ring_placed(uint64_t ring_offset, uint32_t capacity, uint64_t bar_bytes)
{
    uint64_t boundary = ring_offset + NOF_RING_HEAD_BYTES;

    if (ring_offset > bar_bytes || boundary % NOF_BAR_PAGE_BYTES != 0 || boundary < NOF_BAR_PAGE_BYTES ||
        capacity == 0 || capacity >= (1u << 24) || (capacity & (capacity + 1)) != 0)
        return false;
    return boundary <= bar_bytes && nof_ring_rw_bytes(capacity + 1) <= bar_bytes - boundary;
}

/* Filled slots when the consumer stands at `cons` (the caller's own count when it is the consumer
 * and does not trust the shared one). More than the capacity: the producer's index is a lie. */
static inline uint32_t nof_ring_used(const struct rte_ring *ring, uint32_t cons)
{
    return __atomic_load_n(&ring->prod.tail, __ATOMIC_ACQUIRE) - cons;
}

/* Filled slots when the producer stands at `prod`, as the consumer tells. More than the capacity:
 * the consumer's index is a lie. */
static inline uint32_t nof_ring_unread(const struct rte_ring *ring, uint32_t prod)
{
    return prod - __atomic_load_n(&ring->cons.tail, __ATOMIC_ACQUIRE);
}

/* Copies up to n 64-byte slots in; returns how many. n <= capacity. Producer only. */
static inline unsigned nof_ring_put(struct rte_ring *ring, const void *slots, unsigned n)
{
    return rte_ring_sp_enqueue_burst_elem(ring, slots, NOF_RING_SLOT_BYTES, n, NULL);
}

/* Copies up to n 64-byte slots out; returns how many. n <= capacity. Consumer only. */
static inline unsigned nof_ring_get(struct rte_ring *ring, void *slots_out, unsigned n)
{
    return rte_ring_sc_dequeue_burst_elem(ring, slots_out, NOF_RING_SLOT_BYTES, n, NULL);
}

#endif

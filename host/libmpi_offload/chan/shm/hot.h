/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which lanes a consumer looks at. Of many senders few send at a time: the lanes of those, the hot ones, are polled. The
 * others set their bit in a map when they have published something, so that a poll costs the same for 2 peers and for 256.
 *
 *   sender    publish() -> nof_barrier_light() -> the lane is not hot: nof_hot_tell()
 *   consumer  any word? takes their bits -> takes the bits of each ->
 *             empties those lanes -> nof_hot_place(): one becomes hot, in place of one that has been idle;
 *             that one's word is cleared, then nof_barrier_heavy(), then it is looked at once more
 *
 * Who goes to sleep, and so has all others past a fence anyway, looks no longer at lanes that have brought nothing for NOF_HOT_SLEEPS
 * sleeps: a poll costs what is going on, not what ever was.
 *
 *   consumer  nof_hot_idle() -> nof_hot_leave(), its word is cleared -> nof_barrier_heavy() -> it is looked at once more -> sleep
 *
 * A lane is exchanged only if it has brought nothing among the last NOF_HOT_PATIENCE messages, and no two exchanges are closer
 * than that: it costs a system call.
 *
 * Memory: the caller's. Pure, but for the map. */
#ifndef NOF_MPI_HOT_H
#define NOF_MPI_HOT_H

#include <stdbool.h>
#include <stdint.h>

#include "nof/segment.h"

#define NOF_HOT_LANES 8u
#define NOF_HOT_PATIENCE 256u
#define NOF_HOT_SLEEPS 4u
#define NOF_HOT_NONE UINT32_MAX

/* In the consumer's part: a bit per slot, and one for each word of these that has any. */
struct nof_hot_map {
    uint64_t words;
    uint64_t word[NOF_SEGMENT_SLOTS_MAX / 64];
};
static_assert(NOF_SEGMENT_SLOTS_MAX / 64 <= 64, "a bit for each word");

struct nof_hot {
    uint32_t count;
    uint32_t lane[NOF_HOT_LANES];
    uint32_t last[NOF_HOT_LANES]; /* when it brought a message, counted in messages */
    uint32_t slept[NOF_HOT_LANES]; /* `last`, when its consumer went to sleep last */
    uint8_t sleeps[NOF_HOT_LANES]; /* since it brought one */
    uint32_t now; /* messages so far, modulo 2^32: the wait loop weighs by it, too (base/polling.h) */
    uint32_t exchanged; /* when one was, last */
};

static inline void nof_hot_tell(struct nof_hot_map *map, uint32_t slot)
{
    (void)__atomic_fetch_or(&map->word[slot / 64], 1ull << slot % 64, __ATOMIC_RELEASE);
    (void)__atomic_fetch_or(&map->words, 1ull << slot / 64, __ATOMIC_RELEASE);
}

static inline bool nof_hot_told(const struct nof_hot_map *map)
{
    return __atomic_load_n(&map->words, __ATOMIC_RELAXED) != 0;
}

/* Which words have bits, and the bits of one; they are cleared. Pairs with tell(): what was published before is seen. A word without
 * any is one that was taken before its bit here was set. */
static inline uint64_t nof_hot_take_words(struct nof_hot_map *map)
{
    return __atomic_exchange_n(&map->words, 0, __ATOMIC_ACQUIRE);
}
static inline uint64_t nof_hot_take(struct nof_hot_map *map, uint32_t word)
{
    return __atomic_exchange_n(&map->word[word], 0, __ATOMIC_ACQUIRE);
}

/* The hot lane at this place has brought so many messages. */
static inline void nof_hot_brought(struct nof_hot *hot, uint32_t place, uint32_t messages)
{
    hot->now += messages;
    hot->last[place] = hot->now;
}

/* A lane that is not hot has brought so many. Where it may become so, and which one (NOF_HOT_NONE: nobody) must leave that place;
 * NOF_HOT_NONE: it stays as it is. */
uint32_t nof_hot_place(struct nof_hot *hot, uint32_t slot, uint32_t messages, uint32_t *leaves_out);

/* Once before each sleep: the lane at this place has brought nothing for too many of them. */
bool nof_hot_idle(struct nof_hot *hot, uint32_t place);
/* It is hot no longer. The lane that has its place now; NOF_HOT_NONE: none. */
uint32_t nof_hot_leave(struct nof_hot *hot, uint32_t place);

#endif

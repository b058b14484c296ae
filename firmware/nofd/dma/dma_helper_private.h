/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by dma_helper.c (the core's side) and dma_pool.c (the main thread's). */
#ifndef NOFD_DMA_HELPER_PRIVATE_H
#define NOFD_DMA_HELPER_PRIVATE_H

#include "nofd/dma/dma.h"
#include "nofd/dma/dma_helper.h"
#include "nofd/dma/dma_spawn.h"

#define NOFD_DMA_HELPERS_MAX 8u /* of one user on one core */

/* Our copy of an order: a helper can write what it was given. */
struct nofd_dma_slot {
    enum {
        NOFD_SLOT_POSTED, /* the helper's */
        NOFD_SLOT_STOLEN, /* taken back; still to be given to another */
        NOFD_SLOT_OVER, /* given away, or nobody's any more */
    } state;
    uint32_t what; /* enum nofd_dma_what */
    uint32_t block;
    uint32_t len_bytes;
    struct nofd_dma_rank *rank; /* NULL: gone */
    uint64_t token; /* of the core's request; the probe has none */
    bool probe;
    uint64_t queued_ns; /* first time */
    unsigned nremote;
    unsigned nlocal;
    struct nof_segment remote[NOF_DMA_SEGMENTS_MAX];
    struct nof_buf local[NOF_DMA_SEGMENTS_MAX];
};

enum nofd_dma_helper_life { NOFD_HELPER_RUNS = 0, NOFD_HELPER_DEAD = 1 };

struct nofd_dma_helper {
    struct nofd_dma_process process; /* first member: the loop's watch */

    /* Core. */
    uint32_t posted;
    uint32_t rung; /* posted, when the bell was last rung */
    uint32_t retired;
    uint32_t free_blocks; /* bit per block; the lowest is taken first, so that few are in the cache */
    uint64_t head_since_ns; /* when the oldest slot became the oldest */
    bool stuck;
    bool killed;
    struct nofd_dma_slot slots[NOFD_DMA_SLOTS];

    int life; /* crosses: enum nofd_dma_helper_life */

    /* Main thread. */
    struct nofd_dma_pool *pool; /* NULL: put */
    struct nofd_dma_crew *crew;
    struct nofd_dma_helper *next; /* all of the crew */
    unsigned number; /* bit in the ranks' words */
};

struct nofd_dma_pool {
    struct nofd_dma_crew *crew;
    struct nofd_dma_pools *pools; /* whose it is one of */
    struct nofd_lcore *lcore; /* their core's */
    struct nofd_dma_user user;
    uint64_t timeout_ns;
    unsigned normal_helpers; /* as many as may run without any being stuck */

    /* Core; main adds by a call. */
    struct nofd_dma_helper *helpers[NOFD_DMA_HELPERS_MAX];
    unsigned nhelpers;
    unsigned nstolen; /* STOLEN slots in all helpers */
    unsigned nprobes; /* ranks with probe_wanted */
    uint64_t starved_since_ns; /* no helper for a request since; 0: not */
    uint64_t starved_last_ns; /* the last that found none */
    struct nofd_dma_rank *ranks[NOFD_DMA_RANKS];
    unsigned nranks; /* all places from here on are free */

    /* Crosses. */
    int wants_helper; /* core to main */
    struct nofd_dma_helper *dead; /* core to main: drained, to be freed */
    int useless; /* main to core: helpers cannot start, and more would not either */

    /* Main thread. */
    struct nofd_dma_pool *next; /* all of the crew */
    unsigned references; /* ranks */
    uint32_t numbers; /* bit i: a helper has that number */
    uint32_t generation; /* of the last rank */
    uint64_t started_ns; /* the last helper */
    uint64_t unused_ns; /* since when, without references */
    bool short_said; /* that a helper could not be started for want of something */
};

/* On the core: the helper is the pool's; a rank is, and its probe wanted; a rank is nobody's any more. */
void nofd_dma_helper_join(struct nofd_dma_pool *pool, struct nofd_dma_helper *helper);
void nofd_dma_rank_join(struct nofd_dma_rank *rank);
void nofd_dma_rank_forget(struct nofd_dma_rank *rank);

#endif

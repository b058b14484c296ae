/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DMA helpers of a shared daemon: per NIC core and user a pool of processes that copy with the user's ids and share
 * nothing with us but a ring and a window for payload (dma_ring.h), so that the kernel checks every access, a page that
 * blocks (a userfaultfd, a FUSE file) holds up a helper and never the NIC, and no number of a dead rank ever leads to
 * our own memory.
 *
 *   main:   nofd_dma_rank_open()  -> the user's pool, its helper, and a probe of 8 bytes of the rank's memory
 *   core:   copy()                -> order of the rank's helper; a write's payload goes into the window
 *   helper:                          copies, if the rank's process lives before and after
 *   core:   a turn of its source   -> orders that the helper passed, in order: a read's payload goes from the window into
 *                                    the frames, with its sums; nof_nic_dma_done()
 *
 * When a helper does not come on for STUCK_NS, the core takes back what it has not claimed and gives that of all *other*
 * ranks to another helper; the rank whose page blocks waits, and after the pool's timeout it fails and the helper is
 * killed. Helpers are started by the main thread on the core's request, so many a second at most.
 *
 * Threads: open, close and look on the main thread; helpers, sources and copies on the core. */
#ifndef NOFD_DMA_HELPER_H
#define NOFD_DMA_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "nof/port.h"

#include "nofd/sys/lcore.h"
#include "nofd/sys/loop.h"
#include "nofd/sys/source.h"
#include "nofd/sys/ticks.h"

struct nofd_dma_helper;
struct nofd_dma_memory;
struct nofd_dma_pool;

#define NOFD_DMA_POOLS_MAX 256u

/* Of one NIC core: the users whose memory it copies. The core's; main changes the list by errands. */
struct nofd_dma_pools {
    struct nofd_source source; /* results, before the NICs */
    struct nofd_source bells; /* after them */
    struct nofd_lcore *lcore;
    struct nofd_dma_pool *pool[NOFD_DMA_POOLS_MAX];
    unsigned n;
    unsigned first; /* of this turn */
};

/* All helpers of the daemon. Main thread. */
struct nofd_dma_crew {
    struct nofd_loop *loop;
    struct nofd_ticks *ticks;
    struct nofd_tick tick;
    uint64_t timeout_ns; /* a rank whose memory blocks a copy longer fails */
    struct nofd_dma_helper *helpers; /* until their processes have ended */
    struct nofd_dma_pool *pools; /* of all cores */
};

/* Somebody whose memory helpers copy. The core's but for the first four. */
struct nofd_dma_rank {
    struct nofd_dma_pool *pool;
    pid_t pid; /* of the process of `pidfd`, in our PID namespace */
    int pidfd; /* its own */
    uint32_t index; /* in the helpers' tables */
    uint32_t generation;
    uint32_t known_by; /* bit i: helper i holds a pidfd of this very process */
    uint32_t asked; /* bit i: it has been told to */
    int failed; /* negative nof_status: no copies any more */
    struct nofd_dma_helper *helper; /* that serves it; NULL: any */
    struct nofd_dma_memory *memory; /* its endpoint's; NULL until the probe has ended */
    bool probe_wanted; /* not yet with a helper */
    uint64_t probe_addr;
    uint64_t probe_value;
    uint64_t probe_read;
    int probe_done; /* crosses; main is told */
    int probe_status; /* valid when done */
};

/* For the process of `pidfd`, which stays the caller's. Begins the probe: 8 bytes at probe_addr that must be probe_value. NULL: no
 * helper for that user, or no room: then it copies itself. */
struct nofd_dma_rank *nofd_dma_rank_open(struct nofd_dma_crew *crew, struct nofd_dma_pools *pools,
                                         const struct ucred *who, int pidfd, uint64_t probe_addr,
                                         uint64_t probe_value);
/* Once its endpoint is GONE, or it never had one. What is under way for it ends without a word. */
void nofd_dma_rank_close(struct nofd_dma_rank *rank);

void nofd_dma_crew_init(struct nofd_dma_crew *crew, struct nofd_loop *loop, struct nofd_ticks *ticks,
                        uint64_t timeout_ns);
/* A core has news: starts helpers that it asked for, frees dead ones, ends pools that nobody has used for a while. */
void nofd_dma_crew_look(struct nofd_dma_crew *crew);
/* Before the cores go: all helpers are killed and reaped. No rank is open. */
void nofd_dma_crew_end(struct nofd_dma_crew *crew);

/* Main thread, before the core runs. */
void nofd_dma_pools_init(struct nofd_dma_pools *pools, struct nofd_lcore *lcore);
/* Helpers that live, for status. On the core. */
unsigned nofd_dma_pools_helpers(const struct nofd_dma_pools *pools);

#endif

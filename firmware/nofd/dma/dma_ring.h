/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the daemon and one of its DMA helpers (helper/helper.c) share, and all that they share: one memfd with this
 * ring and a window for payload, and an eventfd that wakes the core. A helper belongs to its user, who may kill or stop
 * it at any instruction, so:
 *
 *   - no lock; a ring of orders with one writer per index, and an order changes hands by compare-and-swap
 *   - the daemon keeps its own copy of all that it wrote, believes of this memory only `taken`, `state` and `status`,
 *     and those only within their ranges
 *   - payload passes through the window, whose blocks the daemon hands out; nothing of another user's is mapped
 *
 *   core:   KNOW pid                -> helper opens a pidfd; the core looks at its own, held since the attach: if that
 *                                      process lives still, both are the same
 *           READ or WRITE: QUEUED   -> CLAIMED; alive? copy between window and rank; alive? -> DONE, taken++
 *           QUEUED -> STOLEN           passed without a copy
 *
 * Known to the daemon and the helper program alone; both come from one build. */
#ifndef NOFD_DMA_RING_H
#define NOFD_DMA_RING_H

#include <assert.h>
#include <stdint.h>

#include "nof/port.h"

#define NOFD_DMA_MAGIC 0x3130414d44464f4eull /* "NOFDMA01" */
#define NOFD_DMA_SLOTS 16u /* orders, and blocks of the window; a power of two, at most 32 */
#define NOFD_DMA_RANKS 1024u /* that a helper knows at a time */

/* The helper's descriptors; 0 to 2 are /dev/null. */
#define NOFD_DMA_FD_RING 3
#define NOFD_DMA_FD_WAKE 4

enum nofd_dma_what { NOFD_DMA_KNOW = 1, NOFD_DMA_READ, NOFD_DMA_WRITE };

enum nofd_dma_order_state {
    NOFD_ORDER_QUEUED = 1, /* the helper's to claim, the core's to steal */
    NOFD_ORDER_CLAIMED,
    NOFD_ORDER_DONE, /* status is valid */
    NOFD_ORDER_STOLEN, /* the core's */
};

struct nofd_dma_order {
    uint32_t state; /* crosses */
    int32_t status; /* of DONE: NOF_OK, NOF_EFAULT, NOF_EPERM, NOF_EPEERDEAD */
    uint32_t what; /* enum nofd_dma_what */
    uint32_t rank; /* place in the helper's table */
    uint32_t generation; /* of that place */
    int32_t pid; /* KNOW only */
    uint32_t block; /* of the window */
    uint32_t len_bytes; /* at most NOF_DMA_BLOCK_BYTES */
    uint32_t nremote; /* at most NOF_DMA_SEGMENTS_MAX */
    uint32_t reserved;
    struct nof_segment remote[NOF_DMA_SEGMENTS_MAX];
};

struct nofd_dma_ring {
    /* Before the helper starts. */
    uint64_t magic;
    uint64_t caps; /* it keeps these in its permitted set, and none in its effective one */
    uint32_t uid;
    uint32_t gid;
    int32_t nofd_pid;

    /* The core writes. */
    uint32_t posted __attribute__((aligned(64))); /* orders given */
    uint32_t bell; /* futex, shared */
    uint32_t stop;
    uint32_t core_asleep; /* 1: write the eventfd after taken++ */

    /* The helper writes. */
    uint32_t taken __attribute__((aligned(64))); /* orders passed */
    uint32_t asleep;

    struct nofd_dma_order orders[NOFD_DMA_SLOTS] __attribute__((aligned(64)));
};

#define NOFD_DMA_WINDOW_OFFSET ((sizeof(struct nofd_dma_ring) + 4095) & ~(size_t)4095)
#define NOFD_DMA_RING_BYTES (NOFD_DMA_WINDOW_OFFSET + NOFD_DMA_SLOTS * (size_t)NOF_DMA_BLOCK_BYTES)

static_assert(NOFD_DMA_SLOTS <= 32 && (NOFD_DMA_SLOTS & (NOFD_DMA_SLOTS - 1)) == 0, "blocks fit a word");

/* How a helper that could not start says why. */
enum nofd_dma_exit {
    NOFD_DMA_EXIT_STOP = 0, /* told to */
    NOFD_DMA_EXIT_RING = 10, /* not this build's ring */
    NOFD_DMA_EXIT_IDS, /* the user's ids cannot be taken on */
    NOFD_DMA_EXIT_CLOSED, /* the kernel does not let it shut itself in */
    NOFD_DMA_EXIT_ORPHAN, /* the daemon ended meanwhile */
};

#endif

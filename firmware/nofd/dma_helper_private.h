/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by dma_helper.c (the core's side) and dma_helper_run.c (the helper and the main thread). */
#ifndef NOFD_DMA_HELPER_PRIVATE_H
#define NOFD_DMA_HELPER_PRIVATE_H

#include "dma.h"
#include "dma_helper.h"

#define NOFD_DMA_SLOTS 32u /* of one helper; a power of two */
#define NOFD_DMA_HELPERS_MAX 8u /* of one user on one core */

enum nofd_dma_slot_state {
    NOFD_SLOT_QUEUED = 1, /* the helper's to claim, the core's to steal */
    NOFD_SLOT_CLAIMED, /* being copied */
    NOFD_SLOT_DONE, /* status is valid */
    NOFD_SLOT_STOLEN, /* the core's; still to be given to another helper */
    NOFD_SLOT_SKIP, /* nobody's: given away */
};

struct nofd_dma_slot {
    uint32_t state; /* crosses */
    int status;
    bool write;
    pid_t pid;
    unsigned nremote;
    unsigned nlocal;
    uint64_t token;
    uint64_t queued_ns; /* first time */
    struct nofd_endpoint *ep; /* the core's business only */
    struct nof_segment remote[NOF_DMA_SEGMENTS_MAX];
    struct nof_buf local[NOF_DMA_SEGMENTS_MAX];
};

enum nofd_dma_helper_life { NOFD_HELPER_RUNS = 0, NOFD_HELPER_DEAD = 1 };

struct nofd_dma_helper {
    /* Core. */
    uint32_t posted; /* crosses: slots given, by the core */
    uint32_t retired;
    uint64_t head_since_ns; /* when the oldest slot became the oldest */
    bool stuck;

    /* Helper. */
    uint32_t taken __attribute__((aligned(64))); /* crosses: slots passed, by the helper */
    uint32_t asleep; /* crosses */
    uint32_t bell; /* crosses: futex, rung by the core */
    int stop; /* crosses */
    int life; /* crosses: enum nofd_dma_helper_life */
    int owners; /* crosses: two, its thread and the pool */
    struct nofd_core *core;

    struct nofd_dma_slot slots[NOFD_DMA_SLOTS];
};

struct nofd_dma_pool {
    struct nofd_core *core;
    uid_t uid;
    gid_t gid;
    uint64_t timeout_ns;
    unsigned normal_helpers; /* as many as may run without any being stuck */
    unsigned references; /* main thread */

    /* Core; main adds by a call. */
    struct nofd_dma_helper *helpers[NOFD_DMA_HELPERS_MAX];
    unsigned nhelpers;
    unsigned nstolen; /* STOLEN slots in all helpers */
    uint64_t starved_since_ns; /* no helper for a request since; 0: not */

    /* Crosses. */
    int wants_helper; /* core to main */
    struct nofd_dma_helper *dead; /* core to main: drained, to be freed */
};

/* A running helper, or NULL. Main thread. */
struct nofd_dma_helper *nofd_dma_helper_start(struct nofd_dma_pool *pool);
/* Stop it; its memory goes when its thread has ended, too. */
void nofd_dma_helper_put(struct nofd_dma_helper *helper);
/* Core: rings the bell after `posted` has moved. */
void nofd_dma_helper_ring(struct nofd_dma_helper *helper);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stand-ins for tests of the daemon's DMA helpers (dma_helper.c, dma_pool.c): processes that are rings in our own memory,
 * which the test serves itself, and an lcore whose errands are done at once. */
#ifndef NOF_TESTS_FAKE_PROCESS_H
#define NOF_TESTS_FAKE_PROCESS_H

#include "nofd/dma/dma_helper_private.h"

#define FAKE_PROCESSES 512u

struct fake {
    struct nofd_dma_process *process[FAKE_PROCESSES]; /* in the order of their start; NULL: freed */
    unsigned started, freed;
    int start_says; /* 0, or why no process can be had */
    bool possible;
    int caps_say;
    uint64_t caps;
    const char *reap_says;
    bool lives; /* every pidfd's process */
    unsigned killed, main_told;
    struct {
        uint64_t token;
        int status;
    } ended[256];
    unsigned nended;
};

extern struct fake fake;

void fake_reset(void);
/* The helper claims and carries out its oldest order that nobody has taken back: that has this status. Returns it. */
struct nofd_dma_order *fake_claim(struct nofd_dma_process *process);
void fake_finish(struct nofd_dma_process *process, struct nofd_dma_order *order, int status);
/* Serves all that is posted, with NOF_OK. Returns how many. */
unsigned fake_serve(struct nofd_dma_process *process);

#endif

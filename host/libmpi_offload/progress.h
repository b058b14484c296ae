/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress and waiting.
 *
 *   struct nof_wait wait = NOF_WAIT_START;
 *   while (!done)
 *       nof_wait_step(&wait);
 *
 * A step polls once. While nothing comes it spins for spin_us, then it sleeps until something may
 * have. The lock is held when a step is called and when it returns, never while it spins or sleeps.
 * With several threads waiting, one sleeps on the channel's wake word and the others on a condition
 * variable; who reaps a completion wakes them all. */
#ifndef NOF_MPI_PROGRESS_H
#define NOF_MPI_PROGRESS_H

#include "lib.h"

struct nof_wait {
    uint64_t spin_until_ns; /* 0: nothing tried yet */
    bool spinning;
};

#define NOF_WAIT_START \
    { \
        0, false \
    }

/* Move everything that can move now. Returns how many things happened. */
int nof_progress_poll(void);

void nof_wait_step(struct nof_wait *wait);

/* Something completed: other threads that sleep may be waiting for it. */
void nof_progress_signal(void);

#endif

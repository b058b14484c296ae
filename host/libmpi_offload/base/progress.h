/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress and waiting.
 *
 *   struct nof_wait wait = NOF_WAIT_START;
 *   while (!done)
 *       nof_wait_step(&wait);
 *
 * A step polls once. While nothing comes, the first steps (3 us at most) do nothing else; then it looks at the clock and
 * gives way between polls for spin_us; then it sleeps until something may have come. The lock is held when a step is
 * called and when it returns, never while it gives way or sleeps. With several threads waiting, one sleeps on the
 * channel's wake word and the others on a condition variable; who reaps a completion wakes them all. */
#ifndef NOF_MPI_PROGRESS_H
#define NOF_MPI_PROGRESS_H

#include "base/lib.h"

struct nof_request;
struct nof_sched;

struct nof_wait {
    uint64_t spin_until_ns; /* 0: nothing tried yet */
    bool spinning;
    uint8_t pure_polls; /* empty ones so far, up to a limit */
    /* For those who ask why it takes so long (wait_board.h). */
    const char *call;
    const struct nof_request *request; /* or */
    const struct nof_sched *sched; /* that is waited for; NULL: neither, or several */
    uint64_t since_ns; /* of the first sleep; 0: none yet */
};

#define NOF_WAIT_START \
    { \
        .call = nof_lib_call \
    }

/* Move everything that can move now. Returns how many things happened. */
int nof_progress_poll(void);

void nof_wait_step(struct nof_wait *wait);

/* Something completed: other threads that sleep may be waiting for it. */
void nof_progress_signal(void);

#endif

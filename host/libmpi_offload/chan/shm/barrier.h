/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A store of mine before a load of mine, against the same of another process: of the two at least one sees what the other has
 * stored. Who sends does so often, and passes light(), which is nothing; who is about to sleep, or to look away from a
 * lane, does so seldom, and passes heavy(), which has the kernel bring all processes that are registered past a fence
 * (membarrier, GLOBAL_EXPEDITED). Where any of them could not be registered, or ranks outnumber the CPUs and sleep often
 * (decision 0057), both are fences: all must be told the same.
 *
 * Threads: any. */
#ifndef NOF_MPI_BARRIER_H
#define NOF_MPI_BARRIER_H

#include <stdbool.h>

#include "nof_private/fence.h"

extern bool nof_barrier_fences __attribute__((visibility("hidden"))); /* true at first */

/* True: this process is registered. */
bool nof_barrier_register(void);
/* All are, or not. */
void nof_barrier_use(bool all_registered);

static inline void nof_barrier_light(void)
{
    if (nof_barrier_fences)
        nof_fence_full();
    else
        __asm__ volatile("" ::: "memory");
}

void nof_barrier_heavy(void);

#endif

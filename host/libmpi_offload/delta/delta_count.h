/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process counts of its delta messages (nof_private/delta_counts.h).
 * Any thread, without the lock, and a signal handler. */
#ifndef NOF_MPI_DELTA_COUNT_H
#define NOF_MPI_DELTA_COUNT_H

#include <stdint.h>

#include "nof_private/delta_counts.h"

extern uint64_t nof_delta_counted[NOF_DELTA_COUNT_MAX] __attribute__((visibility("hidden")));

static inline void nof_delta_count(enum nof_delta_count what, uint64_t n)
{
    __atomic_fetch_add(&nof_delta_counted[what], n, __ATOMIC_RELAXED);
}

#endif

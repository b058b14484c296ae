/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the libraries of ranks say that they counted (nof_private/library_counts.h), added up. Any number may stand there: it is
 * the ranks' word, and sums wrap. */
#ifndef NOFD_TOLD_H
#define NOFD_TOLD_H

#include <stdint.h>

#include "nof_private/library_counts.h"

struct nofd_told {
    uint64_t ranks;
    uint64_t counted[NOF_LIBRARY_COUNT_MAX];
};

/* `counted` may be where a rank writes it meanwhile. */
static inline void nofd_told_add(struct nofd_told *sum, uint64_t ranks,
                                 const uint64_t counted[NOF_LIBRARY_COUNT_MAX])
{
    sum->ranks += ranks;
    for (unsigned i = 0; i < NOF_LIBRARY_COUNT_MAX; i++)
        sum->counted[i] += __atomic_load_n(&counted[i], __ATOMIC_RELAXED);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two ranks of a host that wait for each other by memory of their own, of which the library knows nothing and in which it must not
 * look meanwhile. After mpitest.h. */
#ifndef PAST_LIBRARY_H
#define PAST_LIBRARY_H

#include <sched.h>
#include <stdbool.h>
#include <time.h>

#define PAST_PATIENCE_S 20

static inline double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline void spin_until(const int *word, int value)
{
    double end = seconds() + PAST_PATIENCE_S;
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value && seconds() < end)
        ;
    CHECK(__atomic_load_n(word, __ATOMIC_ACQUIRE) == value);
}

static inline bool has_two_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) >= 2;
}

#endif

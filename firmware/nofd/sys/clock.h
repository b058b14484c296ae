/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The clocks of the daemon: CLOCK_MONOTONIC in nanoseconds, no system call; and what a thread has had of its CPU, by
 * one. Any thread. */
#ifndef NOFD_CLOCK_H
#define NOFD_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NOFD_US 1000ull
#define NOFD_MS 1000000ull
#define NOFD_S 1000000000ull

static inline uint64_t nofd_clock_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * NOFD_S + (uint64_t)ts.tv_nsec;
}

/* Of the calling thread: stands still while it is not scheduled. */
static inline uint64_t nofd_clock_own_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * NOFD_S + (uint64_t)ts.tv_nsec;
}

static inline uint64_t nofd_earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

#endif

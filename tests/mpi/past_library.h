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

/* A word of rank 0's that both see, and the library's counters. */
struct past {
    MPI_T_pvar_session session;
    MPI_Win win;
    int *word;
};

static inline void past_begin(struct past *past, int *argc, char ***argv)
{
    int *mine, unit, level;
    MPI_Aint bytes;
    t_begin(argc, argv, 2);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    OK(MPI_T_pvar_session_create(&past->session));
    OK(MPI_Win_allocate_shared(t_rank == 0 ? 64 : 0, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine,
                               &past->win));
    OK(MPI_Win_shared_query(past->win, 0, &bytes, &unit, &past->word));
}

/* What main() returns. */
static inline int past_end(struct past *past)
{
    OK(MPI_Win_free(&past->win));
    OK(MPI_T_pvar_session_free(&past->session));
    OK(MPI_T_finalize());
    return t_end();
}

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

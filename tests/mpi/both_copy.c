/* SPDX-License-Identifier: BSD-3-Clause */
/* Several long messages of one sender to one receiver, by memory, each as it comes: while the sender waits both sides copy, and while it
 * computes its receiver does without it. Two ranks, NOF_CHANNELS=auto. */
#include "mpitest.h"

#include <sched.h>
#include <stdbool.h>
#include <time.h>

enum { MESSAGES = 8, BYTES = 200000, ROUNDS = 2000, PATIENCE_S = 60 };

static unsigned char data[MESSAGES][BYTES];
static MPI_T_pvar_session session;

static void start(MPI_Request requests[MESSAGES], int round)
{
    for (int i = 0; i < MESSAGES; i++) {
        if (t_rank == 0) {
            t_fill(data[i], BYTES, (uint64_t)(round * MESSAGES + i));
            OK(MPI_Isend(data[i], BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]));
        } else {
            OK(MPI_Irecv(data[i], BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]));
        }
    }
}

static void finish(MPI_Request requests[MESSAGES], int round)
{
    OK(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; t_rank == 1 && i < MESSAGES; i++)
        CHECK(t_verify(data[i], BYTES, (uint64_t)(round * MESSAGES + i)));
}

static bool has_two_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) >= 2;
}

/* Not each time: who is not there yet when it is asked for is not waited for. */
static void who_waits_copies(void)
{
    MPI_Request requests[MESSAGES];
    int done = 0;
    for (int round = 0; round < ROUNDS && !done; round++) {
        start(requests, round);
        finish(requests, round);
        done = t_counted(session, "memory_pieces") > 0;
        OK(MPI_Allreduce(MPI_IN_PLACE, &done, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
    }
    CHECK(done || !has_two_cpus());
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Until its receiver has all of it rank 0 calls nothing but, in each second round, a test that finds nothing. */
static void who_computes_holds_nobody_up(int *word)
{
    MPI_Request requests[MESSAGES];
    for (int round = 1; round < 50; round++) {
        OK(MPI_Barrier(MPI_COMM_WORLD));
        start(requests, round);
        double end = seconds() + PATIENCE_S;
        if (t_rank == 0) {
            int flag;
            if (round % 2 == 0)
                OK(MPI_Testall(MESSAGES, requests, &flag, MPI_STATUSES_IGNORE));
            while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != round && seconds() < end)
                ;
            CHECK(seconds() < end);
        }
        finish(requests, round);
        if (t_rank == 1)
            __atomic_store_n(word, round, __ATOMIC_RELEASE);
    }
}

int main(int argc, char **argv)
{
    MPI_Win win;
    int *mine, *word, unit, level;
    MPI_Aint bytes;
    t_begin(&argc, &argv, 2);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_Win_allocate_shared(t_rank == 0 ? 64 : 0, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine,
                               &win));
    OK(MPI_Win_shared_query(win, 0, &bytes, &unit, &word));
    who_waits_copies();
    int reads = t_counted(session, "memory_single_copies") > 0;
    OK(MPI_Bcast(&reads, 1, MPI_INT, 1, MPI_COMM_WORLD));
    if (reads) /* else the kernel forbids it, and the sender is needed */
        who_computes_holds_nobody_up(word);
    OK(MPI_Win_free(&win));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return t_end();
}

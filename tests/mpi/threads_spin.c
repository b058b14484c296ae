/* SPDX-License-Identifier: BSD-3-Clause */
/* Four threads per rank that spin between their calls, with more of them than CPUs: whoever moves messages still gets
 * to do so. Each thread sends to the rank of its number and receives from it; then either each waits for its own two
 * requests, or one thread for those of all. Payload is checked.
 *
 * usage: threads_spin [ROUNDS [LARGEST_BYTES]]; prints the seconds it took with T_VERBOSE=1. It is a plain MPI program,
 * so any MPI's compiler takes it. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4 };

struct spot {
    atomic_int waiting;
    atomic_int turn;
};

static struct spot barrier;
static MPI_Request requests[2 * THREADS];
static int rank, size, rounds = 1;
static size_t largest = 64 * 1024;
static atomic_int wrong;

/* Spins without a pause and without a yield, as programs do. */
static void spin_together(void)
{
    int turn = atomic_load(&barrier.turn);
    if (atomic_fetch_add(&barrier.waiting, 1) == THREADS - 1) {
        atomic_store(&barrier.waiting, 0);
        atomic_fetch_add(&barrier.turn, 1);
        return;
    }
    while (atomic_load(&barrier.turn) == turn)
        ;
}

static unsigned char pattern(int from, int to, int tag)
{
    return (unsigned char)(1 + from * 31 + to * 7 + tag);
}

static void exchange(int me, unsigned char *buf, size_t bytes, int tag, int own)
{
    unsigned char *in = buf + bytes;
    memset(buf, pattern(rank, me, tag), bytes);
    memset(in, 0, bytes);
    spin_together();
    MPI_Isend(buf, (int)bytes, MPI_BYTE, me, tag, MPI_COMM_WORLD, &requests[2 * me]);
    MPI_Irecv(in, (int)bytes, MPI_BYTE, me, tag, MPI_COMM_WORLD, &requests[2 * me + 1]);
    if (own) {
        MPI_Waitall(2, &requests[2 * me], MPI_STATUSES_IGNORE);
    } else {
        spin_together();
        if (me == 1)
            MPI_Waitall(2 * THREADS, requests, MPI_STATUSES_IGNORE);
        spin_together();
    }
    unsigned char is = pattern(me, rank, tag);
    if (in[0] != is || memcmp(in, in + 1, bytes - 1) != 0)
        atomic_fetch_add(&wrong, 1);
}

static void *thread(void *arg)
{
    int me = (int)(long)arg;
    unsigned char *buf = malloc(2 * largest);
    if (buf == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int own = 0; own < 2; own++) {
        int tag = 1;
        for (size_t bytes = 4; bytes <= largest; bytes *= 4)
            for (int i = 0; i < rounds; i++, tag++)
                exchange(me, buf, bytes, (tag % 100) * THREADS + own, own);
    }
    free(buf);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided != MPI_THREAD_MULTIPLE || size != THREADS) {
        fprintf(stderr, "needs MPI_THREAD_MULTIPLE and %d ranks\n", THREADS);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (argc > 1)
        rounds = atoi(argv[1]);
    if (argc > 2)
        largest = (size_t)atol(argv[2]);
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, thread, (void *)i) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    const char *verbose = getenv("T_VERBOSE");
    if (rank == 0 && verbose != NULL && verbose[0] == '1')
        printf("%.3f s\n", MPI_Wtime() - began);
    int all = 0, mine = atomic_load(&wrong);
    MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && all > 0)
        fprintf(stderr, "%d messages were not what was sent\n", all);
    MPI_Finalize();
    return rank == 0 && all > 0;
}

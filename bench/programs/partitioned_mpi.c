/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program of `nof bench partitioned`: rank 0 sends partitions to rank 1, and gives a cue (lib/capture.h) whenever the
 * frames that it has sent so far are to be counted:
 *
 *   early     64 partitions of 64 KiB, 1 ms apart: before the first, before the last, when all have gone
 *   frames    4096 of 64 bytes, then as many bytes as one message: before and behind each, ROUNDS times
 *   pready    the same by 8 threads at once: prints "pready NS", CPU time of a call, the median of rounds
 *
 * usage: partitioned_mpi CUES; rank 0 prints "done" at the end. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    EARLY = 64,
    EARLY_BYTES = 65536,
    SMALL = 4096,
    SMALL_BYTES = 64,
    ROUNDS = 5,
    THREADS = 8,
    PREADY_ROUNDS = 21
};

static int rank, cues;
static const char *path;
static char *data;
static MPI_Request req;

static void cue(void)
{
    char name[4096];
    int flag;

    snprintf(name, sizeof(name), "%s.%d", path, cues++);
    FILE *file = fopen(name, "w");
    if (file == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    else
        fclose(file);
    while (access(name, F_OK) == 0) { /* who makes progress in calls alone has calls */
        MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        usleep(200);
    }
}

static void open_parts(int partitions, int bytes)
{
    if (rank == 0)
        MPI_Psend_init(data, partitions, bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &req);
    else
        MPI_Precv_init(data, partitions, bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &req);
}

/* Both are there. */
static void start(void)
{
    MPI_Start(&req);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(20000);
}

static void all_ready(int partitions)
{
    for (int i = 0; rank == 0 && i < partitions; i++)
        MPI_Pready(i, req);
}

static void early(void)
{
    open_parts(EARLY, EARLY_BYTES);
    start();
    all_ready(EARLY);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    start();
    if (rank == 0) {
        cue();
        for (int i = 0; i < EARLY - 1; i++) {
            MPI_Pready(i, req);
            usleep(1000);
        }
        cue();
        MPI_Pready(EARLY - 1, req);
    }
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    if (rank == 0)
        cue();
    MPI_Request_free(&req);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void frames(void)
{
    open_parts(SMALL, SMALL_BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        start();
        if (rank == 0)
            cue();
        all_ready(SMALL);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        if (rank == 0)
            cue();
    }
    MPI_Request_free(&req);
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 1)
            MPI_Irecv(data, SMALL * SMALL_BYTES, MPI_BYTE, 0, 6, MPI_COMM_WORLD, &req);
        MPI_Barrier(MPI_COMM_WORLD);
        usleep(20000);
        if (rank == 0) {
            cue();
            MPI_Send(data, SMALL * SMALL_BYTES, MPI_BYTE, 1, 6, MPI_COMM_WORLD);
            cue();
        } else {
            MPI_Wait(&req, MPI_STATUS_IGNORE);
        }
    }
}

struct thread {
    pthread_t id;
    int number;
    double taken_ns;
};

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *declare(void *arg)
{
    struct thread *t = arg;
    double began_ns = cpu_ns();
    for (int i = t->number; i < SMALL; i += THREADS)
        MPI_Pready(i, req);
    t->taken_ns = cpu_ns() - began_ns;
    return NULL;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void pready(void)
{
    static struct thread thread[THREADS];
    static double call_ns[PREADY_ROUNDS];
    open_parts(SMALL, SMALL_BYTES);
    for (int round = 0; round < PREADY_ROUNDS; round++) {
        start();
        for (int k = 0; rank == 0 && k < THREADS; k++) {
            thread[k].number = k;
            if (pthread_create(&thread[k].id, NULL, declare, &thread[k]) != 0)
                MPI_Abort(MPI_COMM_WORLD, 1);
        }
        for (int k = 0; rank == 0 && k < THREADS; k++) {
            pthread_join(thread[k].id, NULL);
            call_ns[round] += thread[k].taken_ns / SMALL;
        }
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&req);
    qsort(call_ns, PREADY_ROUNDS, sizeof(call_ns[0]), compare);
    if (rank == 0)
        printf("pready %.1f\n", call_ns[PREADY_ROUNDS / 2]);
}

int main(int argc, char **argv)
{
    int provided, size;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    data = malloc((size_t)EARLY * EARLY_BYTES);
    if (argc != 2 || size != 2 || data == NULL || provided != MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "usage: partitioned_mpi CUES, by two ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    path = argv[1];
    srand(1);
    for (int i = 0; i < EARLY * EARLY_BYTES; i++)
        data[i] = (char)rand();
    early();
    frames();
    pready();
    if (rank == 0)
        printf("done\n");
    fflush(stdout);
    MPI_Finalize();
    free(data);
    return 0;
}

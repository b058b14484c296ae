/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two ranks on a network that somebody disturbs: latency of 8 bytes, then a stream of 128 KiB messages, each with contents of
 * its own, which the receiver checks. Rank 0 prints
 *
 *   latency MEDIAN_US P99_US
 *   begun                          the stream: what is to happen in its midst may happen
 *   stream MBPS MESSAGES WRONG     wrong: messages that did not come as they were sent
 *   done
 *
 *   hostile_mpi SECONDS            for the stream, and half of it before */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 16
#define WORDS (128 * 1024 / 8)
#define LINE_WORDS 8 /* one word of each cache line tells which message it is of, and where in it */
#define SAMPLES_MAX 1000000
#define DATA_TAG 1
#define DONE_TAG 2

static int rank;
static uint64_t buffer[WINDOW][WORDS];
static long wrong;

static uint64_t stamp(uint64_t message, uint64_t at)
{
    return (message + 1) * 0x9e3779b97f4a7c15ull ^ at * 0xc2b2ae3d27d4eb4full;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Rank 0 says whether to go on: both leave the loop together. */
static int goes_on(double start, double seconds)
{
    int more = MPI_Wtime() - start < seconds;

    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return more;
}

static void one_round(uint64_t number)
{
    uint64_t word = stamp(number, 0), back = 0;

    if (rank == 0) {
        MPI_Send(&word, 8, MPI_BYTE, 1, DATA_TAG, MPI_COMM_WORLD);
        MPI_Recv(&back, 8, MPI_BYTE, 1, DATA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&back, 8, MPI_BYTE, 0, DATA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&word, 8, MPI_BYTE, 0, DATA_TAG, MPI_COMM_WORLD);
    }
    wrong += back != word;
}

static void latency(double seconds)
{
    static double us[SAMPLES_MAX];
    double start = MPI_Wtime();
    int n = 0;

    do {
        for (int i = 0; i < 100 && n < SAMPLES_MAX; i++, n++) {
            double begun = MPI_Wtime();

            one_round((uint64_t)n);
            us[n] = (MPI_Wtime() - begun) * 1e6 / 2;
        }
    } while (goes_on(start, seconds));
    qsort(us, (size_t)n, sizeof(us[0]), compare);
    if (rank == 0)
        printf("latency %.2f %.2f\nbegun\n", us[n / 2], us[n - 1 - n / 100]);
    fflush(stdout);
}

static void fill(uint64_t message, uint64_t *words)
{
    for (uint64_t i = 0; i < WORDS; i += LINE_WORDS)
        words[i] = stamp(message, i);
}

static void check(uint64_t message, const uint64_t *words)
{
    for (uint64_t i = 0; i < WORDS; i += LINE_WORDS) {
        if (words[i] == stamp(message, i))
            continue;
        wrong++;
        return;
    }
}

static void one_window(uint64_t first)
{
    MPI_Request request[WINDOW];

    for (uint64_t i = 0; i < WINDOW; i++) {
        if (rank == 0) {
            fill(first + i, buffer[i]);
            MPI_Isend(buffer[i], sizeof(buffer[i]), MPI_BYTE, 1, DATA_TAG, MPI_COMM_WORLD, &request[i]);
        } else {
            MPI_Irecv(buffer[i], sizeof(buffer[i]), MPI_BYTE, 0, DATA_TAG, MPI_COMM_WORLD, &request[i]);
        }
    }
    MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE);
    for (uint64_t i = 0; i < WINDOW && rank == 1; i++)
        check(first + i, buffer[i]);
    if (rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, DONE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, DONE_TAG, MPI_COMM_WORLD);
}

static void stream(double seconds)
{
    double start = MPI_Wtime(), took;
    uint64_t messages = 0;
    long all = 0;

    do {
        one_window(messages);
        messages += WINDOW;
    } while (goes_on(start, seconds));
    took = MPI_Wtime() - start;
    MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("stream %.1f %llu %ld\ndone\n", (double)messages * sizeof(buffer[0]) * 8 / took / 1e6,
               (unsigned long long)messages, all);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        if (rank == 0)
            fprintf(stderr, "hostile_mpi: it takes two ranks, not %d\n", size);
        MPI_Finalize();
        return 2;
    }
    memset(buffer, rank, sizeof(buffer));
    latency(seconds / 2);
    stream(seconds);
    MPI_Finalize();
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What waiting costs: rank 0 is silent for a while, the others wait in MPI_Recv. `nof bench idle` reads the
 * lines of rank 0:
 *
 *   idle CPU_PERCENT           of the busiest rank that waited
 *   wake LATENCY_US            half a round trip of 8 bytes after a second of silence, one line a turn
 *
 *   idle_mpi [SECONDS [TURNS]] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define GO_TAG 1
#define PING_TAG 2

static int rank;

static void be_silent(double seconds)
{
    struct timespec ts = {.tv_sec = (time_t)seconds};

    ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
    nanosleep(&ts, NULL);
}

static double cpu_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void waiting(double seconds, int size)
{
    double percent = 0;
    double most;
    char byte = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        be_silent(seconds);
        for (int i = 1; i < size; i++)
            MPI_Send(&byte, 1, MPI_BYTE, i, GO_TAG, MPI_COMM_WORLD);
    } else {
        double cpu = cpu_seconds();
        double start = MPI_Wtime();

        MPI_Recv(&byte, 1, MPI_BYTE, 0, GO_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        percent = 100 * (cpu_seconds() - cpu) / (MPI_Wtime() - start);
    }
    MPI_Reduce(&percent, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("idle %.3f\n", most);
}

static void after_silence(int turns)
{
    char bytes[8] = {0};

    for (int i = 0; i < turns; i++) {
        double start;

        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            be_silent(1);
            start = MPI_Wtime();
            MPI_Send(bytes, 8, MPI_BYTE, 1, PING_TAG, MPI_COMM_WORLD);
            MPI_Recv(bytes, 8, MPI_BYTE, 1, PING_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("wake %.3f\n", (MPI_Wtime() - start) * 1e6 / 2);
        } else if (rank == 1) {
            MPI_Recv(bytes, 8, MPI_BYTE, 0, PING_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(bytes, 8, MPI_BYTE, 0, PING_TAG, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv)
{
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    waiting(argc > 1 ? atof(argv[1]) : 3, size);
    after_silence(size > 1 ? (argc > 2 ? atoi(argv[2]) : 5) : 0);
    MPI_Finalize();
    return 0;
}

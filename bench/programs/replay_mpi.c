/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program of `nof bench replay`: calls the collectives of a recording again (coll_replay.h), and sleeps for what was computed
 * between them, so that hosts that share CPUs take the time of hosts that have some each. The same source is compiled with the
 * peers' compilers.
 *
 *   replay_mpi FOLDER FACTOR      FACTOR: of what was computed
 *
 * Rank 0 prints "run SECONDS", those of the slowest rank, and "done". */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "coll_replay.h"

static void coll_replay_fail(const char *what)
{
    fprintf(stderr, "replay_mpi: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* Until it is over, not for so long at a time: who is woken late does not sleep the longer. */
static void coll_replay_compute(long ns)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += ns / 1000000000;
    end.tv_nsec += ns % 1000000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
        ;
}

static void read_trace(const char *folder, int rank, int ranks, struct coll_trace *t)
{
    char path[4096];
    FILE *f;
    snprintf(path, sizeof(path), "%s/rank%d.coll", folder, rank);
    f = fopen(path, "r");
    if (f == NULL || coll_trace_read(f, ranks, t) != 0)
        coll_replay_fail("its trace cannot be read: nof bench replay says why");
    fclose(f);
}

int main(int argc, char **argv)
{
    struct coll_replay r;
    struct coll_trace t;
    double mine, slowest;
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 3)
        coll_replay_fail("usage: replay_mpi FOLDER FACTOR");
    read_trace(argv[1], rank, ranks, &t);
    coll_replay_open(&r, &t);
    MPI_Barrier(MPI_COMM_WORLD);
    mine = MPI_Wtime();
    coll_replay_run(&r, atof(argv[2]));
    mine = MPI_Wtime() - mine;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("run %.6f\ndone\n", slowest);
        fflush(stdout);
    }
    coll_replay_close(&r);
    coll_trace_free(&t);
    MPI_Finalize();
    return 0;
}

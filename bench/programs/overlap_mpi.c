/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program of `nof bench overlap`: how much of a collective goes on while its ranks compute without a call of MPI, as
 * OSU's micro-benchmarks define it:
 *
 *   overlap = 1 - (with - compute) / pure
 *
 * pure: the collective and its wait; with: the same around a computation of that length. The computation sleeps, so that
 * ranks that share CPUs do not measure the scheduler. usage: overlap_mpi BYTES ROUNDS; rank 0 prints, for each collective,
 * "row NAME OVERLAP PURE_US", medians of the slowest rank, then "done". */
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COMPUTE_MIN_S 0.0005 /* a shorter sleep would be all timer */

struct job {
    int rank, size, bytes;
    char *in, *out;
};

typedef void (*begin_fn)(const struct job *j, MPI_Request *req);

static void begin_barrier(const struct job *j, MPI_Request *req)
{
    (void)j;
    MPI_Ibarrier(MPI_COMM_WORLD, req);
}

static void begin_bcast(const struct job *j, MPI_Request *req)
{
    MPI_Ibcast(j->out, j->bytes, MPI_BYTE, 0, MPI_COMM_WORLD, req);
}

static void begin_allgather(const struct job *j, MPI_Request *req)
{
    MPI_Iallgather(j->in, j->bytes, MPI_BYTE, j->out, j->bytes, MPI_BYTE, MPI_COMM_WORLD, req);
}

static void begin_alltoall(const struct job *j, MPI_Request *req)
{
    MPI_Ialltoall(j->in, j->bytes, MPI_BYTE, j->out, j->bytes, MPI_BYTE, MPI_COMM_WORLD, req);
}

static void begin_allreduce(const struct job *j, MPI_Request *req)
{
    MPI_Iallreduce(j->in, j->out, j->bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, req);
}

static const struct {
    const char *name;
    begin_fn begin;
} collectives[] = {{"Ibarrier", begin_barrier},
                   {"Ibcast", begin_bcast},
                   {"Iallgather", begin_allgather},
                   {"Ialltoall", begin_alltoall},
                   {"Iallreduce", begin_allreduce}};

/* Returns how long it really was. */
static double compute(double seconds)
{
    double began = MPI_Wtime();
    struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(fmod(seconds, 1.0) * 1e9)};
    nanosleep(&t, NULL);
    return MPI_Wtime() - began;
}

/* One collective, around a computation of this length (0: none); *computed_out: of it. */
static double once(const struct job *j, begin_fn begin, double seconds, double *computed_out)
{
    MPI_Request req;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    begin(j, &req);
    *computed_out = seconds > 0 ? compute(seconds) : 0;
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    return MPI_Wtime() - began;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), compare);
    return values[n / 2];
}

static double slowest(double mine)
{
    double all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static void measure(const struct job *j, const char *name, begin_fn begin, int rounds)
{
    double computed, *pure = calloc((size_t)rounds, sizeof(*pure)),
                     *exposed = calloc((size_t)rounds, sizeof(*exposed));
    if (pure == NULL || exposed == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < 3; i++)
        (void)once(j, begin, 0, &computed);
    for (int i = 0; i < rounds; i++)
        pure[i] = slowest(once(j, begin, 0, &computed));
    double pure_s = median(pure, rounds);
    double length_s = pure_s > COMPUTE_MIN_S ? pure_s : COMPUTE_MIN_S;
    for (int i = 0; i < rounds; i++) {
        double with = once(j, begin, length_s, &computed);
        exposed[i] = slowest(with - computed);
    }
    double overlap = 1.0 - median(exposed, rounds) / pure_s;
    if (j->rank == 0)
        printf("row %s %.4f %.2f\n", name, overlap > 0 ? overlap : 0.0, pure_s * 1e6);
    free(pure);
    free(exposed);
}

int main(int argc, char **argv)
{
    struct job j;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &j.size);
    j.bytes = argc > 1 ? atoi(argv[1]) : 0;
    int rounds = argc > 2 ? atoi(argv[2]) : 0;
    if (j.bytes < 1 || rounds < 1) {
        fprintf(stderr, "usage: %s BYTES ROUNDS\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    size_t room = (size_t)j.bytes * (size_t)j.size;
    j.in = malloc(room);
    j.out = malloc(room);
    if (j.in == NULL || j.out == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(j.out, 0, room);
    srand((unsigned)j.rank + 1);
    for (size_t i = 0; i < room; i++) /* nothing for the codec */
        j.in[i] = (char)rand();
    for (size_t i = 0; i < sizeof(collectives) / sizeof(collectives[0]); i++)
        measure(&j, collectives[i].name, collectives[i].begin, rounds);
    free(j.in);
    free(j.out);
    if (j.rank == 0)
        printf("done\n");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Who comes late to collectives that have failed hears of it: also of the first of many, and of a rank that had no memory for
 * its part. What comes after works as if nothing had happened. */
#include <stdbool.h>
#include <sys/resource.h>

#include "mpitest.h"

enum { MANY = 40, LATE = 2, POOR = 1, BIG = 4 * 1024 * 1024 };

static void all_together(void)
{
    int sum = 0;
    OK(MPI_Allreduce(&t_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == t_size * (t_size - 1) / 2);
}

static void more_than_are_remembered(void)
{
    static int out[MANY], in[MANY];
    MPI_Request requests[MANY];
    if (t_rank == LATE)
        OK(MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < MANY; i++)
        OK(MPI_Iallreduce(&out[i], &in[i], 1, MPI_INT, t_rank == 1 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD,
                          &requests[i]));
    for (int i = 0; i < MANY; i++)
        FAILS(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), MPI_ERR_ARG);
    if (t_rank == 0)
        OK(MPI_Send(NULL, 0, MPI_INT, LATE, 1, MPI_COMM_WORLD));
    all_together();
}

/* As much address space as it has, and a little. */
static struct rlimit impoverish(void)
{
    struct rlimit before, poor;
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL && fscanf(f, "%ld", &pages) == 1 && fclose(f) == 0);
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    poor = before;
    poor.rlim_cur = (rlim_t)pages * 4096 + BIG;
    CHECK(setrlimit(RLIMIT_AS, &poor) == 0);
    return before;
}

static void one_without_memory(bool later)
{
    double *out = calloc(BIG, sizeof(*out)), *in = calloc(BIG, sizeof(*in));
    struct rlimit before;
    CHECK(out != NULL && in != NULL);
    if (t_rank == POOR)
        before = impoverish();
    MPI_Request req = MPI_REQUEST_NULL;
    int rc = MPI_SUCCESS;
    if (later)
        OK(MPI_Iallreduce(out, in, BIG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &req));
    else
        rc = MPI_Allreduce(out, in, BIG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (later)
        rc = MPI_Wait(&req, MPI_STATUS_IGNORE);
    FAILS(rc, t_rank == POOR ? MPI_ERR_NO_MEM : MPI_ERR_OTHER);
    if (t_rank == POOR)
        CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    free(in);
    free(out);
    all_together();
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 3);
    t_errors_return();
    more_than_are_remembered();
    one_without_memory(false);
    one_without_memory(true);
    return t_end();
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program of `nof bench dsm`: what the barriers of a distributed shared memory take (dsm.h). The same source is compiled
 * with the peers' compilers; what is not MPI is ours alone (NOF_COMPILED). Paper: compiled communication, section 5.3.
 *
 *   dsm_mpi dynamic|level1 PAGES ITERATIONS
 *
 * After an iteration that is verified in whole rank 0 prints "run SECONDS", those that ITERATIONS of them take the slowest
 * rank, and "done". */
#include <stdio.h>

#include "dsm.h"

static void dsm_fail(const char *what)
{
    fprintf(stderr, "dsm_mpi: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Seconds of this rank. */
static double iterate(struct dsm *d, dsm_exchange_fn *exchange, int iteration, int verified_words)
{
    double began;
    dsm_draw_writers(d, iteration);
    MPI_Barrier(MPI_COMM_WORLD);
    began = MPI_Wtime();
    dsm_write(d, iteration);
    dsm_barrier(d, exchange);
    began = MPI_Wtime() - began;
    dsm_verify(d, iteration, verified_words);
    return began;
}

int main(int argc, char **argv)
{
    struct dsm d = {0};
    dsm_exchange_fn *exchange = NULL;
    double mine = 0, slowest;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &d.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &d.size);
    if (argc > 1 && strcmp(argv[1], "dynamic") == 0)
        exchange = dsm_dynamic;
#ifdef NOF_COMPILED
    if (argc > 1 && strcmp(argv[1], "level1") == 0)
        exchange = dsm_level1;
#endif
    d.each = argc > 2 ? atoi(argv[2]) : 0;
    int iterations = argc > 3 ? atoi(argv[3]) : 0;
    if (exchange == NULL || d.each < 1 || d.each > 1024 || iterations < 1)
        dsm_fail("usage: dsm_mpi dynamic|level1 PAGES ITERATIONS");
    dsm_allocate(&d);
    (void)iterate(&d, exchange, iterations, DSM_PAGE_WORDS);
    for (int i = 0; i < iterations; i++)
        mine += iterate(&d, exchange, i, 1);
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (d.rank == 0) {
        printf("run %.6f\ndone\n", slowest);
        fflush(stdout);
    }
    dsm_free(&d);
    MPI_Finalize();
    return 0;
}

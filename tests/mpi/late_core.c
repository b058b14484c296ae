/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Everybody talks to everybody for four seconds, while late_core.py takes one NIC core its CPU for two of them. */
#include <mpi.h>

#include "mpitest.h"

#define SECONDS 4.0
#define MOST 64

int main(int argc, char **argv)
{
    int rank, size, goes_on = 1;
    int mine[MOST], theirs[MOST];
    double start_s;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= MOST);
    start_s = MPI_Wtime();
    if (rank == 0) {
        printf("talks\n");
        fflush(stdout);
    }
    for (int round = 0; goes_on; round++) {
        for (int i = 0; i < size; i++)
            mine[i] = round * MOST + rank;
        MPI_Alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++)
            CHECK(theirs[i] == round * MOST + i);
        goes_on = MPI_Wtime() - start_s < SECONDS;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}

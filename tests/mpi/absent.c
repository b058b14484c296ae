/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A collective that one rank comes to two seconds late, in time of its own, while absent.py stops whom it likes; then short ones. */
#include <mpi.h>
#include <time.h>

#include "mpitest.h"

#define LATE 1
#define NAPS 20
#define ROUNDS 100

int main(int argc, char **argv)
{
    int rank, size, sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("talks\n");
        fflush(stdout);
    }
    for (int i = 0; rank == LATE && i < NAPS; i++) /* short ones: a stop does not end the rest */
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        int mine = round + rank;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == round * size + size * (size - 1) / 2);
    }
    MPI_Finalize();
    return 0;
}

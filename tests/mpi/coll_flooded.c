/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts that are 0 on one side only, while messages that nobody expects have filled the NIC's memory, so that the library
 * matches: who waits hears of it, as else, and the messages are there afterwards. */
#include "mpitest.h"

enum { FLOOD = 30000, LONG = 1 << 20 };

static int data[LONG], result[LONG], word[FLOOD];
static MPI_Request sends[FLOOD];

static int exchange(int mine, int theirs)
{
    int rank, counts[2] = {0}, none[2] = {0}, displs[2] = {0};

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    counts[1 - rank] = rank == 1 ? mine : 0;
    none[1 - rank] = rank == 0 ? theirs : 0;
    return MPI_Alltoallv(data, counts, displs, MPI_INT, result, none, displs, MPI_INT, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; rank == 1 && i < FLOOD; i++) {
        word[i] = i;
        OK(MPI_Isend(&word[i], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &sends[i]));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    rc = exchange(0, 4);
    CHECK(rank == 1 || rc != MPI_SUCCESS);
    rc = exchange(LONG, 0);
    CHECK(rank == 0 || rc != MPI_SUCCESS);
    for (int i = 0; rank == 0 && i < FLOOD; i++) {
        OK(MPI_Recv(&word[i], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(word[i] == i);
    }
    if (rank == 1)
        OK(MPI_Waitall(FLOOD, sends, MPI_STATUSES_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Finalize();
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Persistent collectives may come and go without end, but 2^20 after one that is there still there is no place for another: it
 * would have the tags of that one. */
#include "mpitest.h"

#define PLACES (1 << 20)

int main(int argc, char **argv)
{
    MPI_Request first, next, other;
    int value[2];

    t_begin(&argc, &argv, 2);
    t_errors_return();
    OK(MPI_Bcast_init(&value[0], 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &first));
    for (int i = 1; i < PLACES; i++) {
        OK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &next));
        OK(MPI_Request_free(&next));
    }
    next = first;
    FAILS(MPI_Bcast_init(&value[1], 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &next), MPI_ERR_NO_MEM);
    CHECK(next == MPI_REQUEST_NULL);
    OK(MPI_Bcast_init(&value[1], 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &other));
    for (int round = 0; round < 3; round++) {
        value[0] = t_rank == 0 ? 100 + round : -1;
        value[1] = t_rank == 0 ? 200 + round : -1;
        OK(MPI_Start(t_rank == 0 ? &first : &other));
        OK(MPI_Start(t_rank == 0 ? &other : &first));
        OK(MPI_Wait(&first, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&other, MPI_STATUS_IGNORE));
        CHECK(value[0] == 100 + round && value[1] == 200 + round);
    }
    OK(MPI_Request_free(&first));
    OK(MPI_Request_free(&other));
    return t_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Request_free on a collective operation that has ended is tolerated, as other libraries do; on one that still runs
 * it is an error, and the operation goes on. */
#include "mpitest.h"

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    MPI_Request req;
    int flag = 0, value = t_rank + 1, sum = 0;
    OK(MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &req));
    while (!flag)
        OK(MPI_Request_get_status(req, &flag, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&req));
    CHECK(req == MPI_REQUEST_NULL && sum == t_size * (t_size + 1) / 2);

    /* It cannot end before the last has come. */
    if (t_rank == 0) {
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &req));
        FAILS(MPI_Request_free(&req), MPI_ERR_REQUEST);
        CHECK(req != MPI_REQUEST_NULL);
        for (int i = 1; i < t_size; i++)
            OK(MPI_Send(NULL, 0, MPI_INT, i, 1, MPI_COMM_WORLD));
    } else {
        OK(MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &req));
    }
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    return t_end();
}

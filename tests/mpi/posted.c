/* SPDX-License-Identifier: BSD-3-Clause */
/* 50 000 receives are posted before anything is sent, more than a NIC has room for; messages come in
 * another order, and each finds its receive. Some receives are cancelled, some are wildcards. */
#include "mpitest.h"

enum { RECEIVES = 50000 };

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    if (t_rank == 1) {
        int *data = malloc(RECEIVES * sizeof(*data)), extra = -1;
        MPI_Request *reqs = malloc(RECEIVES * sizeof(*reqs)), extra_req;
        MPI_Status status;
        int flag;
        for (int i = 0; i < RECEIVES; i++) {
            data[i] = -1;
            OK(MPI_Irecv(&data[i], 1, MPI_INT, i % 5 ? 0 : MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &reqs[i]));
        }
        OK(MPI_Irecv(&extra, 1, MPI_INT, MPI_ANY_SOURCE, RECEIVES + 5, MPI_COMM_WORLD, &extra_req));
        OK(MPI_Cancel(&extra_req));
        OK(MPI_Wait(&extra_req, &status));
        OK(MPI_Test_cancelled(&status, &flag));
        CHECK(flag == 1);
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Waitall(RECEIVES, reqs, MPI_STATUSES_IGNORE));
        for (int i = 0; i < RECEIVES; i++)
            CHECK(data[i] == i);
        free(data);
        free(reqs);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        if (t_rank == 0)
            for (int i = RECEIVES - 1; i >= 0; i--)
                OK(MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD));
    }
    return t_end();
}

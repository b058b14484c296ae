/* SPDX-License-Identifier: BSD-3-Clause */
/* A receive that nothing matches can be cancelled and then gets nothing; one that was matched
 * completes; a message is never lost to a cancelled receive. */
#include "mpitest.h"

enum { ROUNDS = 200 };

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    MPI_Status status;
    MPI_Request req;
    int value = -7, flag;
    OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1000, MPI_COMM_WORLD, &req));
    OK(MPI_Cancel(&req));
    OK(MPI_Wait(&req, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag == 1 && value == -7 && req == MPI_REQUEST_NULL);

    /* Race a cancel against the message it may match: exactly one receive gets each message. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 1) {
        for (int i = 0; i < ROUNDS; i++)
            OK(MPI_Send(&i, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
    } else if (t_rank == 0) {
        for (int i = 0; i < ROUNDS; i++) {
            value = -1;
            OK(MPI_Irecv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &req));
            for (volatile int spin = 0; spin < i * 20; spin++)
                ;
            OK(MPI_Cancel(&req));
            OK(MPI_Wait(&req, &status));
            OK(MPI_Test_cancelled(&status, &flag));
            if (flag) {
                CHECK(value == -1);
                OK(MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &status));
            }
            CHECK(value == i);
        }
    }

    /* A persistent receive can be cancelled and started again. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0) {
        OK(MPI_Recv_init(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &req));
        OK(MPI_Start(&req));
        OK(MPI_Cancel(&req));
        OK(MPI_Wait(&req, &status));
        OK(MPI_Test_cancelled(&status, &flag));
        CHECK(flag == 1);
        OK(MPI_Start(&req));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Wait(&req, &status));
        OK(MPI_Test_cancelled(&status, &flag));
        CHECK(flag == 0 && value == 77);
        OK(MPI_Request_free(&req));
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        value = 77;
        if (t_rank == 1)
            OK(MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
    }
    return t_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Persistent requests can be started again and again, in all modes; inactive ones are complete with
 * an empty status; starting an active one is an error. */
#include "mpitest.h"

enum { N = 5000, ROUNDS = 30 };

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    int right = (t_rank + 1) % t_size, left = (t_rank + t_size - 1) % t_size;
    static int out[4][N], in[4][N];
    char *room = malloc(2 * (sizeof(out[0]) + MPI_BSEND_OVERHEAD));
    OK(MPI_Buffer_attach(room, (int)(2 * (sizeof(out[0]) + MPI_BSEND_OVERHEAD))));
    MPI_Request reqs[8];
    MPI_Status statuses[8];
    for (int i = 0; i < 4; i++)
        OK(MPI_Recv_init(in[i], N, MPI_INT, i % 2 ? left : MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &reqs[i]));
    OK(MPI_Send_init(out[0], N, MPI_INT, right, 0, MPI_COMM_WORLD, &reqs[4]));
    OK(MPI_Ssend_init(out[1], N, MPI_INT, right, 1, MPI_COMM_WORLD, &reqs[5]));
    OK(MPI_Rsend_init(out[2], N, MPI_INT, right, 2, MPI_COMM_WORLD, &reqs[6]));
    OK(MPI_Bsend_init(out[3], N, MPI_INT, right, 3, MPI_COMM_WORLD, &reqs[7]));

    int flag = 0, count = -1;
    MPI_Status status;
    OK(MPI_Test(&reqs[0], &flag, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(flag == 1 && status.MPI_SOURCE == MPI_ANY_SOURCE && count == 0);

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < N; k++)
                out[i][k] = t_rank * 1000000 + round * 10000 + i * 1000 + k;
        OK(MPI_Startall(4, reqs));
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 4; i < 8; i++)
            OK(MPI_Start(&reqs[i]));
        OK(MPI_Waitall(8, reqs, statuses));
        for (int i = 0; i < 4; i++) {
            CHECK(statuses[i].MPI_SOURCE == left && statuses[i].MPI_TAG == i);
            for (int k = 0; k < N; k++)
                CHECK(in[i][k] == left * 1000000 + round * 10000 + i * 1000 + k);
            CHECK(reqs[i] != MPI_REQUEST_NULL);
        }
    }

    t_errors_return();
    OK(MPI_Start(&reqs[0]));
    FAILS(MPI_Start(&reqs[0]), MPI_ERR_REQUEST);
    OK(MPI_Send(out[0], N, MPI_INT, right, 0, MPI_COMM_WORLD));
    OK(MPI_Wait(&reqs[0], &status));
    for (int i = 0; i < 8; i++) {
        OK(MPI_Request_free(&reqs[i]));
        CHECK(reqs[i] == MPI_REQUEST_NULL);
    }
    void *detached;
    int size;
    OK(MPI_Buffer_detach(&detached, &size));
    free(room);
    return t_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A send that nothing matches can be cancelled, whatever its mode and wherever its envelope is: its
 * MPI_Wait returns, and nobody receives it. One that was matched completes. (MPICH 4.0 cannot.) */
#include "mpitest.h"

enum { LARGE = 300000, ROUNDS = 60, MANY = 6000 };

static char out[LARGE], in[LARGE];

static int cancelled(MPI_Request *req)
{
    MPI_Status status;
    int flag;
    OK(MPI_Cancel(req));
    OK(MPI_Wait(req, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    return flag;
}

static void nothing_left(void)
{
    int flag;
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(flag == 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Nobody receives: the only answer is that it is cancelled. */
static void unmatched(void)
{
    static char room[LARGE + MPI_BSEND_OVERHEAD];
    static const int len[] = {0, 8, 500, 20000, LARGE};
    MPI_Request req;
    void *back;
    int size;
    for (int i = 0; t_rank == 0 && i < 15; i++) {
        OK(MPI_Issend(out, len[i % 5], MPI_BYTE, 1, 5, MPI_COMM_WORLD, &req));
        CHECK(cancelled(&req) && req == MPI_REQUEST_NULL);
    }
    if (t_rank == 0) {
        OK(MPI_Isend(out, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &req));
        CHECK(cancelled(&req));
        OK(MPI_Issend(out, 8, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &req)); /* to oneself */
        CHECK(cancelled(&req));
        OK(MPI_Buffer_attach(room, sizeof(room)));
        OK(MPI_Ibsend(out, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &req));
        CHECK(cancelled(&req));
        OK(MPI_Buffer_detach(&back, &size)); /* its room is free again */
        CHECK(back == room && size == (int)sizeof(room));
        OK(MPI_Issend(out, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &req));
        OK(MPI_Cancel(&req));
        OK(MPI_Request_free(&req));
    }
    nothing_left();
}

static void persistent(void)
{
    MPI_Request req;
    MPI_Status status;
    int flag;
    if (t_rank == 0) {
        t_fill(out, LARGE, 1);
        OK(MPI_Send_init(out, LARGE, MPI_BYTE, 1, 6, MPI_COMM_WORLD, &req));
        for (int i = 0; i < 3; i++) {
            OK(MPI_Start(&req));
            CHECK(cancelled(&req) && req != MPI_REQUEST_NULL);
        }
    }
    nothing_left();
    if (t_rank == 0) {
        OK(MPI_Start(&req));
        OK(MPI_Wait(&req, &status));
        OK(MPI_Test_cancelled(&status, &flag));
        CHECK(flag == 0);
        OK(MPI_Request_free(&req));
    } else if (t_rank == 1) {
        OK(MPI_Recv(in, LARGE, MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(t_verify(in, LARGE, 1));
    }
}

/* Too late: it was taken out of matching, and arrives. */
static void probed(void)
{
    MPI_Request req;
    MPI_Message message;
    t_fill(out, LARGE, 2);
    if (t_rank == 0) {
        OK(MPI_Isend(out, LARGE, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &req));
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Cancel(&req));
        OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 8, MPI_COMM_WORLD));
        CHECK(!cancelled(&req));
    } else if (t_rank == 1) {
        OK(MPI_Mprobe(0, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
        OK(MPI_Send(NULL, 0, MPI_BYTE, 0, 8, MPI_COMM_WORLD));
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Mrecv(in, LARGE, MPI_BYTE, &message, MPI_STATUS_IGNORE));
        CHECK(t_verify(in, LARGE, 2));
    }
}

/* A receive comes at about the same time: exactly one of the two has its way. */
static void raced(void)
{
    MPI_Request req;
    int value, flag;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (t_rank == 0) {
            value = i;
            OK(MPI_Issend(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &req));
            for (volatile int spin = 0; spin < i * 200; spin++)
                ;
            flag = cancelled(&req);
            value = flag ? -i - 1 : i + 1000;
            OK(MPI_Send(&value, 1, MPI_INT, 1, flag ? 9 : 10, MPI_COMM_WORLD));
        } else if (t_rank == 1) {
            OK(MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(value == i || value == -i - 1);
            if (value == i) {
                OK(MPI_Recv(&value, 1, MPI_INT, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                CHECK(value == i + 1000);
            }
        }
    }
}

/* More than the NICs can remember: some are with this library, some with the receiver's. */
static void many(void)
{
    MPI_Request *reqs = malloc(MANY * sizeof(*reqs));
    int value = 5, left = 0;
    t_fill(out, LARGE, 3);
    for (int i = 0; t_rank == 0 && i < MANY; i++)
        OK(MPI_Issend(out, i % 3 ? 20000 : 4, MPI_BYTE, 1, 11, MPI_COMM_WORLD, &reqs[i]));
    if (t_rank == 0) {
        OK(MPI_Send(&value, 1, MPI_INT, 1, 12, MPI_COMM_WORLD));
        for (int i = 0; i < MANY; i++)
            if (i != MANY / 2)
                OK(MPI_Cancel(&reqs[i]));
        for (int i = 0; i < MANY; i++) {
            MPI_Status status;
            int flag = 1;
            if (i == MANY / 2)
                continue;
            OK(MPI_Wait(&reqs[i], &status));
            OK(MPI_Test_cancelled(&status, &flag));
            left += !flag;
        }
        CHECK(left == 0);
        OK(MPI_Send(&value, 1, MPI_INT, 1, 13, MPI_COMM_WORLD));
        OK(MPI_Wait(&reqs[MANY / 2], MPI_STATUS_IGNORE));
    } else if (t_rank == 1) {
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(in, LARGE, MPI_BYTE, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(t_verify(in, MANY / 2 % 3 ? 20000 : 4, 3));
    }
    free(reqs);
    nothing_left();
}

/* MPI has no cancel for these. */
static void not_of_partitioned(void)
{
    MPI_Request req;
    t_errors_return();
    if (t_rank == 0)
        OK(MPI_Psend_init(out, 2, 8, MPI_BYTE, 1, 14, MPI_COMM_WORLD, MPI_INFO_NULL, &req));
    else if (t_rank == 1)
        OK(MPI_Precv_init(in, 2, 8, MPI_BYTE, 0, 14, MPI_COMM_WORLD, MPI_INFO_NULL, &req));
    if (t_rank < 2) {
        OK(MPI_Start(&req));
        FAILS(MPI_Cancel(&req), MPI_ERR_REQUEST);
        if (t_rank == 0)
            OK(MPI_Pready_range(0, 1, req));
        OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
        OK(MPI_Request_free(&req));
    }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    unmatched();
    persistent();
    probed();
    raced();
    many();
    not_of_partitioned();
    return t_end();
}

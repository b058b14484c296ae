/* SPDX-License-Identifier: BSD-3-Clause */
/* When MPI_Cancel returns, it is settled what becomes of a receive, or of a send to oneself: the next look (MPI_Test,
 * MPI_Request_get_status, MPI_Iprobe) tells, and a program that goes on by its answer does not wait for a message that
 * was taken back. */
#include "mpitest.h"

enum { ROUNDS = 300, MANY = 40 };

static MPI_Request send_to_self(const void *buf, int count, int tag, int form)
{
    MPI_Request req;
    if (form == 0)
        OK(MPI_Issend(buf, count, MPI_BYTE, t_rank, tag, MPI_COMM_WORLD, &req));
    else
        OK(MPI_Isend(buf, count, MPI_BYTE, t_rank, tag, MPI_COMM_WORLD, &req));
    return req;
}

/* One look says both: ended, and whether as cancelled. */
static int look(MPI_Request *req, int by_test)
{
    MPI_Status status;
    int flag, cancelled = 0;
    if (by_test)
        OK(MPI_Test(req, &flag, &status));
    else
        OK(MPI_Request_get_status(*req, &flag, &status));
    if (flag)
        OK(MPI_Test_cancelled(&status, &cancelled));
    if (flag && !by_test)
        OK(MPI_Wait(req, MPI_STATUS_IGNORE));
    return flag ? cancelled : -1;
}

static void receives(void)
{
    int value;
    MPI_Request req;
    for (int i = 0; i < ROUNDS; i++) {
        OK(MPI_Irecv(&value, 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : t_rank, 1, MPI_COMM_WORLD, &req));
        OK(MPI_Cancel(&req));
        CHECK(look(&req, i & 1) == 1);
        CHECK(req == MPI_REQUEST_NULL);
    }
}

/* A synchronous or long send that nobody receives: taken back, and neither a probe nor a receive sees it. */
static void sends(size_t bytes, int form)
{
    unsigned char *buf = malloc(bytes + 1), *got = malloc(bytes + 1);
    int flag;
    CHECK(buf != NULL && got != NULL);
    for (int i = 0; i < ROUNDS; i++) {
        t_fill(buf, bytes, (uint64_t)i);
        MPI_Request req = send_to_self(buf, (int)bytes, 2, form);
        OK(MPI_Cancel(&req));
        int cancelled = look(&req, i & 1);
        OK(MPI_Iprobe(t_rank, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(flag == (cancelled != 1));
        if (flag) {
            OK(MPI_Recv(got, (int)bytes, MPI_BYTE, t_rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(t_verify(got, bytes, (uint64_t)i));
        }
        OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    }
    free(buf);
    free(got);
}

/* Matched by MPI_Mprobe: too late, and the message arrives. */
static void taken(void)
{
    int value = 5, got = 0;
    MPI_Message message;
    MPI_Status status;
    MPI_Request req;
    OK(MPI_Issend(&value, 1, MPI_INT, t_rank, 3, MPI_COMM_WORLD, &req));
    OK(MPI_Mprobe(t_rank, 3, MPI_COMM_WORLD, &message, &status));
    OK(MPI_Cancel(&req));
    CHECK(look(&req, 0) == -1);
    OK(MPI_Mrecv(&got, 1, MPI_INT, &message, &status));
    OK(MPI_Wait(&req, &status));
    int cancelled;
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(!cancelled && got == 5);
}

/* Many at a time, backwards. */
static void many(void)
{
    MPI_Request req[MANY];
    int value[MANY];
    for (int i = 0; i < MANY; i++)
        OK(MPI_Issend(&value[i], 1, MPI_INT, t_rank, 4 + i, MPI_COMM_WORLD, &req[i]));
    for (int i = MANY - 1; i >= 0; i--) {
        OK(MPI_Cancel(&req[i]));
        CHECK(look(&req[i], i & 1) == 1);
    }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    receives();
    sends(0, 0);
    sends(40, 0);
    sends(3000, 0);
    sends(200000, 0);
    sends(200000, 1);
    taken();
    many();
    return t_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Probe, iprobe, mprobe, improbe: they tell source, tag and size without receiving; a message taken
 * by a matched probe is seen by no other receive. */
#include "mpitest.h"

static void plain_probe(void)
{
    if (t_rank == 1) {
        char data[100];
        t_fill(data, sizeof(data), 1);
        OK(MPI_Send(data, 37, MPI_BYTE, 0, 3, MPI_COMM_WORLD));
        OK(MPI_Send(data, 100, MPI_BYTE, 0, 4, MPI_COMM_WORLD));
    } else if (t_rank == 0) {
        MPI_Status status;
        char data[100];
        int count, flag = 1;
        OK(MPI_Probe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == 100 && status.MPI_SOURCE == 1 && status.MPI_TAG == 4);
        OK(MPI_Probe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == 37 && status.MPI_TAG == 3);
        OK(MPI_Iprobe(1, 77, MPI_COMM_WORLD, &flag, &status));
        CHECK(flag == 0);
        OK(MPI_Iprobe(1, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(flag == 1);
        OK(MPI_Recv(data, 100, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &status));
        CHECK(t_verify(data, 37, 1));
        OK(MPI_Recv(data, 100, MPI_BYTE, 1, 4, MPI_COMM_WORLD, &status));
        CHECK(t_verify(data, 100, 1));
        OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
        CHECK(flag == 0);
    }
}

static const size_t lens[3] = {16, 5000, 400000};

static void matched_sender(void)
{
    char *data = malloc(lens[2]);
    for (int i = 0; i < 3; i++) {
        t_fill(data, lens[i], (uint64_t)i);
        OK(MPI_Send(data, (int)lens[i], MPI_BYTE, 0, 8, MPI_COMM_WORLD));
    }
    free(data);
}

static void matched_receiver(void)
{
    char *data = malloc(lens[2]);
    MPI_Message first, second, third, none;
    MPI_Status status;
    MPI_Request req;
    int count, flag = 0;
    OK(MPI_Mprobe(1, 8, MPI_COMM_WORLD, &first, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK((size_t)count == lens[0]);
    while (!flag)
        OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &second, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK((size_t)count == lens[1] && second != MPI_MESSAGE_NULL);
    OK(MPI_Mprobe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &third, MPI_STATUS_IGNORE));
    OK(MPI_Improbe(1, 8, MPI_COMM_WORLD, &flag, &none, MPI_STATUS_IGNORE));
    CHECK(flag == 0);
    OK(MPI_Mrecv(data, (int)lens[1], MPI_BYTE, &second, &status));
    CHECK(second == MPI_MESSAGE_NULL && t_verify(data, lens[1], 1));
    OK(MPI_Imrecv(data, (int)lens[2], MPI_BYTE, &third, &req));
    OK(MPI_Wait(&req, &status));
    CHECK(t_verify(data, lens[2], 2) && status.MPI_SOURCE == 1 && status.MPI_TAG == 8);
    OK(MPI_Mrecv(data, (int)lens[0], MPI_BYTE, &first, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(t_verify(data, lens[0], 0) && (size_t)count == lens[0]);
    free(data);
}

static void proc_null(void)
{
    MPI_Status status;
    MPI_Message message;
    int flag = 0, count = -1, value = 4;
    OK(MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    OK(MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &status));
    CHECK(flag == 1);
    OK(MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status));
    CHECK(message == MPI_MESSAGE_NO_PROC);
    OK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL && count == 0);
    CHECK(value == 4);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    plain_probe();
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 1)
        matched_sender();
    else if (t_rank == 0)
        matched_receiver();
    proc_null();
    return t_end();
}

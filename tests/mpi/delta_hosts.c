/* SPDX-License-Identifier: BSD-3-Clause */
/* A delta receive from any source where one sender is reached by memory and the other by the NIC: it returns when it is matched, and
 * what is ready comes before the message ends. Three ranks on two hosts. */
#include "mpi_offload.h"

#include "mpitest.h"

enum { N = 1 << 20, TAG = 5, ACK = 6, GO = 7 };

static unsigned char *memory;

static void word(int to, int tag)
{
    OK(MPI_Send(NULL, 0, MPI_BYTE, to, tag, MPI_COMM_WORLD));
}

static void heard(int from, int tag)
{
    OK(MPI_Recv(NULL, 0, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void send(int first)
{
    MPI_Request req;
    heard(0, GO);
    t_fill(memory, N, (uint64_t)t_rank);
    if (first)
        heard(0, GO); /* the receive is called by now, or soon */
    OK(MPIX_Delta_send_begin(memory, N, MPI_BYTE, 0, TAG + 10 * t_rank, MPI_COMM_WORLD, &req));
    OK(MPIX_Delta_send_data(req, memory, N / 2));
    heard(0, ACK);
    OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
}

static void receive(int from, int tag, int first)
{
    MPI_Status status;
    int count;
    word(from, GO);
    if (first)
        word(from, GO);
    memset(memory, 0, N);
    OK(MPIX_Delta_recv(memory, N, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == from && status.MPI_TAG == TAG + 10 * from);
    OK(MPIX_Delta_wait_data(memory, N / 4));
    CHECK(t_verify(memory, N / 4, (uint64_t)from));
    word(from, ACK);
    OK(MPIX_Delta_recv_wait(memory, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == N && status.MPI_SOURCE == from && t_verify(memory, N, (uint64_t)from));
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 3);
    memory = malloc(N);
    CHECK(memory != NULL);
    for (int turn = 0; turn < 8; turn++) {
        int from = 1 + turn % 2, first = turn % 4 < 2;
        if (t_rank == 0)
            receive(from, turn < 4 ? MPI_ANY_TAG : TAG + 10 * from, first);
        else if (t_rank == from)
            send(first);
    }
    int code = t_end();
    free(memory);
    return code;
}

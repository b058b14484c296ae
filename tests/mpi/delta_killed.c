/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank is killed between two increments: the other one's calls name it, what had come stays, nothing hangs. Argument: who
 * is killed, the sender or the receiver. Needs nof run --on-failure=continue. */
#include "mpi_offload.h"

#include "mpitest.h"

#include <signal.h>

enum { BYTES = 409600, HALF = BYTES / 2 };

static unsigned char buf[BYTES] __attribute__((aligned(4096)));

static void survive(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;
    OK(MPI_Error_string(code, text, &len));
    CHECK(t_class(code) == MPIX_ERR_PROC_FAILED && strstr(text, "rank 1") != NULL);
}

static void send_half(int dies)
{
    MPI_Request req;
    OK(MPIX_Delta_send_begin(buf, BYTES, MPI_BYTE, t_rank ^ 1, 5, MPI_COMM_WORLD, &req));
    t_fill(buf, HALF + HALF / 2, 1); /* by pages, what is written last waits for the end */
    OK(MPIX_Delta_send_data(req, buf, HALF));
    int code = MPI_Recv(NULL, 0, MPI_BYTE, t_rank ^ 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (dies)
        raise(SIGKILL);
    CHECK(code == MPI_SUCCESS || t_class(code) == MPIX_ERR_PROC_FAILED);
    /* A message that ends before the other one is dead for sure may get there whole. */
    CHECK(t_class(MPI_Recv(NULL, 0, MPI_BYTE, t_rank ^ 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) ==
          MPIX_ERR_PROC_FAILED);
    survive(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    CHECK(req == MPI_REQUEST_NULL);
    memset(buf, 0, BYTES);
}

static void receive_half(int dies)
{
    MPI_Status status;
    OK(MPIX_Delta_recv(buf, BYTES, MPI_BYTE, t_rank ^ 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPIX_Delta_wait_data(buf, HALF));
    CHECK(t_verify(buf, HALF, 1));
    OK(MPI_Send(NULL, 0, MPI_BYTE, t_rank ^ 1, 6, MPI_COMM_WORLD));
    if (dies)
        raise(SIGKILL);
    survive(MPIX_Delta_wait_data(buf + HALF, HALF));
    CHECK(buf[BYTES - 1] == 0); /* by pages, waits until the message has failed */
    survive(MPIX_Delta_recv_wait(buf, &status));
    CHECK(t_verify(buf, HALF, 1));
    memset(buf, 0, BYTES);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    int sender = argc > 1 && strcmp(argv[1], "sender") == 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == (sender ? 1 : 0))
        send_half(t_rank == 1);
    else
        receive_half(t_rank == 1);
    printf("rank %d survived\n", t_rank);
    MPI_Finalize();
    return 0;
}

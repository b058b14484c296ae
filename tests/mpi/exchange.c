/* SPDX-License-Identifier: BSD-3-Clause */
/* Send and receive in one call, blocking or not, in place or not, to nobody and from nobody; large-count
 * functions; buffers of a communicator beside that of the process, and their flush. */
#include "mpitest.h"

enum { N = 40000 };

static int in[N], out[N];

static void fill(void)
{
    for (int i = 0; i < N; i++) {
        in[i] = t_rank * N + i;
        out[i] = -1;
    }
}

static int came_from(const int *buf, int rank, int n)
{
    for (int i = 0; i < n; i++)
        if (buf[i] != rank * N + i)
            return 0;
    return 1;
}

static void both(int n)
{
    int other = t_rank ^ 1;
    MPI_Request req;
    MPI_Status status;
    MPI_Count count;
    fill();
    OK(MPI_Isendrecv(in, n, MPI_INT, other, 1, out, n, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &req));
    OK(MPI_Wait(&req, &status));
    OK(MPI_Get_count_c(&status, MPI_INT, &count));
    CHECK(req == MPI_REQUEST_NULL && status.MPI_SOURCE == other && count == n && came_from(out, other, n));
    fill();
    OK(MPI_Sendrecv_c(in, n, MPI_INT, other, 2, out, n, MPI_INT, other, 2, MPI_COMM_WORLD, &status));
    CHECK(came_from(out, other, n));
    fill();
    OK(MPI_Isendrecv_replace_c(in, n, MPI_INT, other, 3, other, 3, MPI_COMM_WORLD, &req));
    OK(MPI_Wait(&req, &status));
    CHECK(status.MPI_TAG == 3 && came_from(in, other, n));
    OK(MPI_Sendrecv_replace(in, n, MPI_INT, other, 4, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(came_from(in, t_rank, n));
}

/* One half is nobody: the other half counts, and the call ends when that does. */
static void halves(void)
{
    int other = t_rank ^ 1;
    MPI_Request req;
    MPI_Status status;
    fill();
    if (t_rank == 0) {
        OK(MPI_Isendrecv(in, N, MPI_INT, other, 1, out, N, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &req));
        OK(MPI_Wait(&req, &status));
        CHECK(status.MPI_SOURCE == MPI_PROC_NULL && out[0] == -1);
    } else {
        OK(MPI_Isendrecv(in, N, MPI_INT, MPI_PROC_NULL, 1, out, N, MPI_INT, other, 1, MPI_COMM_WORLD, &req));
        OK(MPI_Wait(&req, &status));
        CHECK(status.MPI_SOURCE == other && came_from(out, other, N));
    }
    OK(MPI_Sendrecv_replace(in, N, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
    CHECK(came_from(in, t_rank, N));
    FAILS(MPI_Isendrecv(in, 1, MPI_INT, t_size, 1, out, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &req),
          MPI_ERR_RANK);
    FAILS(MPI_Sendrecv(in, 1, MPI_INT, 0, 1, out, 1, MPI_INT, 0, -7, MPI_COMM_WORLD, &status), MPI_ERR_TAG);
}

static void buffers(void)
{
    enum { ROOM = 10000 };
    static char of_comm[ROOM], of_process[ROOM];
    int other = t_rank ^ 1;
    MPI_Comm comm;
    MPI_Request req;
    void *back;
    int size;
    MPI_Count bytes;
    fill();
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Buffer_attach_c(of_process, sizeof(of_process)));
    OK(MPI_Comm_attach_buffer(comm, of_comm, MPI_BSEND_OVERHEAD + 40));
    FAILS(MPI_Comm_attach_buffer(comm, of_comm, ROOM), MPI_ERR_BUFFER);
    /* The communicator's buffer counts for it, not the larger one of the process. */
    FAILS(MPI_Bsend(in, 1000, MPI_INT, other, 1, comm), MPI_ERR_BUFFER);
    OK(MPI_Bsend(in, 10, MPI_INT, other, 1, comm));
    OK(MPI_Bsend_c(in, 1000, MPI_INT, other, 1, MPI_COMM_WORLD));
    OK(MPI_Comm_iflush_buffer(comm, &req));
    OK(MPI_Recv_c(out, N, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE));
    CHECK(came_from(out, other, 10) && out[10] == -1);
    OK(MPI_Recv(out, N, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(came_from(out, other, 1000));
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    OK(MPI_Buffer_flush());
    OK(MPI_Comm_detach_buffer(comm, &back, &size));
    CHECK(back == of_comm && size == MPI_BSEND_OVERHEAD + 40);
    OK(MPI_Buffer_detach_c(&back, &bytes));
    CHECK(back == of_process && bytes == ROOM);
    OK(MPI_Comm_attach_buffer_c(comm, MPI_BUFFER_AUTOMATIC, 0));
    OK(MPI_Bsend(in, N, MPI_INT, other, 2, comm));
    OK(MPI_Recv(out, N, MPI_INT, other, 2, comm, MPI_STATUS_IGNORE));
    OK(MPI_Comm_flush_buffer(comm));
    OK(MPI_Comm_detach_buffer(comm, &back, &size));
    CHECK(back == MPI_BUFFER_AUTOMATIC && came_from(out, other, N));
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    both(1);
    both(N);
    halves();
    buffers();
    return t_end();
}

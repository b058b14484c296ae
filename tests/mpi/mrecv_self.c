/* SPDX-License-Identifier: BSD-3-Clause */
/* A message that a process sent to itself and found by a probe is received when MPI_Imrecv returns: one look says so.
 * (Programs look once, and let the buffer go.) The send has ended by the next look, too. */
#include "mpitest.h"

static void receive(size_t bytes, int mode)
{
    unsigned char *out = malloc(bytes + 1), *in = calloc(1, bytes + 1);
    MPI_Request send, recv;
    MPI_Message message;
    MPI_Status status;
    int flag = 0, count = -1;
    CHECK(out != NULL && in != NULL);
    t_fill(out, bytes, bytes);
    if (mode == 0)
        OK(MPI_Isend(out, (int)bytes, MPI_BYTE, t_rank, 7, MPI_COMM_WORLD, &send));
    else
        OK(MPI_Issend(out, (int)bytes, MPI_BYTE, t_rank, 7, MPI_COMM_WORLD, &send));
    OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    OK(MPI_Imrecv(in, (int)bytes, MPI_BYTE, &message, &recv));
    OK(MPI_Test(&recv, &flag, &status));
    CHECK(flag && recv == MPI_REQUEST_NULL && message == MPI_MESSAGE_NULL);
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == (int)bytes && status.MPI_SOURCE == t_rank && status.MPI_TAG == 7);
    CHECK(t_verify(in, bytes, bytes));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {0, 1, 32, 3000, 70000, 1000000};
    t_begin(&argc, &argv, 1);
    for (int round = 0; round < 20; round++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
            for (int mode = 0; mode < 2; mode++)
                receive(sizes[i], mode);
    /* Too long for its buffer: the error is the wait's to tell, not the call's. */
    int out[2] = {1, 2}, in = 0;
    MPI_Message message;
    MPI_Request send, recv;
    t_errors_return();
    OK(MPI_Isend(out, 2, MPI_INT, t_rank, 8, MPI_COMM_WORLD, &send));
    OK(MPI_Mprobe(t_rank, 8, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    OK(MPI_Imrecv(&in, 1, MPI_INT, &message, &recv));
    FAILS(MPI_Wait(&recv, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    return t_end();
}

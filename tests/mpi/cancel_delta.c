/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Cancel of a delta send to oneself that a receive has matched comes back, though the send ends only behind it. */
#include "mpi_offload.h"

#include "mpitest.h"

enum { ROUNDS = 50, BYTES = 20000 };

int main(int argc, char **argv)
{
    static char out[BYTES], in[BYTES];
    t_begin(&argc, &argv, 1);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request send, recv;
        MPI_Status status;
        int cancelled;
        OK(MPI_Irecv(in, BYTES, MPI_BYTE, t_rank, 1, MPI_COMM_WORLD, &recv));
        OK(MPIX_Delta_send_begin(out, BYTES, MPI_BYTE, t_rank, 1, MPI_COMM_WORLD, &send));
        OK(MPI_Cancel(&send));
        memset(out, i + 1, BYTES);
        OK(MPIX_Delta_wait(&send, &status));
        OK(MPI_Test_cancelled(&status, &cancelled));
        if (cancelled)
            OK(MPI_Cancel(&recv));
        OK(MPI_Wait(&recv, MPI_STATUS_IGNORE));
        CHECK(cancelled || (in[0] == i + 1 && in[BYTES - 1] == i + 1));
    }
    return t_end();
}

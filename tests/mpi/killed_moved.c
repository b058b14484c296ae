/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank whose sends did not wait for their receiver dies: the bytes have moved into its part of the segment, and are received. Two ranks
 * of a host (killed_shm.sh), of which the last one dies. */
#include "doomed.h"

#include <signal.h>

#ifndef MPI_ERR_PROC_FAILED
#define MPI_ERR_PROC_FAILED MPIX_ERR_PROC_FAILED
#endif

enum { BYTES = 8192, SENDS = 5 };

int main(int argc, char **argv)
{
    static unsigned char data[BYTES];
    t_begin(&argc, &argv, 2);
    int dead = t_size - 1, ear = t_ear();
    t_errors_return();
    t_all_are_ready(ear, dead);
    if (t_rank == dead) {
        for (int i = 0; i < SENDS; i++) { /* each ends, and its buffer is the next one's */
            memset(data, i + 1, sizeof(data));
            OK(MPI_Send(data, BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD));
        }
        raise(SIGKILL);
    }
    t_await_end(dead);
    for (int i = SENDS - 1; i >= 0; i--) {
        OK(MPI_Recv(data, BYTES, MPI_BYTE, dead, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int b = 0; b < BYTES; b++)
            CHECK(data[b] == i + 1);
    }
    CHECK(t_class(MPI_Recv(data, BYTES, MPI_BYTE, dead, SENDS, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) ==
          MPI_ERR_PROC_FAILED);
    printf("rank %d survived\n", t_rank);
    MPI_Finalize();
    return 0;
}

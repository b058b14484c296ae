/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends that their program let go of, and that nobody receives, both ways between ranks that exchange nothing in a barrier of six:
 * MPI_Finalize takes back also those that could not leave before its barrier has ended. */
#include "mpitest.h"

enum { RANKS = 6, SENDS = 1000, BYTES = 100000 };

int main(int argc, char **argv)
{
    static char data[BYTES];
    t_begin(&argc, &argv, RANKS);
    int to = t_rank < RANKS ? (t_rank + RANKS / 2) % RANKS : t_rank;
    for (int k = 0; k < SENDS; k++) {
        MPI_Request one;
        OK(k % 3 == 0 ? MPI_Issend(data, 1, MPI_BYTE, to, 9, MPI_COMM_WORLD, &one)
                      : MPI_Isend(data, BYTES, MPI_BYTE, to, 9, MPI_COMM_WORLD, &one));
        OK(MPI_Request_free(&one));
    }
    MPI_Finalize();
    return 0;
}

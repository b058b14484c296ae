/* SPDX-License-Identifier: BSD-3-Clause */
/* More large and synchronous sends under way than a NIC can remember, and a small message behind
 * them that is received first; then the large ones, from the last to the first. */
#include "mpitest.h"

enum { SENDS = 6000, LEN = 20000 };

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    static char big[LEN], in[LEN];
    if (t_rank == 0) {
        MPI_Request *reqs = malloc(SENDS * sizeof(*reqs));
        t_fill(big, LEN, 3);
        for (int i = 0; i < SENDS; i++)
            if (i % 3)
                OK(MPI_Isend(big, LEN, MPI_BYTE, 1, 10 + i, MPI_COMM_WORLD, &reqs[i]));
            else
                OK(MPI_Issend(big, 4, MPI_BYTE, 1, 10 + i, MPI_COMM_WORLD, &reqs[i]));
        int value = 5;
        OK(MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD));
        OK(MPI_Waitall(SENDS, reqs, MPI_STATUSES_IGNORE));
        free(reqs);
    } else if (t_rank == 1) {
        int value, count;
        MPI_Status status;
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(value == 5);
        for (int i = SENDS - 1; i >= 0; i--) {
            memset(in, 0, LEN);
            OK(MPI_Recv(in, LEN, MPI_BYTE, 0, 10 + i, MPI_COMM_WORLD, &status));
            OK(MPI_Get_count(&status, MPI_BYTE, &count));
            CHECK(count == (i % 3 ? LEN : 4) && t_verify(in, (size_t)count, 3));
        }
    }
    return t_end();
}

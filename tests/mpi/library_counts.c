/* SPDX-License-Identifier: BSD-3-Clause */
/* What library_counts.py looks for in `nof stats`: ROUNDS allreduces and, from each rank to each other one, MESSAGES of BYTES.
 * With "wait" each rank then waits for a message that the next one does not send. */
#include "mpitest.h"

enum { ROUNDS = 5, VALUES = 256, MESSAGES = 7, BYTES = 100 };

int main(int argc, char **argv)
{
    char out[BYTES] = {0}, in[BYTES];
    int values[VALUES], sums[VALUES];
    t_begin(&argc, &argv, 4);
    for (int i = 0; i < VALUES; i++)
        values[i] = i + 1;
    for (int i = 0; i < ROUNDS; i++) {
        OK(MPI_Allreduce(values, sums, VALUES, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sums[0] == t_size && sums[VALUES - 1] == t_size * VALUES);
    }
    for (int i = 0; i < MESSAGES * (t_size - 1); i++) {
        int by = 1 + i % (t_size - 1);
        OK(MPI_Sendrecv(out, BYTES, MPI_BYTE, (t_rank + by) % t_size, i, in, BYTES, MPI_BYTE,
                        (t_rank + t_size - by) % t_size, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    if (argc > 1 && strcmp(argv[1], "wait") == 0)
        OK(MPI_Recv(in, BYTES, MPI_BYTE, (t_rank + 1) % t_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return t_end();
}

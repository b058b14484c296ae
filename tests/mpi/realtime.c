/* SPDX-License-Identifier: BSD-3-Clause */
/* Of a job whose ranks and NIC cores keep a CPU until they sleep: waits of all kinds, and calls that are asked again and again. */
#include <stdlib.h>

#include "mpitest.h"

enum { LONG = 1 << 20, TIMES = 20 };

static char *out, *in;

static void asked(int to, int from, int bytes)
{
    MPI_Request reqs[2];
    int done = 0;
    OK(MPI_Irecv(in, bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, &reqs[0]));
    OK(MPI_Isend(out, bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD, &reqs[1]));
    while (!done)
        OK(MPI_Testall(2, reqs, &done, MPI_STATUSES_IGNORE));
}

static void probed(int to, int from)
{
    MPI_Request req;
    int here = 0;
    OK(MPI_Isend(out, 8, MPI_BYTE, to, 2, MPI_COMM_WORLD, &req));
    while (!here)
        OK(MPI_Iprobe(from, 2, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE));
    OK(MPI_Recv(in, 8, MPI_BYTE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    int to = (t_rank + 1) % t_size, from = (t_rank + t_size - 1) % t_size;
    out = calloc(LONG, 1);
    in = calloc(LONG, 1);
    CHECK(out != NULL && in != NULL);
    for (int i = 0; i < TIMES; i++) {
        int sum = 0;
        for (int bytes = 8; bytes <= LONG; bytes *= 512)
            OK(MPI_Sendrecv(out, bytes, MPI_BYTE, to, 0, in, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE));
        asked(to, from, 8);
        asked(to, from, LONG);
        probed(to, from);
        OK(MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum == i * t_size);
    }
    free(out);
    free(in);
    OK(MPI_Finalize());
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A message longer than its receive: MPI_ERR_TRUNCATE, nothing written behind the buffer, and what
 * comes after it is received as if nothing had happened. One that ends within an element: MPI_ERR_TYPE. */
#include "mpitest.h"

static const int lens[] = {8, 40, 1000, 8000, 100000, 1000000};
enum { LENS = sizeof(lens) / sizeof(lens[0]) };

static void one(int len, int early)
{
    int half = len / 2;
    if (t_rank == 1) {
        char *data = malloc((size_t)len);
        t_fill(data, (size_t)len, (uint64_t)len);
        if (early)
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Request req;
        OK(MPI_Isend(data, len, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &req));
        OK(MPI_Send(&len, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
        OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
        free(data);
    } else if (t_rank == 0) {
        char *data = malloc((size_t)len);
        memset(data, 0x5a, (size_t)len);
        MPI_Request req;
        MPI_Status status;
        int after = 0;
        if (!early)
            OK(MPI_Recv(&after, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Irecv(data, half, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req));
        if (early)
            MPI_Barrier(MPI_COMM_WORLD);
        FAILS(MPI_Wait(&req, &status), MPI_ERR_TRUNCATE);
        for (int i = half; i < len; i++)
            CHECK(data[i] == 0x5a);
        if (early)
            OK(MPI_Recv(&after, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(after == len);
        free(data);
    } else if (early) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Three bytes for integers that lie apart: the signatures differ, and it is said so. */
static void part_of_an_element(void)
{
    int out[3] = {1, 2, 3}, in[8] = {0};
    MPI_Datatype apart;
    OK(MPI_Type_vector(3, 1, 2, MPI_INT, &apart));
    OK(MPI_Type_commit(&apart));
    if (t_rank == 1) {
        OK(MPI_Send(out, 3, MPI_BYTE, 0, 3, MPI_COMM_WORLD));
        OK(MPI_Send(out, 2, MPI_INT, 0, 3, MPI_COMM_WORLD));
    } else if (t_rank == 0) {
        MPI_Status status;
        int count = -1;
        FAILS(MPI_Recv(in, 1, apart, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
        OK(MPI_Recv(in, 1, apart, 1, 3, MPI_COMM_WORLD, &status));
        OK(MPI_Get_elements(&status, apart, &count));
        CHECK(count == 2 && in[0] == 1 && in[2] == 2 && in[4] == 0);
    }
    OK(MPI_Type_free(&apart));
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    for (int i = 0; i < LENS; i++)
        for (int early = 0; early < 2; early++)
            one(lens[i], early);
    part_of_an_element();
    return t_end();
}

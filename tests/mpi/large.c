/* SPDX-License-Identifier: BSD-3-Clause */
/* 16 MiB messages in both directions at once, expected and unexpected, contiguous and strided. */
#include "mpitest.h"

enum { LEN = 16 * 1024 * 1024, COLUMNS = 1024 };

static void contiguous(char *out, char *in, int other, int late)
{
    MPI_Request reqs[2];
    t_fill(out, LEN, (uint64_t)t_rank + 1);
    memset(in, 0, LEN);
    OK(MPI_Isend(out, LEN, MPI_BYTE, other, 1, MPI_COMM_WORLD, &reqs[0]));
    if (late) {
        MPI_Status status;
        int count;
        OK(MPI_Probe(other, 1, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == LEN);
    }
    OK(MPI_Irecv(in, LEN, MPI_BYTE, other, 1, MPI_COMM_WORLD, &reqs[1]));
    OK(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
    CHECK(t_verify(in, LEN, (uint64_t)other + 1));
}

static void strided(char *out, char *in, int other)
{
    MPI_Datatype column;
    OK(MPI_Type_vector(LEN / COLUMNS, 16, COLUMNS, MPI_BYTE, &column));
    OK(MPI_Type_commit(&column));
    memset(in, 0, LEN);
    OK(MPI_Sendrecv(out, 1, column, other, 2, in, 1, column, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (size_t i = 0; i < LEN; i++)
        CHECK((unsigned char)in[i] == (i % COLUMNS < 16 ? t_byte((uint64_t)other + 1, i) : 0));
    OK(MPI_Type_free(&column));
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    int other = t_rank ^ 1;
    if (other < t_size) {
        char *out = malloc(LEN), *in = malloc(LEN);
        contiguous(out, in, other, 0);
        contiguous(out, in, other, 1);
        strided(out, in, other);
        free(out);
        free(in);
    }
    return t_end();
}

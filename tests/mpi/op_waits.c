/* SPDX-License-Identifier: BSD-3-Clause */
/* An operation of the program's that communicates, or does not return: the job ends with a sentence, and does not hang. What ends by
 * itself is let be. Argument: self, barrier, recv, jump. */
#include <setjmp.h>

#include "mpitest.h"

static const char *what;
static jmp_buf back;

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    const int *from = in;
    int *to = inout, one = 1, sum = 0, size;
    for (int i = 0; i < *len; i++)
        to[i] += from[i];
    OK(MPI_Type_size(*type, &size));
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF));
    CHECK(size == (int)sizeof(int) && sum == 1);
    if (strcmp(what, "barrier") == 0)
        OK(MPI_Barrier(MPI_COMM_WORLD));
    if (strcmp(what, "recv") == 0)
        OK(MPI_Recv(&one, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (strcmp(what, "jump") == 0)
        longjmp(back, 1);
}

int main(int argc, char **argv)
{
    MPI_Op op;
    int mine = 1, sum = 0;
    t_begin(&argc, &argv, 2);
    CHECK(argc == 2);
    what = argv[1];
    OK(MPI_Op_create(add, 1, &op));
    if (setjmp(back) == 0) {
        OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, op, MPI_COMM_WORLD));
        CHECK(sum == t_size);
        OK(MPI_Op_free(&op));
    }
    return t_end();
}

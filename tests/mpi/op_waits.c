/* SPDX-License-Identifier: BSD-3-Clause */
/* An operation of the program's that waits for other ranks, or does not return: the job ends with a sentence, and does not hang. What
 * needs this rank alone is let be, as is one that leaves MPI_Reduce_local. Argument: self, probe, local; barrier, recv, jump. */
#include <setjmp.h>
#include <stdbool.h>
#include <unistd.h>

#include "mpitest.h"

static const char *what;
static jmp_buf back;
static bool local;

/* Each waits for the answer of the NIC, or may. */
static void need_this_rank_alone(void)
{
    MPI_Datatype columns;
    MPI_Request request;
    int flag, one = 1, got = 0;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(MPI_Sendrecv(&one, 1, MPI_INT, 0, 2, &got, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_SELF,
                    MPI_STATUS_IGNORE));
    CHECK(got == 1);
    OK(MPI_Type_vector(64, 64, 128, MPI_INT, &columns));
    OK(MPI_Type_commit(&columns));
    OK(MPI_Type_free(&columns));
    OK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

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
    if (strcmp(what, "probe") == 0)
        for (double end = MPI_Wtime() + 0.2; MPI_Wtime() < end;)
            need_this_rank_alone();
    if (strcmp(what, "jump") == 0 || local)
        longjmp(back, 1);
}

static void leave_local(MPI_Op op)
{
    int mine = 1, sum = 0;
    local = true;
    if (setjmp(back) == 0)
        OK(MPI_Reduce_local(&mine, &sum, 1, MPI_INT, op));
    local = false;
    if (t_rank == 0)
        usleep(200 * 1000);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    MPI_Op op;
    int mine = 1, sum = 0;
    t_begin(&argc, &argv, 2);
    CHECK(argc == 2);
    what = argv[1];
    OK(MPI_Op_create(add, 1, &op));
    if (strcmp(what, "local") == 0)
        leave_local(op);
    if (setjmp(back) == 0) {
        OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, op, MPI_COMM_WORLD));
        CHECK(sum == t_size);
        OK(MPI_Op_free(&op));
    }
    return t_end();
}

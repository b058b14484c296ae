/* SPDX-License-Identifier: BSD-3-Clause */
/* A group, or a communicator, that is freed while another is made of it or by way of it is there until that is done: rank 1 waits for rank
 * 0 in the making, and the operation of a reduction that goes on meanwhile frees it, as another thread might. */
#include <time.h>

#include "mpitest.h"

enum { ROUNDS = 5 };
static MPI_Group group = MPI_GROUP_NULL;
static MPI_Comm peers = MPI_COMM_NULL;
static int freed;

/* Group handles after this one take its memory. */
static void take_memory(MPI_Group world)
{
    enum { MANY = 32 };
    MPI_Group many[MANY];
    int self = t_rank;
    for (int i = 0; i < MANY; i++)
        OK(MPI_Group_incl(world, 1, &self, &many[i]));
    for (int i = 0; i < MANY; i++)
        OK(MPI_Group_free(&many[i]));
}

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *len; i++)
        b[i] += a[i];
    if (t_rank == 1 && group != MPI_GROUP_NULL) {
        MPI_Group world;
        OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
        OK(MPI_Group_free(&group));
        take_memory(world);
        OK(MPI_Group_free(&world));
        freed++;
    }
    if (t_rank == 1 && peers != MPI_COMM_NULL) {
        OK(MPI_Comm_free(&peers));
        freed++;
    }
}

/* Rank 0 adds to the sum when rank 1 waits for it elsewhere, most likely, and comes there only when the sum is known. */
static void begin_sum(MPI_Op op, const int *one, int *sum, MPI_Request *request)
{
    struct timespec t = {.tv_nsec = 20000000};
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (t_rank == 0)
        nanosleep(&t, NULL);
    OK(MPI_Iallreduce(one, sum, 1, MPI_INT, op, MPI_COMM_WORLD, request));
    if (t_rank == 0)
        OK(MPI_Wait(request, MPI_STATUS_IGNORE));
}

static void is_whole(MPI_Comm *made, int local)
{
    int rank, size, sum = 0, one = 1;
    OK(MPI_Comm_rank(*made, &rank));
    OK(MPI_Comm_size(*made, &size));
    CHECK(size == local && rank == (local == 1 ? 0 : t_rank));
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, *made));
    CHECK(sum == (local == 1 ? 1 : 2));
    OK(MPI_Comm_free(made));
}

int main(int argc, char **argv)
{
    int one = 1, sum = 0, both[2] = {0, 1};
    MPI_Request request;
    MPI_Op op;
    MPI_Comm made, all;
    MPI_Group world, local;
    t_begin(&argc, &argv, 2);
    OK(MPI_Op_create(add, 1, &op));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < ROUNDS; i++) {
        OK(MPI_Group_incl(world, 2, both, &local));
        begin_sum(op, &one, &sum, &request);
        group = t_rank == 1 ? local : MPI_GROUP_NULL;
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, local, i, &made));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        is_whole(&made, 2);
        if (t_rank == 0)
            OK(MPI_Group_free(&local));

        OK(MPI_Comm_dup(MPI_COMM_WORLD, &all));
        begin_sum(op, &one, &sum, &request);
        peers = t_rank == 1 ? all : MPI_COMM_NULL;
        OK(MPI_Comm_create_group(all, world, i, &made));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        is_whole(&made, 2);
        if (t_rank == 0)
            OK(MPI_Comm_free(&all));

        OK(MPI_Comm_dup(MPI_COMM_WORLD, &made));
        begin_sum(op, &one, &sum, &request);
        peers = t_rank == 1 ? made : MPI_COMM_NULL;
        MPI_Comm inter;
        OK(MPI_Intercomm_create(MPI_COMM_SELF, 0, made, 1 - t_rank, i, &inter));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        is_whole(&inter, 1);
        if (t_rank == 0)
            OK(MPI_Comm_free(&made));
    }
    if (t_rank == 1)
        CHECK(freed == 3 * ROUNDS);
    OK(MPI_Group_free(&world));
    OK(MPI_Op_free(&op));
    return t_end();
}

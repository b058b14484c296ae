/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments that MPI does not look at are what they are: the recorder does not look at them either. And what is wrong with others is told
 * by the call that they were given to. */
#include "mpitest.h"

static void between_two_groups(int rank)
{
    MPI_Comm half, both;
    int mine = 7, got = 0, root = rank == 0 ? MPI_ROOT : 0;

    OK(MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank, 1, &both));
    if (rank == 0) {
        OK(MPI_Gather(NULL, 0, MPI_DATATYPE_NULL, &got, 1, MPI_INT, root, both));
        OK(MPI_Scatter(&got, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, both));
        CHECK(got == 7);
    } else {
        OK(MPI_Gather(&mine, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, both));
        OK(MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, &got, 1, MPI_INT, root, both));
        CHECK(got == 7);
    }
    OK(MPI_Comm_free(&both));
    OK(MPI_Comm_free(&half));
}

static void in_one(int rank)
{
    int out[2] = {1, 2}, in[2] = {0, 0};

    if (rank == 0)
        OK(MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 0, MPI_COMM_WORLD));
    else
        OK(MPI_Gather(out, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    if (rank == 0)
        OK(MPI_Scatter(out, 1, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    else
        OK(MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, 0, MPI_COMM_WORLD));
}

/* Told of as left out. */
static void of_other_kinds(void)
{
    int out[2] = {1, 2}, in[2], counts[2] = {1, 1}, at[2] = {0, sizeof(int)};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};

    OK(MPI_Alltoallw(out, counts, at, types, in, counts, at, types, MPI_COMM_WORLD));
    OK(MPI_Allreduce_c(out, in, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Gather_c(out, 1, MPI_INT, in, 1, MPI_INT, 0, MPI_COMM_WORLD));
}

/* The handler of the communicator is asked, not that of the calls that the recorder makes. */
static void wrong(void)
{
    int number = 0, class = 0;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Error_class(MPI_Bcast(&number, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD), &class));
    CHECK(class == MPI_ERR_TYPE);
    OK(MPI_Error_class(
        MPI_Sendrecv_replace(&number, 1, MPI_INT, -77, 0, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &class));
    CHECK(class == MPI_ERR_RANK);
}

int main(int argc, char **argv)
{
    int rank;

    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    between_two_groups(rank);
    in_one(rank);
    of_other_kinds();
    wrong();
    OK(MPI_Finalize());
    return 0;
}

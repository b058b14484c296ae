/* SPDX-License-Identifier: BSD-3-Clause */
/* Error handlers belong to communicators: a user's function is called with communicator and code, is
 * inherited by a duplicate, and does not concern other communicators. */
#include "mpitest.h"

static int calls;
static MPI_Comm last_comm;
static int last_class;

static void handler(MPI_Comm *comm, int *code, ...)
{
    calls++;
    last_comm = *comm;
    MPI_Error_class(*code, &last_class);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    t_errors_return();
    MPI_Errhandler own, got;
    MPI_Comm comm, copy;
    int v = 0;
    OK(MPI_Comm_create_errhandler(handler, &own));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, own));
    OK(MPI_Errhandler_free(&own)); /* lives on in the communicator */
    CHECK(own == MPI_ERRHANDLER_NULL);
    OK(MPI_Comm_dup(comm, &copy));

    FAILS(MPI_Send(&v, 1, MPI_INT, t_size, 0, comm), MPI_ERR_RANK);
    CHECK(calls == 1 && last_comm == comm && last_class == MPI_ERR_RANK);
    FAILS(MPI_Send(&v, 1, MPI_INT, 0, -9, copy), MPI_ERR_TAG);
    CHECK(calls == 2 && last_comm == copy && last_class == MPI_ERR_TAG);
    FAILS(MPI_Send(&v, 1, MPI_INT, t_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    CHECK(calls == 2);

    OK(MPI_Comm_get_errhandler(copy, &got));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, got));
    OK(MPI_Errhandler_free(&got));
    FAILS(MPI_Send(&v, 1, MPI_INT, t_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    CHECK(calls == 3);
    OK(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
    CHECK(calls == 4 && last_class == MPI_ERR_OTHER);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free(&copy));
    return t_end();
}

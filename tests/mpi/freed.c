/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of freed handles, invented handles and other arguments that MPICH lets pass give the class of
 * their kind and never crash. */
#include "mpitest.h"

/* A matched message outlives the communicator's handle, as any pending operation does. */
static void matched(void)
{
    MPI_Comm comm;
    MPI_Message message;
    int sent = 5, room[1] = {0};
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    MPI_Request sends[2];
    int two[2] = {6, 7};
    MPI_Message long_message;
    OK(MPI_Isend(&sent, 1, MPI_INT, 0, 0, comm, &sends[0]));
    OK(MPI_Isend(two, 2, MPI_INT, 0, 1, comm, &sends[1]));
    OK(MPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE));
    OK(MPI_Mprobe(0, 1, comm, &long_message, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Mrecv(room, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    CHECK(room[0] == 5 && message == MPI_MESSAGE_NULL);
    OK(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
    FAILS(MPI_Mrecv(room, 1, MPI_INT, &long_message, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    t_errors_return();
    int v = 0, n;

    FAILS(MPI_Send(NULL, 4, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    MPI_Comm bad;
    FAILS(MPI_Comm_split(MPI_COMM_WORLD, -3, 0, &bad), MPI_ERR_ARG);
    FAILS(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, NULL), MPI_ERR_ARG);
    FAILS(MPI_Comm_dup(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    FAILS(MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    FAILS(MPI_Group_rank(MPI_GROUP_EMPTY, NULL), MPI_ERR_ARG);
    FAILS(MPI_Group_union(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, NULL), MPI_ERR_ARG);
    FAILS(MPI_Group_incl(MPI_GROUP_EMPTY, 1, NULL, NULL), MPI_ERR_ARG);
    FAILS(MPI_Group_free(NULL), MPI_ERR_ARG);

    MPI_Datatype type, type_copy;
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    type_copy = type;
    OK(MPI_Type_free(&type));
    FAILS(MPI_Type_size(type_copy, &n), MPI_ERR_TYPE);
    FAILS(MPI_Type_free(&type_copy), MPI_ERR_TYPE);
    FAILS(MPI_Send(&v, 1, type_copy, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);

    MPI_Comm comm, comm_copy;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    comm_copy = comm;
    OK(MPI_Comm_free(&comm));
    FAILS(MPI_Comm_rank(comm_copy, &n), MPI_ERR_COMM);
    FAILS(MPI_Barrier(comm_copy), MPI_ERR_COMM);
    FAILS(MPI_Comm_free(&comm_copy), MPI_ERR_COMM);

    MPI_Group group, group_copy;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    group_copy = group;
    MPI_Group twice;
    FAILS(MPI_Group_incl(group, 2, (int[]){0, 0}, &twice), MPI_ERR_RANK);
    OK(MPI_Group_free(&group));
    FAILS(MPI_Group_rank(group_copy, &n), MPI_ERR_GROUP);

    MPI_Request req, req_copy;
    OK(MPI_Irecv(&v, 1, MPI_INT, t_rank, 0, MPI_COMM_WORLD, &req));
    req_copy = req;
    OK(MPI_Send(&n, 1, MPI_INT, t_rank, 0, MPI_COMM_WORLD));
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    FAILS(MPI_Wait(&req_copy, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Test(&req_copy, &n, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Request_free(&req_copy), MPI_ERR_REQUEST);

    /* Numbers that never were handles, of every kind. */
    for (uintptr_t bits = 1; bits < (uintptr_t)1 << 40; bits = bits * 3 + 1) {
        MPI_Comm c = (MPI_Comm)bits;
        MPI_Datatype t = (MPI_Datatype)bits;
        MPI_Request r = (MPI_Request)bits;
        if (c != MPI_COMM_WORLD && c != MPI_COMM_SELF)
            FAILS(MPI_Comm_rank(c, &n), MPI_ERR_COMM);
        if (bits < 0x201 || bits > 0x2eb)
            FAILS(MPI_Type_size(t, &n), MPI_ERR_TYPE);
        if (r != MPI_REQUEST_NULL)
            FAILS(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    }
    matched();
    return t_end();
}

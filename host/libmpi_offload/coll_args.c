/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_args.h"

int nof_coll_begin(MPI_Comm comm, struct nof_comm **comm_out, struct nof_sched **s_out)
{
    *s_out = NULL;
    int rc = nof_comm_check(comm, comm_out);
    if (rc == MPI_SUCCESS && (*s_out = nof_sched_new(*comm_out)) == NULL)
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for a collective operation");
    return rc;
}

int nof_coll_end(struct nof_comm *comm, struct nof_sched *s, int rc, const char *func)
{
    if (rc == MPI_SUCCESS)
        rc = nof_sched_run(s);
    else if (s != NULL)
        nof_sched_free(s);
    return nof_lib_leave(comm, rc, func);
}

int nof_coll_check_root(const struct nof_comm *comm, int root)
{
    if (root < 0 || root >= nof_comm_size(comm))
        return nof_error(MPI_ERR_ROOT, "root %d in a communicator of %d", root, nof_comm_size(comm));
    return MPI_SUCCESS;
}

static int check_buffer(const void *buf, bool bytes)
{
    if (buf == MPI_IN_PLACE)
        return nof_error(MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed for this buffer here");
    if (buf == NULL && bytes)
        return nof_error(MPI_ERR_BUFFER, "the buffer is NULL");
    return MPI_SUCCESS;
}

int nof_coll_check_data(const void *buf, MPI_Count count, MPI_Datatype datatype, struct nof_data *data_out)
{
    struct nof_type *type;
    int rc = nof_type_check(datatype, true, &type);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_count(type, count);
    if (rc == MPI_SUCCESS)
        rc = check_buffer(buf, count > 0 && type->size > 0 && type->contiguous);
    if (rc == MPI_SUCCESS)
        *data_out = (struct nof_data){nof_lib_unconst(buf), (size_t)count, type};
    return rc;
}

int nof_coll_check_blocks(const struct nof_comm *comm, const void *buf, const int *counts, const int *displs,
                          MPI_Datatype datatype, struct nof_blocks *blocks_out)
{
    struct nof_type *type;
    int rc = nof_type_check(datatype, true, &type);
    if (rc == MPI_SUCCESS && (counts == NULL || displs == NULL))
        rc = nof_error(MPI_ERR_ARG, "the counts or displacements are NULL");
    bool bytes = false;
    for (int i = 0; rc == MPI_SUCCESS && i < nof_comm_size(comm); i++) {
        if (counts[i] < 0)
            rc = nof_error(MPI_ERR_COUNT, "the count for rank %d is %d", i, counts[i]);
        else
            bytes = bytes || (counts[i] > 0 && type->size > 0);
    }
    if (rc == MPI_SUCCESS)
        rc = check_buffer(buf, bytes && type->contiguous);
    if (rc == MPI_SUCCESS)
        *blocks_out = (struct nof_blocks){nof_lib_unconst(buf), counts, displs, type};
    return rc;
}

int nof_coll_check_reduction(const void *sendbuf, void *recvbuf, bool needs_out, MPI_Count count,
                             MPI_Datatype datatype, MPI_Op op, struct nof_reduction *r_out)
{
    struct nof_type *type;
    struct nof_op *o;
    int rc = nof_type_check(datatype, true, &type);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_count(type, count);
    if (rc == MPI_SUCCESS)
        rc = nof_op_check(op, type, &o);
    bool bytes = rc == MPI_SUCCESS && count > 0 && type->size > 0 && type->contiguous;
    if (rc == MPI_SUCCESS && sendbuf != MPI_IN_PLACE)
        rc = check_buffer(sendbuf, bytes);
    if (rc == MPI_SUCCESS && needs_out)
        rc = check_buffer(recvbuf, bytes);
    if (rc == MPI_SUCCESS && needs_out && bytes && sendbuf == recvbuf)
        rc = nof_error(MPI_ERR_BUFFER, "send and receive buffer are the same: use MPI_IN_PLACE");
    if (rc == MPI_SUCCESS)
        *r_out = (struct nof_reduction){sendbuf, recvbuf, (size_t)count, type, o};
    return rc;
}

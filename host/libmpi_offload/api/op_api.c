/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "comm/entry.h"
#include "base/error.h"
#include "p2p/delta_settle.h"
#include "type/op.h"

/* A user's operation; one of the functions is NULL. */
static int create(MPI_User_function *fn, MPI_User_function_c *fn_c, int commute, MPI_Op *op)
{
    if ((fn == NULL && fn_c == NULL) || op == NULL)
        return nof_error(MPI_ERR_ARG, "the function or the place for the handle is NULL");
    struct nof_op *own = calloc(1, sizeof(*own));
    uint64_t handle = own == NULL ? 0 : nof_handle_add(&nof_lib.ops, own);
    if (handle == 0) {
        free(own);
        return nof_error(MPI_ERR_NO_MEM, "no memory for an operation");
    }
    *own = (struct nof_op){.kind = NOF_OP_USER,
                           .refs = 1,
                           .commutative = commute != 0,
                           .name = "a user's operation",
                           .fn = fn,
                           .fn_c = fn_c};
    *op = nof_lib_handle(handle);
    return MPI_SUCCESS;
}

NOF_MPI(Op_create)
int PMPI_Op_create(MPI_User_function *user_fn, int commute, MPI_Op *op)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, create(user_fn, NULL, commute, op), __func__);
}

NOF_MPI(Op_create_c)
int PMPI_Op_create_c(MPI_User_function_c *user_fn, int commute, MPI_Op *op)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, create(NULL, user_fn, commute, op), __func__);
}

NOF_MPI(Op_free)
int PMPI_Op_free(MPI_Op *op)
{
    nof_lib_enter(__func__);
    struct nof_op *own;
    int rc = nof_error_if_null(op, "the place of the operation");
    if (rc == MPI_SUCCESS)
        rc = nof_op_check(*op, NULL, &own);
    if (rc == MPI_SUCCESS && own->kind != NOF_OP_USER)
        rc = nof_error(MPI_ERR_OP, "%s is predefined and cannot be freed", own->name);
    if (rc == MPI_SUCCESS) {
        nof_handle_remove(&nof_lib.ops, nof_lib_bits(*op));
        nof_op_release(own);
        *op = MPI_OP_NULL;
    }
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Op_commutative)
int PMPI_Op_commutative(MPI_Op op, int *commute)
{
    nof_lib_enter(__func__);
    struct nof_op *own;
    int rc = nof_op_check(op, NULL, &own);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(commute, "the place for the answer");
    if (rc == MPI_SUCCESS)
        *commute = own->commutative;
    return nof_lib_leave(NULL, rc, __func__);
}

static int reduce_local(const void *inbuf, void *inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    struct nof_type *type;
    struct nof_op *own;
    int rc = nof_type_check(datatype, true, &type);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_count(type, count);
    if (rc == MPI_SUCCESS)
        rc = nof_op_check(op, type, &own);
    if (rc != MPI_SUCCESS)
        return rc;
    if (inbuf == MPI_IN_PLACE || inoutbuf == MPI_IN_PLACE)
        return nof_error(MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed here");
    rc = nof_type_check_buffer(type, inbuf, count);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_buffer(type, inoutbuf, count);
    if (rc != MPI_SUCCESS)
        return rc;
    if (count > 0 && type->size > 0 && inbuf == inoutbuf)
        return nof_error(MPI_ERR_BUFFER, "the two buffers are the same");
    nof_delta_settle_buffer(inbuf, (size_t)count, type);
    nof_delta_settle_buffer(inoutbuf, (size_t)count, type);
    nof_op_apply(own, type, inbuf, inoutbuf, (size_t)count);
    return MPI_SUCCESS;
}

NOF_MPI(Reduce_local)
int PMPI_Reduce_local(const void *inbuf, void *inoutbuf, int count, MPI_Datatype datatype, MPI_Op op)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, reduce_local(inbuf, inoutbuf, count, datatype, op), __func__);
}

NOF_MPI(Reduce_local_c)
int PMPI_Reduce_local_c(const void *inbuf, void *inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, reduce_local(inbuf, inoutbuf, count, datatype, op), __func__);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "error.h"
#include "op.h"

NOF_MPI(Op_create)
int PMPI_Op_create(MPI_User_function *user_fn, int commute, MPI_Op *op)
{
    nof_lib_enter(__func__);
    int rc = MPI_SUCCESS;
    struct nof_op *own = NULL;
    if (user_fn == NULL || op == NULL)
        rc = nof_error(MPI_ERR_ARG, "the function or the place for the handle is NULL");
    else if ((own = calloc(1, sizeof(*own))) == NULL)
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for an operation");
    if (rc == MPI_SUCCESS) {
        *own = (struct nof_op){.kind = NOF_OP_USER,
                               .refs = 1,
                               .commutative = commute != 0,
                               .name = "a user's operation",
                               .fn = user_fn};
        *op = nof_lib_handle(nof_handle_add(&nof_lib.ops, own));
    }
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Op_free)
int PMPI_Op_free(MPI_Op *op)
{
    nof_lib_enter(__func__);
    struct nof_op *own;
    int rc = nof_op_check(*op, NULL, &own);
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
        *commute = own->commutative;
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Reduce_local)
int PMPI_Reduce_local(const void *inbuf, void *inoutbuf, int count, MPI_Datatype datatype, MPI_Op op)
{
    nof_lib_enter(__func__);
    struct nof_type *type;
    struct nof_op *own;
    int rc = nof_type_check(datatype, true, &type);
    if (rc == MPI_SUCCESS)
        rc = nof_op_check(op, type, &own);
    if (rc == MPI_SUCCESS && count < 0)
        rc = nof_error(MPI_ERR_COUNT, "the count is %d", count);
    if (rc == MPI_SUCCESS)
        nof_op_apply(own, type, inbuf, inoutbuf, (size_t)count);
    return nof_lib_leave(NULL, rc, __func__);
}

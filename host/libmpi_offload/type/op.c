/* SPDX-License-Identifier: BSD-3-Clause */
#include "type/op.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>

#include "base/error.h"

#define OP(abi, what, number) [abi] = {.kind = number, .commutative = true, .name = "MPI_" #what}
#define REDUCTION(abi, what) OP(abi, what, NOF_REDUCE_##what)

/* By the number that the ABI gave it. */
static struct nof_op predefined[] = {
    REDUCTION(0x21, SUM),
    REDUCTION(0x22, MIN),
    REDUCTION(0x23, MAX),
    REDUCTION(0x24, PROD),
    REDUCTION(0x28, BAND),
    REDUCTION(0x29, BOR),
    REDUCTION(0x2a, BXOR),
    REDUCTION(0x30, LAND),
    REDUCTION(0x31, LOR),
    REDUCTION(0x32, LXOR),
    REDUCTION(0x38, MINLOC),
    REDUCTION(0x39, MAXLOC),
    OP(0x3c, REPLACE, NOF_OP_REPLACE),
    OP(0x3d, NO_OP, NOF_OP_NO_OP),
};

static struct nof_op *find(MPI_Op handle)
{
    uint64_t bits = nof_lib_bits(handle);
    if (bits < sizeof(predefined) / sizeof(predefined[0]))
        return predefined[bits].name == NULL ? NULL : &predefined[bits];
    return nof_handle_get(&nof_lib.ops, bits);
}

int nof_op_check(MPI_Op handle, const struct nof_type *type, struct nof_op **op_out)
{
    struct nof_op *op = find(handle);
    if (op == NULL)
        return nof_error(MPI_ERR_OP, "%s",
                         handle == MPI_OP_NULL ? "the operation is MPI_OP_NULL"
                                               : "the handle names no operation (freed?)");
    if (type != NULL && op->kind != NOF_OP_USER && !nof_reduce_defined(op->kind, type->basic))
        return nof_error(MPI_ERR_OP, "%s is not defined on %s", op->name,
                         type->predefined ? type->name : "a derived datatype");
    *op_out = op;
    return MPI_SUCCESS;
}

void nof_op_hold(struct nof_op *op)
{
    op->refs++;
}

void nof_op_release(struct nof_op *op)
{
    if (--op->refs == 0 && op->kind == NOF_OP_USER)
        free(op);
}

static void call_user(const struct nof_op *op, MPI_Datatype type, void *in, void *inout, size_t count)
{
    if (op->fn_c != NULL) {
        MPI_Count len = (MPI_Count)count;
        op->fn_c(in, inout, &len, &type);
    } else {
        int len = (int)count;
        op->fn(in, inout, &len, &type);
    }
}

static void apply_user(const struct nof_op *op, struct nof_type *type, const void *in, void *inout,
                       size_t count)
{
    MPI_Datatype handle = type->handle;
    bool freed = !type->predefined && nof_handle_get(&nof_lib.types, nof_lib_bits(handle)) != type;
    if (freed)
        handle = nof_lib_handle(nof_handle_add(&nof_lib.types, type));
    ptrdiff_t extent = nof_type_extent(type);
    size_t most = op->fn_c != NULL ? SIZE_MAX : INT_MAX;
    for (size_t done = 0; done < count;) {
        size_t n = count - done < most ? count - done : most;
        ptrdiff_t at = (ptrdiff_t)done * extent;
        call_user(op, handle, nof_lib_at(in, at), nof_lib_at(inout, at), n);
        done += n;
    }
    if (freed)
        nof_handle_remove(&nof_lib.types, nof_lib_bits(handle));
}

void nof_op_apply(struct nof_op *op, struct nof_type *type, const void *in, void *inout, size_t count)
{
    if (count == 0)
        return;
    if (op->kind == NOF_OP_USER)
        apply_user(op, type, in, inout, count);
    else
        nof_reduce_kernel_of(op->kind, type->basic)(in, inout, count);
}

bool nof_op_computes_as_nic(void)
{
    volatile double one = 1, below = DBL_EPSILON * 0.375, above = DBL_EPSILON * 0.625;
    volatile double least = DBL_MIN, half = 0.5, tiny = DBL_TRUE_MIN;
    volatile double down = one + below, up = one + above;
    volatile double kept = least * half, taken = tiny * (one + one);
    return down == one && up > one && kept > 0 && taken > 0;
}

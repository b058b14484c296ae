/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction operations: inout[i] = in[i] op inout[i].
 *
 * Threads: under the library's lock (recursive: a user's function may ask about datatypes). */
#ifndef NOF_MPI_OP_H
#define NOF_MPI_OP_H

#include "base/lib.h"
#include "type/type.h"

typedef void (*nof_op_kernel)(const void *in, void *inout, size_t count);

enum nof_op_kind {
    NOF_OP_SUM,
    NOF_OP_MIN,
    NOF_OP_MAX,
    NOF_OP_PROD,
    NOF_OP_BAND,
    NOF_OP_BOR,
    NOF_OP_BXOR,
    NOF_OP_LAND,
    NOF_OP_LOR,
    NOF_OP_LXOR,
    NOF_OP_MINLOC,
    NOF_OP_MAXLOC,
    NOF_OP_KINDS,
    NOF_OP_REPLACE, /* one-sided communication only */
    NOF_OP_NO_OP,
    NOF_OP_USER
};

struct nof_op {
    enum nof_op_kind kind;
    uint32_t refs;
    bool commutative;
    const char *name;
    MPI_User_function *fn; /* USER: one of the two */
    MPI_User_function_c *fn_c;
};

/* Operation behind a handle, with the error the standard names; `type` NULL: any. */
int nof_op_check(MPI_Op handle, const struct nof_type *type, struct nof_op **op_out);
void nof_op_hold(struct nof_op *op);
void nof_op_release(struct nof_op *op);

/* inout = in op inout, for a pair that nof_op_check() let pass. A user's function gets a handle of the
 * type that is valid for the call, also when the program has freed it meanwhile. */
void nof_op_apply(struct nof_op *op, struct nof_type *type, const void *in, void *inout, size_t count);

/* op_kernels.c: NULL where the standard has no such operation on this type. */
nof_op_kernel nof_op_kernel_of(enum nof_op_kind kind, enum nof_basic basic);

#endif

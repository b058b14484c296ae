/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction operations: inout[i] = in[i] op inout[i].
 *
 * Threads: under the library's lock (recursive: a user's function may ask about datatypes). */
#ifndef NOF_MPI_OP_H
#define NOF_MPI_OP_H

#include "base/lib.h"
#include "type/type.h"
#include "nof_private/reduce_kernels.h"

/* Beside those of nof/reductions.h. */
enum nof_op_kind {
    NOF_OP_REPLACE = NOF_REDUCE_OPS, /* one-sided communication only */
    NOF_OP_NO_OP,
    NOF_OP_USER
};

struct nof_op {
    unsigned kind; /* enum nof_reduce_op, or nof_op_kind */
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

/* Does this thread round to nearest and keep denormal numbers, as the NIC does (nof/reductions.h)? A program may have set it
 * otherwise, and one that was linked with -ffast-math has. */
bool nof_op_computes_as_nic(void);

#endif

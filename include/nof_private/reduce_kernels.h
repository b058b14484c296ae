/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loops of nof/reductions.h, one source for the NIC core and the MPI library (common/reductions.c,
 * common/reduce_kernels.c). Pure, any thread. */
#ifndef NOF_PRIVATE_REDUCE_KERNELS_H
#define NOF_PRIVATE_REDUCE_KERNELS_H

#include <stddef.h>

#include "nof/reductions.h"

/* inout = in op inout, `count` elements of the type, wherever they lie: no alignment. The two do not overlap. */
typedef void (*nof_reduce_kernel)(const void *in, void *inout, size_t count);

/* The fastest for this processor; all give the same bits. NULL: not defined. Takes any number. */
nof_reduce_kernel nof_reduce_kernel_of(unsigned op, unsigned type);

/* Those of one instruction set; NULL as above. */
struct nof_reduce_kernels {
    nof_reduce_kernel of[NOF_REDUCE_OPS][NOF_REDUCE_TYPES];
};

extern const struct nof_reduce_kernels nof_reduce_portable;
extern const struct nof_reduce_kernels nof_reduce_avx2; /* not in every build */

#endif

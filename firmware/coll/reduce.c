/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduce.h"

#include "nof/status.h"
#include "nof_private/reduce_kernels.h"

uint32_t nof_reduce_most(unsigned type)
{
    bool slow = type == NOF_REDUCE_F128 || type == NOF_REDUCE_C128;
    uint32_t bytes = nof_reduce_bytes(type);

    return bytes == 0 ? 0 : (slow ? NOF_REDUCE_PIECE_BYTES_SLOW : NOF_REDUCE_PIECE_BYTES) / bytes;
}

int nof_reduce(unsigned op, unsigned type, void *inout, const void *in, uint32_t count)
{
    nof_reduce_kernel kernel = nof_reduce_kernel_of(op, type);

    if (kernel == NULL || count > nof_reduce_most(type))
        return NOF_EINVAL;
    kernel(in, inout, count);
    return NOF_OK;
}

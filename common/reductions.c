/* SPDX-License-Identifier: BSD-3-Clause */
#include "nof_private/reduce_kernels.h"

static const uint8_t bytes[NOF_REDUCE_TYPES] = {
    [NOF_REDUCE_I8] = 1,
    [NOF_REDUCE_U8] = 1,
    [NOF_REDUCE_I16] = 2,
    [NOF_REDUCE_U16] = 2,
    [NOF_REDUCE_I32] = 4,
    [NOF_REDUCE_U32] = 4,
    [NOF_REDUCE_I64] = 8,
    [NOF_REDUCE_U64] = 8,
    [NOF_REDUCE_I128] = 16,
    [NOF_REDUCE_F32] = 4,
    [NOF_REDUCE_F64] = 8,
    [NOF_REDUCE_LD] = sizeof(long double),
    [NOF_REDUCE_F128] = 16,
    [NOF_REDUCE_C32] = 8,
    [NOF_REDUCE_C64] = 16,
    [NOF_REDUCE_CLD] = 2 * sizeof(long double),
    [NOF_REDUCE_C128] = 32,
    [NOF_REDUCE_BOOL8] = 1,
    [NOF_REDUCE_LOGICAL16] = 2,
    [NOF_REDUCE_LOGICAL32] = 4,
    [NOF_REDUCE_LOGICAL64] = 8,
    [NOF_REDUCE_LOGICAL128] = 16,
    [NOF_REDUCE_BYTE] = 1,
    [NOF_REDUCE_F32_I32] = 8,
    [NOF_REDUCE_F64_I32] = 16,
    [NOF_REDUCE_I64_I32] = 16,
    [NOF_REDUCE_I32_I32] = 8,
    [NOF_REDUCE_I16_I32] = 8,
    [NOF_REDUCE_LD_I32] = 2 * sizeof(long double),
    [NOF_REDUCE_F32_F32] = 8,
    [NOF_REDUCE_F64_F64] = 16,
};

static const struct nof_reduce_kernels *fastest(void)
{
#ifdef NOF_REDUCE_AVX2 /* the build has them; the processor may not */
    if (__builtin_cpu_supports("avx2"))
        return &nof_reduce_avx2;
#endif
    return &nof_reduce_portable;
}

nof_reduce_kernel nof_reduce_kernel_of(unsigned op, unsigned type)
{
    return op < NOF_REDUCE_OPS && type < NOF_REDUCE_TYPES ? fastest()->of[op][type] : NULL;
}

bool nof_reduce_defined(unsigned op, unsigned type)
{
    return nof_reduce_kernel_of(op, type) != NULL;
}

uint32_t nof_reduce_bytes(unsigned type)
{
    return type < NOF_REDUCE_TYPES ? bytes[type] : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#define NOF_DFCM_KERNEL nof_dfcm_avx2
#define NOF_DFCM_KERNEL_ISA NOF_DFCM_ISA_AVX2
#include "dfcm_portable.c"

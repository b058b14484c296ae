/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions that a NIC can do: inout[i] = in[i] op inout[i], MPI's predefined operations on its predefined types. Host
 * and NIC share these numbers, which stay what they are, and the results to the bit:
 *
 *   SUM PROD       integers, floating, complex. Integers wrap around. Of a NaN comes that NaN, made quiet; of two that of
 *                  `in`. PROD of complex is C's (annex G): an infinite factor makes an infinite product; a part that is NaN
 *                  is the positive one without payload.
 *   MIN MAX        integers, floating: `in` where it is smaller (larger). So inout stays where either is NaN, and where both
 *                  are zeros of whatever sign.
 *   BAND BOR BXOR  integers, BYTE
 *   LAND LOR LXOR  integers, floating, logicals: 0 or 1; whatever is not 0 is true
 *   MINLOC MAXLOC  pairs: `in` where its value is smaller (larger), or neither is and its index is smaller
 *
 * (MPI 5.0, 6.9.2 and 6.9.4, and LAND, LOR and LXOR of floating, which programs use.) Rounding, and what becomes of
 * denormal numbers, are the thread's: a program may have set them, a NIC has IEEE 754's. */
#ifndef NOF_REDUCTIONS_H
#define NOF_REDUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum nof_reduce_op {
    NOF_REDUCE_SUM = 0,
    NOF_REDUCE_MIN = 1,
    NOF_REDUCE_MAX = 2,
    NOF_REDUCE_PROD = 3,
    NOF_REDUCE_BAND = 4,
    NOF_REDUCE_BOR = 5,
    NOF_REDUCE_BXOR = 6,
    NOF_REDUCE_LAND = 7,
    NOF_REDUCE_LOR = 8,
    NOF_REDUCE_LXOR = 9,
    NOF_REDUCE_MINLOC = 10,
    NOF_REDUCE_MAXLOC = 11,
    NOF_REDUCE_OPS = 12
};

enum nof_reduce_type {
    NOF_REDUCE_NONE = 0, /* nothing is defined on it */
    NOF_REDUCE_I8 = 1,
    NOF_REDUCE_U8 = 2,
    NOF_REDUCE_I16 = 3,
    NOF_REDUCE_U16 = 4,
    NOF_REDUCE_I32 = 5,
    NOF_REDUCE_U32 = 6,
    NOF_REDUCE_I64 = 7,
    NOF_REDUCE_U64 = 8,
    NOF_REDUCE_I128 = 9,
    NOF_REDUCE_F32 = 10,
    NOF_REDUCE_F64 = 11,
    NOF_REDUCE_LD = 12, /* C's long double */
    NOF_REDUCE_F128 = 13,
    NOF_REDUCE_C32 = 14, /* complex: two F32 */
    NOF_REDUCE_C64 = 15,
    NOF_REDUCE_CLD = 16,
    NOF_REDUCE_C128 = 17,
    NOF_REDUCE_BOOL8 = 18, /* logicals, by their bits */
    NOF_REDUCE_LOGICAL16 = 19,
    NOF_REDUCE_LOGICAL32 = 20,
    NOF_REDUCE_LOGICAL64 = 21,
    NOF_REDUCE_LOGICAL128 = 22,
    NOF_REDUCE_BYTE = 23,
    NOF_REDUCE_F32_I32 = 24, /* pairs: value and index, laid out as C's struct of the two, with its holes */
    NOF_REDUCE_F64_I32 = 25,
    NOF_REDUCE_I64_I32 = 26,
    NOF_REDUCE_I32_I32 = 27,
    NOF_REDUCE_I16_I32 = 28,
    NOF_REDUCE_LD_I32 = 29,
    NOF_REDUCE_F32_F32 = 30,
    NOF_REDUCE_F64_F64 = 31,
    NOF_REDUCE_TYPES = 32
};

/* Both take any number; any thread. */

/* Is the operation defined on the type? */
bool nof_reduce_defined(unsigned op, unsigned type);
/* Bytes from one element to the next, holes included; 0: there is no such type, or it is NONE. */
uint32_t nof_reduce_bytes(unsigned type);

#endif

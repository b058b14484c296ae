/* SPDX-License-Identifier: BSD-3-Clause */
/* The predefined operations, one loop per operation and element type, written so that the compiler
 * vectorizes them. Which pairs exist: MPI 4.1, table 6.9.2 (integer, floating, complex, logical,
 * byte, multi-language) and 6.9.4 (pairs). */
#include <complex.h>

#include "type/op.h"

#pragma GCC diagnostic ignored "-Wpedantic" /* __int128 and __float128 are Fortran's 16-byte types */
#ifndef __clang__
#pragma GCC optimize("O3") /* at -O2 gcc vectorizes no loop whose count it does not know */
#endif

typedef __int128 int128;
typedef __float128 float128;
typedef _Complex float __attribute__((mode(TC))) complex128;

/* Narrow integers are promoted by C and cut back: wrap-around, as every MPI library does. */
#define KERNEL(name, T, expression) \
    static void name(const void *in, void *inout, size_t count) \
    { \
        const T *restrict a = in; \
        T *restrict b = inout; \
        for (size_t i = 0; i < count; i++) \
            b[i] = (T)(expression); \
    }

/* Signed sums and products wrap: computed on the unsigned type of the same width. */
#define ARITHMETIC(id, T, U) \
    KERNEL(sum_##id, T, (U)a[i] + (U)b[i]) \
    KERNEL(prod_##id, T, (U)a[i] * (U)b[i])

#define ORDER(id, T) \
    KERNEL(min_##id, T, a[i] < b[i] ? a[i] : b[i]) \
    KERNEL(max_##id, T, a[i] > b[i] ? a[i] : b[i])

#define LOGIC(id, T) \
    KERNEL(land_##id, T, a[i] != 0 && b[i] != 0) \
    KERNEL(lor_##id, T, a[i] != 0 || b[i] != 0) \
    KERNEL(lxor_##id, T, (a[i] != 0) != (b[i] != 0))

#define BITS(id, T) \
    KERNEL(band_##id, T, a[i] & b[i]) \
    KERNEL(bor_##id, T, a[i] | b[i]) \
    KERNEL(bxor_##id, T, a[i] ^ b[i])

#define INTEGER(id, T, U) ARITHMETIC(id, T, U) ORDER(id, T) LOGIC(id, T) BITS(id, T)
/* The standard has no logical operations on floating-point types; MPICH does them, and programs use them. */
#define FLOATING(id, T) ARITHMETIC(id, T, T) ORDER(id, T) LOGIC(id, T)

/* Equal values: the lower index wins. */
#define PAIR(id, V, I) \
    struct pair_##id { \
        V value; \
        I index; \
    }; \
    static void minloc_##id(const void *in, void *inout, size_t count) \
    { \
        const struct pair_##id *a = in; \
        struct pair_##id *b = inout; \
        for (size_t i = 0; i < count; i++) \
            if (a[i].value < b[i].value || (!(b[i].value < a[i].value) && a[i].index < b[i].index)) \
                b[i] = a[i]; \
    } \
    static void maxloc_##id(const void *in, void *inout, size_t count) \
    { \
        const struct pair_##id *a = in; \
        struct pair_##id *b = inout; \
        for (size_t i = 0; i < count; i++) \
            if (a[i].value > b[i].value || (!(b[i].value > a[i].value) && a[i].index < b[i].index)) \
                b[i] = a[i]; \
    }

INTEGER(i8, int8_t, unsigned)
INTEGER(u8, uint8_t, unsigned)
INTEGER(i16, int16_t, unsigned)
INTEGER(u16, uint16_t, unsigned)
INTEGER(i32, int32_t, uint32_t)
INTEGER(u32, uint32_t, uint32_t)
INTEGER(i64, int64_t, uint64_t)
INTEGER(u64, uint64_t, uint64_t)
INTEGER(i128, int128, unsigned __int128)
FLOATING(f32, float)
FLOATING(f64, double)
FLOATING(ld, long double)
FLOATING(f128, float128)
ARITHMETIC(c32, float _Complex, float _Complex)
ARITHMETIC(c64, double _Complex, double _Complex)
ARITHMETIC(cld, long double _Complex, long double _Complex)
ARITHMETIC(c128, complex128, complex128)
LOGIC(bool8, uint8_t)
LOGIC(logical16, int16_t)
LOGIC(logical32, int32_t)
LOGIC(logical64, int64_t)
LOGIC(logical128, int128)
BITS(byte, uint8_t)
PAIR(float_int, float, int)
PAIR(double_int, double, int)
PAIR(long_int, long, int)
PAIR(2int, int, int)
PAIR(short_int, short, int)
PAIR(long_double_int, long double, int)
PAIR(2float, float, float)
PAIR(2double, double, double)

#define OF_ARITHMETIC(B, id) [NOF_OP_SUM][B] = sum_##id, [NOF_OP_PROD][B] = prod_##id
#define OF_ORDER(B, id) [NOF_OP_MIN][B] = min_##id, [NOF_OP_MAX][B] = max_##id
#define OF_LOGIC(B, id) [NOF_OP_LAND][B] = land_##id, [NOF_OP_LOR][B] = lor_##id, [NOF_OP_LXOR][B] = lxor_##id
#define OF_BITS(B, id) [NOF_OP_BAND][B] = band_##id, [NOF_OP_BOR][B] = bor_##id, [NOF_OP_BXOR][B] = bxor_##id
#define OF_INTEGER(B, id) OF_ARITHMETIC(B, id), OF_ORDER(B, id), OF_LOGIC(B, id), OF_BITS(B, id)
#define OF_FLOATING(B, id) OF_ARITHMETIC(B, id), OF_ORDER(B, id), OF_LOGIC(B, id)
#define OF_PAIR(B, id) [NOF_OP_MINLOC][B] = minloc_##id, [NOF_OP_MAXLOC][B] = maxloc_##id

static const nof_op_kernel kernels[NOF_OP_KINDS][NOF_BASIC_COUNT] = {
    OF_INTEGER(NOF_BASIC_I8, i8),
    OF_INTEGER(NOF_BASIC_U8, u8),
    OF_INTEGER(NOF_BASIC_I16, i16),
    OF_INTEGER(NOF_BASIC_U16, u16),
    OF_INTEGER(NOF_BASIC_I32, i32),
    OF_INTEGER(NOF_BASIC_U32, u32),
    OF_INTEGER(NOF_BASIC_I64, i64),
    OF_INTEGER(NOF_BASIC_U64, u64),
    OF_INTEGER(NOF_BASIC_I128, i128),
    OF_FLOATING(NOF_BASIC_F32, f32),
    OF_FLOATING(NOF_BASIC_F64, f64),
    OF_FLOATING(NOF_BASIC_LD, ld),
    OF_FLOATING(NOF_BASIC_F128, f128),
    OF_ARITHMETIC(NOF_BASIC_C32, c32),
    OF_ARITHMETIC(NOF_BASIC_C64, c64),
    OF_ARITHMETIC(NOF_BASIC_CLD, cld),
    OF_ARITHMETIC(NOF_BASIC_C128, c128),
    OF_LOGIC(NOF_BASIC_BOOL8, bool8),
    OF_LOGIC(NOF_BASIC_LOGICAL16, logical16),
    OF_LOGIC(NOF_BASIC_LOGICAL32, logical32),
    OF_LOGIC(NOF_BASIC_LOGICAL64, logical64),
    OF_LOGIC(NOF_BASIC_LOGICAL128, logical128),
    OF_BITS(NOF_BASIC_BYTE, byte),
    OF_PAIR(NOF_BASIC_FLOAT_INT, float_int),
    OF_PAIR(NOF_BASIC_DOUBLE_INT, double_int),
    OF_PAIR(NOF_BASIC_LONG_INT, long_int),
    OF_PAIR(NOF_BASIC_2INT, 2int),
    OF_PAIR(NOF_BASIC_SHORT_INT, short_int),
    OF_PAIR(NOF_BASIC_LONG_DOUBLE_INT, long_double_int),
    OF_PAIR(NOF_BASIC_2FLOAT, 2float),
    OF_PAIR(NOF_BASIC_2DOUBLE, 2double),
};

nof_op_kernel nof_op_kernel_of(enum nof_op_kind kind, enum nof_basic basic)
{
    return kind < NOF_OP_KINDS ? kernels[kind][basic] : NULL;
}

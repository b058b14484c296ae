/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One loop per operation and element type, plain C that compilers vectorize; built once for each instruction set, as
 * NOF_REDUCE_KERNELS. The bits of a result are not the compiler's to choose: where C leaves a choice (which of two NaNs a
 * sum is) the expression leaves none, and the build turns contraction off. So they are the same in every build. */
#include "nof_private/reduce_kernels.h"

#include <string.h>

/* Fortran's types of 16 bytes. */
__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __float128 float128;

/* Of any alignment, in memory that has another type of that size. */
#define ANYWHERE __attribute__((aligned(1), may_alias))

#define KERNEL(name, T, expression) \
    static void name(const void *in, void *inout, size_t count) \
    { \
        typedef T ANYWHERE element; \
        const element *restrict p = in; \
        element *restrict q = inout; \
        for (size_t i = 0; i < count; i++) { \
            const T a = p[i], b = q[i], result = (T)(expression); \
            q[i] = result; \
        } \
    }

#define ORDER(id, T) \
    KERNEL(min_##id, T, a < b ? a : b) \
    KERNEL(max_##id, T, a > b ? a : b)

#define LOGIC(id, T) \
    KERNEL(land_##id, T, a != 0 && b != 0) \
    KERNEL(lor_##id, T, a != 0 || b != 0) \
    KERNEL(lxor_##id, T, (a != 0) != (b != 0))

/* What is the same with and without a sign. U: not narrower than unsigned, which is what C computes with. */
#define WHOLE(id, T, U) \
    KERNEL(sum_##id, T, (U)a + (U)b) \
    KERNEL(prod_##id, T, (U)a *(U)b) \
    KERNEL(band_##id, T, a &b) \
    KERNEL(bor_##id, T, a | b) \
    KERNEL(bxor_##id, T, a ^ b) \
    LOGIC(id, T)

/* Processors give the NaN of their first operand, and compilers swap operands: a NaN of `in` meets itself. */
#define FLOATING(id, T, is_nan) \
    KERNEL(sum_##id, T, a + (is_nan(a) ? a : b)) \
    KERNEL(prod_##id, T, a *(is_nan(a) ? a : b)) \
    ORDER(id, T) \
    LOGIC(id, T)
#define IS_NAN(v) ((v) != (v))

/* Without asking the software that compares these. */
static bool is_nan_f128(float128 v)
{
    uint128 bits;
    memcpy(&bits, &v, sizeof(bits));
    return bits << 1 > (uint128)0x7fff << 113;
}

/* mend(): of (a + ib)(c + id) a part came out as NaN. C17, annex G.5.1, example 1: infinite factors are directions, and
 * what is no number beside them a zero. */
#define COMPLEX(id, real, T) \
    static T direction_##id(T v) \
    { \
        T length = __builtin_isinf(v) ? (T)1 : (T)0; \
        return __builtin_signbit(v) ? -length : length; \
    } \
    static T number_##id(T v) \
    { \
        return v == v ? v : __builtin_signbit(v) ? -(T)0 : (T)0; \
    } \
    static __attribute__((noinline)) void mend_##id(T a, T b, T c, T d, T x[2]) \
    { \
        bool recover = __builtin_isinf(a * c) || __builtin_isinf(b * d) || __builtin_isinf(a * d) || \
                       __builtin_isinf(b * c); \
        if (__builtin_isinf(a) || __builtin_isinf(b)) { \
            a = direction_##id(a); \
            b = direction_##id(b); \
            recover = true; \
        } \
        if (__builtin_isinf(c) || __builtin_isinf(d)) { \
            c = direction_##id(c); \
            d = direction_##id(d); \
            recover = true; \
        } \
        if (recover && x[0] != x[0] && x[1] != x[1]) { \
            a = number_##id(a); \
            b = number_##id(b); \
            c = number_##id(c); \
            d = number_##id(d); \
            x[0] = (T)__builtin_inf() * (a * c - b * d); \
            x[1] = (T)__builtin_inf() * (a * d + b * c); \
        } \
        for (int part = 0; part < 2; part++) \
            if (x[part] != x[part]) \
                x[part] = (T)__builtin_nan(""); \
    } \
    static void sum_##id(const void *in, void *inout, size_t count) \
    { \
        sum_##real(in, inout, 2 * count); \
    } \
    static void prod_##id(const void *in, void *inout, size_t count) \
    { \
        typedef T ANYWHERE element; \
        const element *restrict p = in; \
        element *restrict q = inout; \
        for (size_t i = 0; i < 2 * count; i += 2) { \
            const T a = p[i], b = p[i + 1], c = q[i], d = q[i + 1]; \
            T x = a * c - b * d, y = a * d + b * c; \
            if (__builtin_expect(__builtin_isunordered(x, y), 0)) { \
                T mended[2] = {x, y}; \
                mend_##id(a, b, c, d, mended); \
                x = mended[0]; \
                y = mended[1]; \
            } \
            q[i] = x; \
            q[i + 1] = y; \
        } \
    }

#define LOCATE(name, before, id, V, I) \
    static void name##_##id(const void *in, void *inout, size_t count) \
    { \
        struct element { \
            V value; \
            I index; \
        } a, b; \
        const char *restrict p = in; \
        char *restrict q = inout; \
        for (size_t i = 0; i < count; i++, p += sizeof(a), q += sizeof(b)) { \
            memcpy(&a, p, sizeof(a)); \
            memcpy(&b, q, sizeof(b)); \
            if (a.value before b.value || (!(b.value before a.value) && a.index < b.index)) \
                memcpy(q, p, sizeof(b)); \
        } \
    }
#define PAIR(id, V, I) LOCATE(minloc, <, id, V, I) LOCATE(maxloc, >, id, V, I)

/* bound of all loops here: the call's elements; paid by the caller */
WHOLE(8, uint8_t, unsigned)
WHOLE(16, uint16_t, unsigned)
WHOLE(32, uint32_t, uint32_t)
WHOLE(64, uint64_t, uint64_t)
WHOLE(128, uint128, uint128)
ORDER(i8, int8_t)
ORDER(u8, uint8_t)
ORDER(i16, int16_t)
ORDER(u16, uint16_t)
ORDER(i32, int32_t)
ORDER(u32, uint32_t)
ORDER(i64, int64_t)
ORDER(u64, uint64_t)
ORDER(i128, int128)
FLOATING(f32, float, IS_NAN)
FLOATING(f64, double, IS_NAN)
FLOATING(ld, long double, IS_NAN)
FLOATING(f128, float128, is_nan_f128)
COMPLEX(c32, f32, float)
COMPLEX(c64, f64, double)
COMPLEX(cld, ld, long double)
COMPLEX(c128, f128, float128)
PAIR(f32_i32, float, int32_t)
PAIR(f64_i32, double, int32_t)
PAIR(i64_i32, int64_t, int32_t)
PAIR(i32_i32, int32_t, int32_t)
PAIR(i16_i32, int16_t, int32_t)
PAIR(ld_i32, long double, int32_t)
PAIR(f32_f32, float, float)
PAIR(f64_f64, double, double)

#define OF_ARITHMETIC(type, id) [NOF_REDUCE_SUM][type] = sum_##id, [NOF_REDUCE_PROD][type] = prod_##id
#define OF_ORDER(type, id) [NOF_REDUCE_MIN][type] = min_##id, [NOF_REDUCE_MAX][type] = max_##id
#define OF_LOGIC(type, id) \
    [NOF_REDUCE_LAND][type] = land_##id, [NOF_REDUCE_LOR][type] = lor_##id, \
    [NOF_REDUCE_LXOR][type] = lxor_##id
#define OF_BITS(type, id) \
    [NOF_REDUCE_BAND][type] = band_##id, [NOF_REDUCE_BOR][type] = bor_##id, \
    [NOF_REDUCE_BXOR][type] = bxor_##id
#define OF_INTEGER(type, id, bits) \
    OF_ARITHMETIC(type, bits), OF_ORDER(type, id), OF_LOGIC(type, bits), OF_BITS(type, bits)
#define OF_FLOATING(type, id) OF_ARITHMETIC(type, id), OF_ORDER(type, id), OF_LOGIC(type, id)
#define OF_PAIR(type, id) [NOF_REDUCE_MINLOC][type] = minloc_##id, [NOF_REDUCE_MAXLOC][type] = maxloc_##id

const struct nof_reduce_kernels NOF_REDUCE_KERNELS = {{
    OF_INTEGER(NOF_REDUCE_I8, i8, 8),
    OF_INTEGER(NOF_REDUCE_U8, u8, 8),
    OF_INTEGER(NOF_REDUCE_I16, i16, 16),
    OF_INTEGER(NOF_REDUCE_U16, u16, 16),
    OF_INTEGER(NOF_REDUCE_I32, i32, 32),
    OF_INTEGER(NOF_REDUCE_U32, u32, 32),
    OF_INTEGER(NOF_REDUCE_I64, i64, 64),
    OF_INTEGER(NOF_REDUCE_U64, u64, 64),
    OF_INTEGER(NOF_REDUCE_I128, i128, 128),
    OF_FLOATING(NOF_REDUCE_F32, f32),
    OF_FLOATING(NOF_REDUCE_F64, f64),
    OF_FLOATING(NOF_REDUCE_LD, ld),
    OF_FLOATING(NOF_REDUCE_F128, f128),
    OF_ARITHMETIC(NOF_REDUCE_C32, c32),
    OF_ARITHMETIC(NOF_REDUCE_C64, c64),
    OF_ARITHMETIC(NOF_REDUCE_CLD, cld),
    OF_ARITHMETIC(NOF_REDUCE_C128, c128),
    OF_LOGIC(NOF_REDUCE_BOOL8, 8),
    OF_LOGIC(NOF_REDUCE_LOGICAL16, 16),
    OF_LOGIC(NOF_REDUCE_LOGICAL32, 32),
    OF_LOGIC(NOF_REDUCE_LOGICAL64, 64),
    OF_LOGIC(NOF_REDUCE_LOGICAL128, 128),
    OF_BITS(NOF_REDUCE_BYTE, 8),
    OF_PAIR(NOF_REDUCE_F32_I32, f32_i32),
    OF_PAIR(NOF_REDUCE_F64_I32, f64_i32),
    OF_PAIR(NOF_REDUCE_I64_I32, i64_i32),
    OF_PAIR(NOF_REDUCE_I32_I32, i32_i32),
    OF_PAIR(NOF_REDUCE_I16_I32, i16_i32),
    OF_PAIR(NOF_REDUCE_LD_I32, ld_i32),
    OF_PAIR(NOF_REDUCE_F32_F32, f32_f32),
    OF_PAIR(NOF_REDUCE_F64_F64, f64_f64),
}};

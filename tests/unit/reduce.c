/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions of the core: the same bits from every build of the kernels, and those that nof/reductions.h says. */
#include "coll/reduce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "nof/status.h"
#include "nof_private/reduce_kernels.h"
#include "vectors/operands.h"

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

#define SPARE 64u
#define BYTES_MAX (NOF_REDUCE_PIECE_BYTES + SPARE)
#define FIRST_SEED 20u

/* Of the same source, with other instructions and other optimizations. */
#define BUILDS(X) \
    X(plain, true) \
    X(scalar, true) \
    X(unrolled, true) \
    X(portable, true)
#ifdef NOF_REDUCE_AVX2
#define VECTOR_BUILDS(X) \
    X(avx2, __builtin_cpu_supports("avx2")) \
    X(fma, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) \
    X(avx512, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && \
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
#else
#define VECTOR_BUILDS(X)
#endif

#define DECLARE(name, can_run) extern const struct nof_reduce_kernels nof_reduce_##name;
BUILDS(DECLARE)
VECTOR_BUILDS(DECLARE)

struct build {
    const char *name;
    const struct nof_reduce_kernels *kernels;
};

static unsigned char in[BYTES_MAX], before[BYTES_MAX], got[BYTES_MAX], want[BYTES_MAX];

static bool in_range(unsigned type, unsigned first, unsigned last)
{
    return type >= first && type <= last;
}

/* The table of nof/reductions.h. */
static bool should_be_defined(unsigned op, unsigned type)
{
    bool integer = in_range(type, NOF_REDUCE_I8, NOF_REDUCE_I128);
    bool floating = in_range(type, NOF_REDUCE_F32, NOF_REDUCE_F128);
    bool complex = in_range(type, NOF_REDUCE_C32, NOF_REDUCE_C128);
    bool logical = in_range(type, NOF_REDUCE_BOOL8, NOF_REDUCE_LOGICAL128);
    bool pair = in_range(type, NOF_REDUCE_F32_I32, NOF_REDUCE_F64_F64);

    switch (op) {
    case NOF_REDUCE_SUM:
    case NOF_REDUCE_PROD:
        return integer || floating || complex;
    case NOF_REDUCE_MIN:
    case NOF_REDUCE_MAX:
        return integer || floating;
    case NOF_REDUCE_BAND:
    case NOF_REDUCE_BOR:
    case NOF_REDUCE_BXOR:
        return integer || type == NOF_REDUCE_BYTE;
    case NOF_REDUCE_LAND:
    case NOF_REDUCE_LOR:
    case NOF_REDUCE_LXOR:
        return integer || floating || logical;
    case NOF_REDUCE_MINLOC:
    case NOF_REDUCE_MAXLOC:
        return pair;
    default:
        return false;
    }
}

static void what_is_not_defined_is_refused(void **state)
{
    unsigned defined = 0;

    (void)state;
    memset(got, 0x5a, sizeof(got));
    memcpy(want, got, sizeof(got));
    for (unsigned op = 0; op < 256; op++)
        for (unsigned type = 0; type < 256; type++) {
            assert_int_equal(nof_reduce_defined(op, type), should_be_defined(op, type));
            if (nof_reduce_defined(op, type))
                defined++;
            else
                assert_int_equal(nof_reduce(op, type, got, in, 1), NOF_EINVAL);
        }
    assert_int_equal(defined, 17 + 17 + 13 + 13 + 3 * 10 + 3 * 18 + 2 * 8);
    assert_false(nof_reduce_defined(1u << 31, NOF_REDUCE_I32));
    assert_false(nof_reduce_defined(NOF_REDUCE_SUM, ~0u));
    assert_memory_equal(got, want, sizeof(got));
}

static void a_piece_has_an_end(void **state)
{
    (void)state;
    assert_int_equal(nof_reduce_most(NOF_REDUCE_NONE), 0);
    assert_int_equal(nof_reduce_most(NOF_REDUCE_TYPES), 0);
    assert_int_equal(nof_reduce_bytes(NOF_REDUCE_NONE), 0);
    assert_int_equal(nof_reduce_bytes(NOF_REDUCE_TYPES), 0);
    assert_int_equal(nof_reduce_most(NOF_REDUCE_F64), 2048);
    assert_int_equal(nof_reduce_most(NOF_REDUCE_C128), 32);
    memset(in, 0xff, sizeof(in));
    for (unsigned type = 1; type < NOF_REDUCE_TYPES; type++)
        for (unsigned op = 0; op < NOF_REDUCE_OPS; op++) {
            if (!nof_reduce_defined(op, type))
                continue;
            memset(got, 0, sizeof(got));
            assert_int_equal(nof_reduce(op, type, got, in, nof_reduce_most(type) + 1), NOF_EINVAL);
            assert_int_equal(nof_reduce(op, type, got, in, 0), NOF_OK);
            for (size_t i = 0; i < sizeof(got); i++)
                assert_int_equal(got[i], 0);
        }
}

/* `count` new elements, so far from the beginning of the buffers. */
static void begin(unsigned type, uint32_t count, size_t in_at, size_t inout_at, uint64_t *seed)
{
    memset(before, 0xa5, sizeof(before));
    operands_fill(type, in + in_at, count, seed);
    operands_fill(type, before + inout_at, count, seed);
}

/* Bytes behind the elements too: nobody writes there. */
static void agrees(const struct build *build, unsigned op, unsigned type, uint32_t count, size_t in_at,
                   size_t inout_at)
{
    memcpy(got, before, sizeof(got));
    build->kernels->of[op][type](in + in_at, got + inout_at, count);
    if (memcmp(got, want, sizeof(got)) == 0)
        return;
    size_t at = 0;
    while (got[at] == want[at])
        at++;
    fail_msg("%s: operation %u, type %u, element %zu of %u", build->name, op, type,
             (at - inout_at) / nof_reduce_bytes(type), count);
}

static unsigned builds_that_run(struct build builds[16])
{
    unsigned n = 0;

#define TAKE(as, can_run) \
    if (can_run) \
        builds[n++] = (struct build){#as, &nof_reduce_##as}; \
    else \
        print_message("%s: not on this processor\n", #as);
    BUILDS(TAKE)
    VECTOR_BUILDS(TAKE)
    return n;
}

/* Every length up to some vectors, so that all ways to end a loop are walked, then a whole piece. */
static void all_builds_give_the_same_bits_wherever_the_operands_lie(void **state)
{
    struct build builds[16];
    unsigned nbuilds = builds_that_run(builds);
    uint64_t seed = FIRST_SEED;

    (void)state;
    for (unsigned op = 0; op < NOF_REDUCE_OPS; op++)
        for (unsigned type = 1; type < NOF_REDUCE_TYPES; type++) {
            if (!nof_reduce_defined(op, type))
                continue;
            for (uint32_t n = 0; n < 90; n++) {
                uint32_t most = nof_reduce_most(type), count = n < 84 && n < most ? n : most;
                size_t in_at = n * 7 % 33, inout_at = n * 5 % 31;
                begin(type, count, in_at, inout_at, &seed);
                memcpy(want, before, sizeof(want));
                assert_int_equal(nof_reduce(op, type, want + inout_at, in + in_at, count), NOF_OK);
                for (unsigned b = 0; b < nbuilds; b++)
                    agrees(&builds[b], op, type, count, in_at, inout_at);
            }
        }
}

/* Builds that are not here: other compilers, other machines. */
static void the_bits_are_those_of_all_times(void **state)
{
    uint64_t seed = FIRST_SEED;
    uint32_t crc = 0;

    (void)state;
#ifndef __x86_64__
    skip();
#endif
    for (unsigned op = 0; op < NOF_REDUCE_OPS; op++)
        for (unsigned type = 1; type < NOF_REDUCE_TYPES; type++) {
            if (!nof_reduce_defined(op, type))
                continue;
            uint32_t count = nof_reduce_most(type);
            begin(type, count, 0, 0, &seed);
            assert_int_equal(nof_reduce(op, type, before, in, count), NOF_OK);
            crc = crc * 31u + nof_crc32c(before, count * nof_reduce_bytes(type));
        }
    assert_int_equal(crc, 0x4586f422);
}

static void pieces_make_the_whole(void **state)
{
    uint64_t seed = FIRST_SEED;
    uint32_t count = nof_reduce_most(NOF_REDUCE_F32);

    (void)state;
    begin(NOF_REDUCE_F32, count, 3, 0, &seed);
    memcpy(got, before, sizeof(got));
    assert_int_equal(nof_reduce(NOF_REDUCE_SUM, NOF_REDUCE_F32, before, in + 3, count), NOF_OK);
    for (uint32_t at = 0, n; at < count; at += n) {
        n = 1 + at % 377;
        n = n < count - at ? n : count - at;
        assert_int_equal(nof_reduce(NOF_REDUCE_SUM, NOF_REDUCE_F32, got + 4 * at, in + 3 + 4 * at, n),
                         NOF_OK);
    }
    assert_memory_equal(got, before, sizeof(got));
}

static int128 wrapped(int128 value, unsigned bits, bool is_signed)
{
    int128 mask = bits == 64 ? (int128)UINT64_MAX : ((int128)1 << bits) - 1;

    value &= mask;
    return is_signed && (value >> (bits - 1) & 1) != 0 ? value - mask - 1 : value;
}

static int128 answer(unsigned op, int128 a, int128 b)
{
    switch (op) {
    case NOF_REDUCE_SUM:
        return a + b;
    case NOF_REDUCE_PROD:
        return (int128)((uint128)a * (uint128)b);
    case NOF_REDUCE_MIN:
        return a < b ? a : b;
    case NOF_REDUCE_MAX:
        return a > b ? a : b;
    case NOF_REDUCE_BAND:
        return a & b;
    case NOF_REDUCE_BOR:
        return a | b;
    case NOF_REDUCE_BXOR:
        return a ^ b;
    case NOF_REDUCE_LAND:
        return a != 0 && b != 0;
    case NOF_REDUCE_LOR:
        return a != 0 || b != 0;
    default:
        return (a != 0) != (b != 0);
    }
}

static void integers_wrap_around(void **state)
{
    uint64_t seed = FIRST_SEED;

    (void)state;
    for (unsigned op = 0; op <= NOF_REDUCE_LXOR; op++)
        for (unsigned type = NOF_REDUCE_I8; type <= NOF_REDUCE_U64; type++) {
            unsigned bytes = nof_reduce_bytes(type), bits = 8 * bytes;
            bool is_signed = (type - NOF_REDUCE_I8) % 2 == 0;
            begin(type, 500, 0, 0, &seed);
            memcpy(got, before, sizeof(got));
            assert_int_equal(nof_reduce(op, type, got, in, 500), NOF_OK);
            for (size_t i = 0; i < 500 * bytes; i += bytes) {
                uint64_t a = 0, b = 0, c = 0;
                memcpy(&a, in + i, bytes);
                memcpy(&b, before + i, bytes);
                memcpy(&c, got + i, bytes);
                int128 result =
                    answer(op, wrapped((int128)a, bits, is_signed), wrapped((int128)b, bits, is_signed));
                assert_true((uint64_t)wrapped(result, bits, false) == c);
            }
        }
}

/* One element of each. */
static uint64_t reduced(unsigned op, unsigned type, uint64_t a, uint64_t b)
{
    assert_int_equal(nof_reduce(op, type, &b, &a, 1), NOF_OK);
    return b;
}

#define QUIET 0x7ff8000000000000u
#define SIGN 0x8000000000000000u
#define INF 0x7ff0000000000000u
#define ONE 0x3ff0000000000000u

static void a_nan_is_that_of_in_and_quiet(void **state)
{
    static const unsigned ops[] = {NOF_REDUCE_SUM, NOF_REDUCE_PROD};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        assert_true(reduced(ops[i], NOF_REDUCE_F64, QUIET | 5, QUIET | 9) == (QUIET | 5));
        assert_true(reduced(ops[i], NOF_REDUCE_F64, QUIET | 9, SIGN | QUIET | 5) == (QUIET | 9));
        assert_true(reduced(ops[i], NOF_REDUCE_F64, INF | 5, QUIET | 9) == (QUIET | 5));
        assert_true(reduced(ops[i], NOF_REDUCE_F64, ONE, SIGN | INF | 9) == (SIGN | QUIET | 9));
        assert_true(reduced(ops[i], NOF_REDUCE_F64, QUIET | 7, INF) == (QUIET | 7));
        assert_true(reduced(ops[i], NOF_REDUCE_F32, 0x7f800005, 0x7fc00009) == 0x7fc00005);
    }
}

static void what_cannot_be_ordered_stays(void **state)
{
    static const unsigned ops[] = {NOF_REDUCE_MIN, NOF_REDUCE_MAX};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        assert_true(reduced(ops[i], NOF_REDUCE_F64, QUIET | 5, ONE) == ONE);
        assert_true(reduced(ops[i], NOF_REDUCE_F64, ONE, INF | 5) == (INF | 5));
        assert_true(reduced(ops[i], NOF_REDUCE_F64, 0, SIGN) == SIGN);
        assert_true(reduced(ops[i], NOF_REDUCE_F64, SIGN, 0) == 0);
    }
    assert_true(reduced(NOF_REDUCE_MIN, NOF_REDUCE_F64, SIGN | INF, ONE) == (SIGN | INF));
    assert_true(reduced(NOF_REDUCE_MAX, NOF_REDUCE_F64, 1, SIGN) == 1); /* the smallest denormal */
}

static void floating_results_are_rounded_once(void **state)
{
    uint64_t seed = FIRST_SEED;
    unsigned compared = 0;

    (void)state;
    begin(NOF_REDUCE_F64, 2000, 0, 0, &seed);
    for (size_t i = 0; i < 2000; i++) {
        double a, b;
        uint64_t a_bits, b_bits, bits;
        memcpy(&a, in + 8 * i, 8);
        memcpy(&b, before + 8 * i, 8);
        memcpy(&a_bits, &a, 8);
        memcpy(&b_bits, &b, 8);
        for (unsigned op = NOF_REDUCE_SUM; op <= NOF_REDUCE_PROD; op += NOF_REDUCE_PROD) {
            volatile double result = op == NOF_REDUCE_SUM ? a + b : a * b;
            double copy = result;
            memcpy(&bits, &copy, 8);
            if (copy == copy) {
                assert_true(reduced(op, NOF_REDUCE_F64, a_bits, b_bits) == bits);
                compared++;
            }
        }
    }
    assert_true(compared > 1000);
}

static void complex_is(double a, double b, double c, double d, double x, double y)
{
    double left[2] = {a, b}, right[2] = {c, d}, expected[2] = {x, y};

    assert_int_equal(nof_reduce(NOF_REDUCE_PROD, NOF_REDUCE_C64, right, left, 1), NOF_OK);
    assert_memory_equal(right, expected, sizeof(expected));
}

static void a_product_with_an_infinite_factor_is_infinite(void **state)
{
    const double inf = __builtin_inf(), nan = __builtin_nan(""), huge = 1e300;

    (void)state;
    complex_is(1, 2, 3, 4, -5, 10);
    complex_is(-0.0, 0, 1, 0, -0.0, 0);
    complex_is(inf, nan, 1, 0, inf, inf * 0 == 0 ? 0 : nan);
    complex_is(inf, nan, 1, 1, inf, inf);
    complex_is(nan, -inf, 2, 1, inf, -inf);
    complex_is(1, 1, nan, inf, -inf, inf);
    complex_is(inf, inf, inf, inf, nan, inf);
    complex_is(huge, huge, huge, huge, nan, inf);
    complex_is(nan, 1, 1, 1, nan, nan);
    complex_is(-nan, 0, 1, 0, nan, nan);
    complex_is(inf, 0, 0, 0, nan, nan);
}

static void equal_values_leave_the_smaller_index(void **state)
{
    struct pair {
        double value;
        int32_t index;
        int32_t hole;
    } a[4] = {{1, 5, 0}, {2, 5, 0}, {-0.0, 3, 0}, {__builtin_nan(""), 2, 0}};
    struct pair least[4] = {{2, 1, 0}, {2, 9, 0}, {0, 4, 0}, {7, 3, 0}}, most[4];

    (void)state;
    memcpy(most, least, sizeof(most));
    assert_int_equal(nof_reduce(NOF_REDUCE_MINLOC, NOF_REDUCE_F64_I32, least, a, 4), NOF_OK);
    assert_int_equal(nof_reduce(NOF_REDUCE_MAXLOC, NOF_REDUCE_F64_I32, most, a, 4), NOF_OK);
    assert_memory_equal(&least[0], &a[0], sizeof(a[0]));
    assert_true(most[0].value == 2 && most[0].index == 1);
    for (unsigned i = 1; i < 4; i++) {
        assert_memory_equal(&least[i], &a[i], sizeof(a[i]));
        assert_memory_equal(&most[i], &a[i], sizeof(a[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_defined_is_refused),
        cmocka_unit_test(a_piece_has_an_end),
        cmocka_unit_test(all_builds_give_the_same_bits_wherever_the_operands_lie),
        cmocka_unit_test(the_bits_are_those_of_all_times),
        cmocka_unit_test(pieces_make_the_whole),
        cmocka_unit_test(integers_wrap_around),
        cmocka_unit_test(a_nan_is_that_of_in_and_quiet),
        cmocka_unit_test(what_cannot_be_ordered_stays),
        cmocka_unit_test(floating_results_are_rounded_once),
        cmocka_unit_test(a_product_with_an_infinite_factor_is_infinite),
        cmocka_unit_test(equal_values_leave_the_smaller_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

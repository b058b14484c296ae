/* SPDX-License-Identifier: BSD-3-Clause */
#include "vectors/operands.h"

#include <float.h>
#include <string.h>

#include "nof/reductions.h"

__extension__ typedef unsigned __int128 uint128;

enum kind { NOTHING, WHOLE, F32, F64, LD, F128 };

/* An element: one or two numbers. */
struct element {
    enum kind first;
    unsigned bytes; /* of a WHOLE */
    enum kind second;
    unsigned second_bytes, second_at;
};

static const struct element elements[NOF_REDUCE_TYPES] = {
    [NOF_REDUCE_I8] = {WHOLE, 1, NOTHING, 0, 0},
    [NOF_REDUCE_U8] = {WHOLE, 1, NOTHING, 0, 0},
    [NOF_REDUCE_I16] = {WHOLE, 2, NOTHING, 0, 0},
    [NOF_REDUCE_U16] = {WHOLE, 2, NOTHING, 0, 0},
    [NOF_REDUCE_I32] = {WHOLE, 4, NOTHING, 0, 0},
    [NOF_REDUCE_U32] = {WHOLE, 4, NOTHING, 0, 0},
    [NOF_REDUCE_I64] = {WHOLE, 8, NOTHING, 0, 0},
    [NOF_REDUCE_U64] = {WHOLE, 8, NOTHING, 0, 0},
    [NOF_REDUCE_I128] = {WHOLE, 16, NOTHING, 0, 0},
    [NOF_REDUCE_F32] = {F32, 4, NOTHING, 0, 0},
    [NOF_REDUCE_F64] = {F64, 8, NOTHING, 0, 0},
    [NOF_REDUCE_LD] = {LD, 16, NOTHING, 0, 0},
    [NOF_REDUCE_F128] = {F128, 16, NOTHING, 0, 0},
    [NOF_REDUCE_C32] = {F32, 4, F32, 4, 4},
    [NOF_REDUCE_C64] = {F64, 8, F64, 8, 8},
    [NOF_REDUCE_CLD] = {LD, 16, LD, 16, 16},
    [NOF_REDUCE_C128] = {F128, 16, F128, 16, 16},
    [NOF_REDUCE_BOOL8] = {WHOLE, 1, NOTHING, 0, 0},
    [NOF_REDUCE_LOGICAL16] = {WHOLE, 2, NOTHING, 0, 0},
    [NOF_REDUCE_LOGICAL32] = {WHOLE, 4, NOTHING, 0, 0},
    [NOF_REDUCE_LOGICAL64] = {WHOLE, 8, NOTHING, 0, 0},
    [NOF_REDUCE_LOGICAL128] = {WHOLE, 16, NOTHING, 0, 0},
    [NOF_REDUCE_BYTE] = {WHOLE, 1, NOTHING, 0, 0},
    [NOF_REDUCE_F32_I32] = {F32, 4, WHOLE, 4, 4},
    [NOF_REDUCE_F64_I32] = {F64, 8, WHOLE, 4, 8},
    [NOF_REDUCE_I64_I32] = {WHOLE, 8, WHOLE, 4, 8},
    [NOF_REDUCE_I32_I32] = {WHOLE, 4, WHOLE, 4, 4},
    [NOF_REDUCE_I16_I32] = {WHOLE, 2, WHOLE, 4, 4},
    [NOF_REDUCE_LD_I32] = {LD, 16, WHOLE, 4, 16},
    [NOF_REDUCE_F32_F32] = {F32, 4, F32, 4, 4},
    [NOF_REDUCE_F64_F64] = {F64, 8, F64, 8, 8},
};

static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = *seed;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

static uint128 wide(uint64_t *seed)
{
    uint128 high = draw(seed);
    return high << 64 | draw(seed);
}

static uint128 whole(unsigned bytes, uint64_t *seed)
{
    uint128 sign = (uint128)1 << (8 * bytes - 1);

    switch (draw(seed) % 8) {
    case 0:
        return 0;
    case 1:
        return ~(uint128)0;
    case 2:
        return sign;
    case 3:
        return sign - 1;
    case 4:
    case 5:
        return draw(seed) % 4;
    default:
        return wide(seed);
    }
}

/* One of the kinds of floating-point numbers, from exponent and fraction of so many bits. */
static uint128 number(unsigned exponent_bits, unsigned fraction_bits, bool leading_one, uint64_t *seed)
{
    uint128 top = ((uint128)1 << exponent_bits) - 1, bias = top >> 1,
            quiet = (uint128)1 << (fraction_bits - 1);
    uint128 exponent = 0, fraction = wide(seed) & ((quiet << 1) - 1), payload = fraction & 7;
    unsigned point = fraction_bits;

    switch (draw(seed) % 12) {
    case 0:
        fraction = 0; /* zero */
        break;
    case 1:
        break; /* denormal */
    case 2:
        exponent = top;
        fraction = 0; /* infinite */
        break;
    case 3:
        exponent = top;
        fraction = quiet | payload;
        break;
    case 4:
        exponent = top;
        fraction = payload + 1; /* signalling NaN */
        break;
    case 5:
        exponent = top - 1 - (payload & 1); /* the largest */
        break;
    case 6:
        exponent = 1 + (payload & 3); /* the smallest */
        break;
    case 7:
        exponent = wide(seed) % top;
        break;
    case 8:
        exponent = bias + payload % 3; /* 1, 2, 4 */
        fraction = 0;
        break;
    default:
        exponent = bias - 8 + draw(seed) % 16;
        break;
    }
    if (leading_one) { /* the bit that others do without */
        fraction |= exponent == 0 ? 0 : quiet << 1;
        point++;
    }
    return (uint128)(draw(seed) & 1) << (exponent_bits + point) | exponent << point | fraction;
}

static void put(enum kind kind, unsigned bytes, unsigned char *at, uint64_t *seed)
{
    uint128 value = 0;

    if (kind == NOTHING)
        return;
    if (kind == WHOLE)
        value = whole(bytes, seed);
    else if (kind == F32)
        value = number(8, 23, false, seed);
    else if (kind == F64)
        value = number(11, 52, false, seed);
    else if (kind == LD && LDBL_MANT_DIG == 64)
        value = number(15, 63, true, seed);
    else
        value = number(15, 112, false, seed);
    memcpy(at, &value, bytes);
}

void operands_fill(unsigned type, void *at, size_t count, uint64_t *seed)
{
    const struct element *e = &elements[type];
    uint32_t bytes = nof_reduce_bytes(type);
    unsigned char *p = at;

    memset(p, 0, count * bytes);
    for (size_t i = 0; i < count; i++, p += bytes) {
        put(e->first, e->bytes, p, seed);
        put(e->second, e->second_bytes, p + e->second_at, seed);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/crc32c.h"

#include <isa-l/crc.h>

/* ISA-L leaves the upper halves of the vector registers dirty: the next SSE instruction would then wait for them to be
 * saved, and ISA-L's next AVX instruction for them to be restored (150 ns in all, thrice the CRC of a frame of 1500
 * bytes), and every change of threads would carry them along. */
#if defined(__x86_64__)
__attribute__((target("avx"))) static void clean_up(void)
{
    __builtin_ia32_vzeroupper();
}

static bool has_avx(void)
{
    return __builtin_cpu_supports("avx") != 0;
}
#else
static void clean_up(void)
{
}

static bool has_avx(void)
{
    return false;
}
#endif

uint32_t nof_crc32c(const void *data, size_t len_bytes)
{
    /* ISA-L takes a pointer to non-const and does not write through it. */
    unsigned char *bytes = (unsigned char *)(uintptr_t)data;
    uint32_t crc = ~crc32_iscsi(bytes, (int)len_bytes, 0xffffffffu);

    if (has_avx())
        clean_up();
    return crc;
}

#define POLYNOMIAL 0x82f63b78u /* bit 31 is x^0 */
#define ONE 0x80000000u
#define BYTE 0x00800000u /* x^8 */

/* Modulo the polynomial. */
static uint32_t times(uint32_t a, uint32_t b)
{
    uint32_t product = 0;

    /* bound: 32 bits; paid by the frame */
    for (uint32_t bit = ONE; bit != 0; bit >>= 1) {
        if (a & bit)
            product ^= b;
        b = b >> 1 ^ (b & 1 ? POLYNOMIAL : 0);
    }
    return product;
}

void nof_crc32c_join_init(struct nof_crc32c_join *join, uint32_t len_bytes)
{
    uint32_t shift = ONE;
    uint32_t square = BYTE;

    /* bound: bits of a length; paid by the frame */
    for (uint32_t n = len_bytes; n != 0; n >>= 1) {
        if (n & 1)
            shift = times(shift, square);
        square = times(square, square);
    }
    join->len_bytes = len_bytes;
    for (uint32_t i = 0; i < 8; i++)
        for (uint32_t v = 0; v < 16; v++)
            join->nibble[i][v] = times(shift, v << 4 * i);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "crc32c.h"

#include <isa-l/crc.h>

uint32_t nof_crc32c(const void *data, size_t len_bytes)
{
    /* ISA-L takes a pointer to non-const and does not write through it. */
    unsigned char *bytes = (unsigned char *)(uintptr_t)data;

    return ~crc32_iscsi(bytes, (int)len_bytes, 0xffffffffu);
}

#define POLYNOMIAL 0x82f63b78u /* bit 31 is x^0 */
#define ONE 0x80000000u
#define BYTE 0x00800000u /* x^8 */

/* Modulo the polynomial. */
static uint32_t times(uint32_t a, uint32_t b)
{
    uint32_t product = 0;

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

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CRC32C (nof/port.h): what the core needs of it beside the sum itself. */
#ifndef NOF_CRC32C_H
#define NOF_CRC32C_H

#include <stddef.h>
#include <stdint.h>

#include "nof/port.h"

/* Joins the CRCs of two pieces, the second of a length that is known beforehand: what a zero byte does to a CRC,
 * so many times over, as a table. */
struct nof_crc32c_join {
    uint32_t len_bytes; /* of the second piece */
    uint32_t nibble[8][16];
};

void nof_crc32c_join_init(struct nof_crc32c_join *join, uint32_t len_bytes);

/* The CRC of both pieces in a row. Cost: eight look-ups, whatever the length. */
static inline uint32_t nof_crc32c_join(const struct nof_crc32c_join *join, uint32_t first, uint32_t second)
{
    for (unsigned i = 0; i < 8; i++)
        second ^= join->nibble[i][first >> 4 * i & 15u];
    return second;
}

#endif

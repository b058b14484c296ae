/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers that wrap (RFC 1982). */
#ifndef NOF_SERIAL_H
#define NOF_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

/* Right while the two are less than 2^31 apart. */
static inline bool nof_serial_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

#endif

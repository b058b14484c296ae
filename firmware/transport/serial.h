/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers that wrap (RFC 1982), and what is no index. */
#ifndef NOF_SERIAL_H
#define NOF_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

#define NOF_NONE UINT32_MAX /* ends a list of indices */

/* Right while the two are less than 2^31 apart. */
static inline bool nof_serial_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CRC32C (Castagnoli) with initial value and final inversion as in RFC 3720, by ISA-L.
 * Check value: the nine bytes "123456789" give 0xe3069283.
 * Threads: any. Cost: the processor's crc32 or carry-less multiplication where it has them. */
#ifndef NOF_CRC32C_H
#define NOF_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* len_bytes: 0..INT32_MAX. */
uint32_t nof_crc32c(const void *data, size_t len_bytes);

#endif

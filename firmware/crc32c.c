/* SPDX-License-Identifier: BSD-3-Clause */
#include "crc32c.h"

#include <isa-l/crc.h>

uint32_t nof_crc32c(const void *data, size_t len_bytes)
{
    /* ISA-L takes a pointer to non-const and does not write through it. */
    unsigned char *bytes = (unsigned char *)(uintptr_t)data;

    return ~crc32_iscsi(bytes, (int)len_bytes, 0xffffffffu);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/shm/shm_part.h"

#include <sys/mman.h>

bool nof_part_allocate(void *memory, uint64_t bytes)
{
    return madvise(memory, bytes, MADV_POPULATE_WRITE) == 0;
}

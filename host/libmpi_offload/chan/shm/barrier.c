/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/shm/barrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

bool nof_barrier_fences = true;

static bool membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

bool nof_barrier_register(void)
{
    return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) &&
           membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

void nof_barrier_use(bool all_registered)
{
    nof_barrier_fences = !all_registered;
}

void nof_barrier_heavy(void)
{
    nof_fence_full();
    if (!nof_barrier_fences)
        (void)membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

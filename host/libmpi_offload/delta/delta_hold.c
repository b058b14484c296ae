/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_hold.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KERNEL_SET_BYTES 8 /* what the kernel knows of a sigset_t */

static bool held;

/* The kernel's call: the C library's leaves signals out (delta_signal.h). */
void nof_delta_hold(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, before, KERNEL_SET_BYTES);
    while (__atomic_exchange_n(&held, true, __ATOMIC_ACQUIRE))
        sched_yield();
}

void nof_delta_let_go(const sigset_t *before)
{
    __atomic_store_n(&held, false, __ATOMIC_RELEASE);
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, KERNEL_SET_BYTES);
}

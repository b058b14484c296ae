/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_hold.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KERNEL_SET_BYTES 8 /* what the kernel knows of a sigset_t */

static bool held;
/* In a handler that has all signals blocked: what is not, where it returns to. */
static __thread const sigset_t *entered __attribute__((tls_model("initial-exec")));

void nof_delta_hold_enter(const sigset_t *interrupted)
{
    entered = interrupted;
}

void nof_delta_hold_open(const sigset_t *more)
{
    if (entered == NULL)
        return;
    sigset_t mask = *entered;
    for (int i = 1; more != NULL && i < NSIG; i++)
        if (sigismember(more, i) == 1)
            sigaddset(&mask, i);
    entered = NULL;
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, KERNEL_SET_BYTES);
}

void nof_delta_hold_leave(void)
{
    entered = NULL;
}

/* The kernel's call: the C library's leaves signals out (delta_signal.h). */
void nof_delta_hold(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    if (entered == NULL)
        (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, before, KERNEL_SET_BYTES);
    while (__atomic_exchange_n(&held, true, __ATOMIC_ACQUIRE))
        sched_yield();
}

void nof_delta_let_go(const sigset_t *before)
{
    __atomic_store_n(&held, false, __ATOMIC_RELEASE);
    if (entered == NULL)
        (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, KERNEL_SET_BYTES);
}

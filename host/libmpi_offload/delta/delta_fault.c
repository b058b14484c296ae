/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_fault.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "delta/delta_pages.h"
#include "delta/delta_watch.h"

static struct sigaction before; /* the program's */

/* As the kernel would call it, with its mask; without a handler the process ends by the same fault again. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    sigset_t mask = before.sa_mask, was;
    if ((before.sa_flags & SA_SIGINFO) == 0 &&
        (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)) {
        (void)sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        if (info->si_code <= 0) /* sent, not a fault */
            (void)raise(number);
        return;
    }
    if ((before.sa_flags & SA_NODEFER) == 0)
        sigaddset(&mask, number);
    pthread_sigmask(SIG_BLOCK, &mask, &was);
    if ((before.sa_flags & SA_SIGINFO) != 0)
        before.sa_sigaction(number, info, context);
    else
        before.sa_handler(number);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
}

/* An access that is allowed meanwhile was another thread's fault, too. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    bool again =
        info->si_code == SEGV_ACCERR && (nof_delta_watch_fault(address) || nof_delta_pages_usable(address));
    errno = saved;
    if (!again)
        pass_on(number, info, context);
}

bool nof_delta_fault_open(void)
{
    struct sigaction now;
    if (!nof_delta_pages_open() || sigaction(SIGSEGV, NULL, &now) != 0)
        return false;
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault)
        return true;
    struct sigaction ours = {.sa_sigaction = on_fault,
                             .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART};
    before = now;
    return sigaction(SIGSEGV, &ours, NULL) == 0;
}

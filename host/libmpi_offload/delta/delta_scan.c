/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_scan.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "delta/delta_watch.h"

#define INTERVAL_NS 100000 /* a page or two of a program that computes 100 us a page */

static pthread_t thread;
static bool running, leaving;
static uint32_t begun; /* futex word */

static void *run(void *arg)
{
    const struct timespec interval = {.tv_nsec = INTERVAL_NS};
    (void)arg;
    (void)prctl(PR_SET_TIMERSLACK, 1ul);
    while (!__atomic_load_n(&leaving, __ATOMIC_ACQUIRE)) {
        uint32_t seen = __atomic_load_n(&begun, __ATOMIC_ACQUIRE);
        if (nof_delta_watch_look())
            (void)nanosleep(&interval, NULL);
        else
            (void)syscall(SYS_futex, &begun, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    }
    return NULL;
}

static void wake(void)
{
    (void)__atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
    (void)syscall(SYS_futex, &begun, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void nof_delta_scan_begin(void)
{
    sigset_t all, before;
    if (!running) {
        leaving = false;
        sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        running = pthread_create(&thread, NULL, run, NULL) == 0;
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    wake();
}

void nof_delta_scan_end(void)
{
    if (!running)
        return;
    __atomic_store_n(&leaving, true, __ATOMIC_RELEASE);
    wake();
    (void)pthread_join(thread, NULL);
    running = false;
}

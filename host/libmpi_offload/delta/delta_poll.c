/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_poll.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/wait.h"

#define CREDIT_MOST 8u /* waits without news, until the next one is thought to need none */

static pthread_t thread;
static bool running;
static const struct nof_sched *(*describe)(const void *slot);
/* Atomic. */
static bool leaving;
static uint32_t calls; /* futex word */
static uint32_t waiting; /* summons that were not dismissed */
static uint32_t slot; /* of the last of them */
static uint32_t credit;

static bool wanted(void)
{
    return __atomic_load_n(&waiting, __ATOMIC_ACQUIRE) > 0;
}

static void serve(void)
{
    struct nof_wait wait = {
        .call = "a page of MPIX_Delta_recv", .describe = describe, .what = &slot, .wanted = &waiting};
    bool news = false;
    nof_lib_lock();
    while (wanted())
        news = nof_wait_step(&wait) || news;
    nof_lib_unlock();
    uint32_t left = __atomic_load_n(&credit, __ATOMIC_RELAXED);
    __atomic_store_n(&credit, news ? CREDIT_MOST : left - (left > 0), __ATOMIC_RELAXED);
}

static void *run(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&leaving, __ATOMIC_ACQUIRE)) {
        uint32_t seen = __atomic_load_n(&calls, __ATOMIC_ACQUIRE);
        if (wanted())
            serve();
        else
            (void)syscall(SYS_futex, &calls, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    }
    return NULL;
}

static void call(void)
{
    (void)__atomic_add_fetch(&calls, 1, __ATOMIC_RELEASE);
    (void)syscall(SYS_futex, &calls, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

bool nof_delta_poll_begin(const struct nof_sched *(*of_slot)(const void *slot))
{
    sigset_t all, before;
    if (running)
        return true;
    describe = of_slot;
    leaving = false;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV); /* it may write what comes to guarded pages */
    sigdelset(&all, SIGBUS);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    running = pthread_create(&thread, NULL, run, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return running;
}

void nof_delta_poll_end(void)
{
    if (!running)
        return;
    __atomic_store_n(&leaving, true, __ATOMIC_RELEASE);
    __atomic_store_n(&waiting, 0, __ATOMIC_RELEASE); /* who waits still is no business of MPI any more */
    call();
    nof_wait_ring();
    nof_lib_unlock();
    (void)pthread_join(thread, NULL);
    nof_lib_lock();
    running = false;
}

void nof_delta_poll_in_child(void)
{
    running = false;
    waiting = 0;
}

void nof_delta_poll_summon(uint32_t of)
{
    __atomic_store_n(&slot, of, __ATOMIC_RELAXED);
    if (__atomic_fetch_add(&waiting, 1, __ATOMIC_ACQ_REL) == 0)
        call();
}

void nof_delta_poll_dismiss(void)
{
    if (__atomic_sub_fetch(&waiting, 1, __ATOMIC_ACQ_REL) == 0)
        nof_wait_ring();
}

bool nof_delta_poll_pays(void)
{
    return __atomic_load_n(&credit, __ATOMIC_RELAXED) > 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A helper's life: what runs with the user's ids. It can be killed or stopped at any instruction. */
#include "dma_helper_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nof_private/fence.h"

#include "clock.h"
#include "core.h"
#include "run_as.h"

static unsigned live; /* helpers that may still wake a core; crosses */

#define SPIN_NS (20 * NOFD_US) /* a stream brings its next block before this */

void nofd_dma_helper_ring(struct nofd_dma_helper *helper)
{
    nof_fence_full();
    if (__atomic_load_n(&helper->asleep, __ATOMIC_RELAXED) == 0)
        return;
    __atomic_store_n(&helper->asleep, 0, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&helper->bell, 1, __ATOMIC_SEQ_CST);
    (void)syscall(SYS_futex, &helper->bell, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static bool has_more(const struct nofd_dma_helper *helper)
{
    return __atomic_load_n(&helper->posted, __ATOMIC_ACQUIRE) != helper->taken ||
           __atomic_load_n(&helper->stop, __ATOMIC_RELAXED);
}

/* With the core on the same CPU nothing comes while we spin, and each look costs two changes of threads. */
static uint64_t spin_ns(void)
{
    cpu_set_t cpus;

    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) < 2 ? 0 : SPIN_NS;
}

static void wait_for_more(struct nofd_dma_helper *helper, uint64_t spin_for_ns)
{
    uint64_t until_ns = nofd_clock_ns() + spin_for_ns;
    uint32_t bell;

    while (!has_more(helper) && nofd_clock_ns() < until_ns)
        sched_yield(); /* the core or the rank may need this CPU */
    bell = __atomic_load_n(&helper->bell, __ATOMIC_ACQUIRE);
    __atomic_store_n(&helper->asleep, 1, __ATOMIC_RELAXED);
    nof_fence_full();
    while (!has_more(helper) && __atomic_load_n(&helper->bell, __ATOMIC_ACQUIRE) == bell)
        (void)syscall(SYS_futex, &helper->bell, FUTEX_WAIT_PRIVATE, bell, NULL, NULL, 0);
    __atomic_store_n(&helper->asleep, 0, __ATOMIC_RELAXED);
}

static void serve(void *arg)
{
    struct nofd_dma_helper *helper = arg;
    uint64_t spin_for_ns = spin_ns();

    while (!__atomic_load_n(&helper->stop, __ATOMIC_ACQUIRE)) {
        struct nofd_dma_slot *slot;
        uint32_t queued = NOFD_SLOT_QUEUED;

        if (__atomic_load_n(&helper->posted, __ATOMIC_ACQUIRE) == helper->taken) {
            wait_for_more(helper, spin_for_ns);
            continue;
        }
        slot = &helper->slots[helper->taken % NOFD_DMA_SLOTS];
        if (__atomic_compare_exchange_n(&slot->state, &queued, NOFD_SLOT_CLAIMED, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            slot->status =
                nofd_dma_copy(slot->pid, slot->write, slot->remote, slot->nremote, slot->local, slot->nlocal);
            __atomic_store_n(&slot->state, NOFD_SLOT_DONE, __ATOMIC_RELEASE);
        }
        __atomic_store_n(&helper->taken, helper->taken + 1, __ATOMIC_RELEASE);
        nofd_idle_wake(&helper->core->idle);
    }
}

static void drop(struct nofd_dma_helper *helper)
{
    if (__atomic_fetch_sub(&helper->owners, 1, __ATOMIC_ACQ_REL) == 1)
        free(helper);
}

static void helper_ended(void *arg)
{
    struct nofd_dma_helper *helper = arg;
    bool stopped = __atomic_load_n(&helper->stop, __ATOMIC_ACQUIRE) != 0;

    __atomic_store_n(&helper->life, NOFD_HELPER_DEAD, __ATOMIC_RELEASE);
    if (!stopped)
        nofd_idle_wake(&helper->core->idle);
    drop(helper);
    (void)__atomic_fetch_sub(&live, 1, __ATOMIC_RELEASE);
}

bool nofd_dma_helpers_ended(unsigned timeout_ms)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    for (unsigned ms = 0; __atomic_load_n(&live, __ATOMIC_ACQUIRE) != 0; ms++) {
        if (ms == timeout_ms)
            return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

struct nofd_dma_helper *nofd_dma_helper_start(struct nofd_dma_pool *pool)
{
    struct nofd_dma_helper *helper = aligned_alloc(64, (sizeof(*helper) + 63) & ~(size_t)63);
    struct nofd_run_as job = {.uid = pool->uid, .gid = pool->gid, .fn = serve, .ended = helper_ended};

    if (helper == NULL)
        return NULL;
    memset(helper, 0, sizeof(*helper));
    helper->core = pool->core;
    helper->owners = 2;
    job.arg = helper;
    (void)__atomic_fetch_add(&live, 1, __ATOMIC_RELAXED);
    if (nofd_run_as(&job) != 0) {
        (void)__atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
        free(helper);
        return NULL;
    }
    return helper;
}

void nofd_dma_helper_put(struct nofd_dma_helper *helper)
{
    __atomic_store_n(&helper->stop, 1, __ATOMIC_RELEASE);
    nofd_dma_helper_ring(helper);
    drop(helper);
}

/* --- probe ---------------------------------------------------------------------------------------- */

static void probe_run(void *arg)
{
    struct nofd_dma_probe *probe = arg;

    probe->status = nofd_dma_probe(probe->pid, probe->addr, probe->value);
}

static void probe_drop(struct nofd_dma_probe *probe)
{
    if (__atomic_fetch_sub(&probe->owners, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    close(probe->notify_fd);
    free(probe);
}

static void probe_ended(void *arg)
{
    struct nofd_dma_probe *probe = arg;
    uint64_t one = 1;
    ssize_t n;

    __atomic_store_n(&probe->done, 1, __ATOMIC_RELEASE);
    n = write(probe->notify_fd, &one, sizeof(one));
    (void)n;
    probe_drop(probe);
}

struct nofd_dma_probe *nofd_dma_probe_start(uid_t uid, gid_t gid, pid_t pid, uint64_t addr, uint64_t value,
                                            int notify_fd)
{
    struct nofd_dma_probe *probe = calloc(1, sizeof(*probe));
    struct nofd_run_as job = {.uid = uid, .gid = gid, .fn = probe_run, .ended = probe_ended, .arg = probe};

    if (probe == NULL)
        return NULL;
    *probe = (struct nofd_dma_probe){
        .uid = uid,
        .gid = gid,
        .pid = pid,
        .addr = addr,
        .value = value,
        .status = NOF_EPERM,
        .owners = 2,
    };
    probe->notify_fd = fcntl(notify_fd, F_DUPFD_CLOEXEC, 0);
    if (probe->notify_fd < 0 || nofd_run_as(&job) != 0) {
        if (probe->notify_fd >= 0)
            close(probe->notify_fd);
        free(probe);
        return NULL;
    }
    return probe;
}

void nofd_dma_probe_put(struct nofd_dma_probe *probe)
{
    probe_drop(probe);
}

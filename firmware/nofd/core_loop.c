/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loop of a NIC core. Budget of a turn without work: one clock reading, one load per endpoint,
 * one poll per NIC; no system call until the idle policy sleeps. */
#include "core.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <rte_launch.h>

#include "clock.h"
#include "copier.h"
#include "dma_helper.h"
#include "log.h"

#define STALL_NS (10 * NOFD_MS) /* between two turns: we were not scheduled */
#define CALL_WAIT_S 10
#define TIMER_SLACK 1000ul /* ns; naps of some 50 us must not become 100 */

int nofd_core_init(struct nofd_core *core, unsigned index, unsigned lcore, struct nofd_nic **nics,
                   unsigned nnics, int main_fd)
{
    memset(core, 0, sizeof(*core));
    core->index = index;
    core->lcore = lcore;
    core->nics = nics;
    core->nnics = nnics;
    core->main_fd = main_fd;
    for (unsigned i = 0; i < nnics; i++)
        nics[i]->core = core;
    return nofd_idle_init(&core->idle);
}

void nofd_core_fini(struct nofd_core *core)
{
    nofd_idle_fini(&core->idle);
}

static void run_call(struct nofd_core *core)
{
    struct nofd_call *call = __atomic_load_n(&core->call, __ATOMIC_ACQUIRE);

    if (call == NULL)
        return;
    __atomic_store_n(&core->call, NULL, __ATOMIC_RELAXED);
    call->fn(core, call->arg);
    __atomic_store_n(&call->answered, 1, __ATOMIC_RELEASE);
    sem_post(&call->done);
}

/* Silence of peers and helpers counts only while we listen. */
static void tell_stalled(struct nofd_core *core, uint64_t stalled_ns)
{
    nofd_dma_pools_stalled(core, stalled_ns);
    for (unsigned i = 0; i < core->nnics; i++)
        nof_nic_stalled(core->nics[i]->nic, core->now_ns, stalled_ns);
}

/* Which of them cannot be waited for. */
static void look_at_ports(struct nofd_core *core)
{
    for (unsigned i = 0; i < core->nnics; i++) {
        struct nofd_wire *wire = &core->nics[i]->wire;

        if (wire->wait_fd >= 0 && nofd_idle_watch(&core->idle, wire->wait_fd, false) != 0)
            wire->naps = true;
        else if (wire->wait_fd >= 0)
            nofd_idle_unwatch(&core->idle, wire->wait_fd);
        core->idle.naps |= wire->naps;
    }
}

static void look_at_pause(struct nofd_core *core)
{
    uint64_t own_ns = nofd_clock_own_ns();

    core->pause_ns = own_ns - core->own_ns;
    core->own_ns = own_ns;
}

int nofd_core_run(void *arg)
{
    struct nofd_core *core = arg;

    (void)prctl(PR_SET_TIMERSLACK, TIMER_SLACK);
    look_at_ports(core);
    core->now_ns = nofd_clock_ns();
    core->own_ns = nofd_clock_own_ns();
    while (!__atomic_load_n(&core->stop, __ATOMIC_ACQUIRE)) {
        uint64_t now_ns = nofd_clock_ns();
        uint64_t gap_ns = now_ns - core->now_ns;
        unsigned work = 0;

        core->now_ns = now_ns;
        if (core->watch_pauses)
            look_at_pause(core);
        if (gap_ns > STALL_NS)
            tell_stalled(core, gap_ns);
        run_call(core);
        if (core->npools > 0)
            work += nofd_dma_pools_turn(core);
        if (core->copier != NULL)
            work += nofd_copier_turn(core->copier);
        for (unsigned i = 0; i < core->nnics; i++)
            work += nofd_nic_turn(core->nics[i], now_ns);
        if (core->npools > 0)
            nofd_dma_pools_ring(core);
        if (work == 0 && core->copier != NULL)
            work += nofd_copier_steal(core->copier);
        if (work > 0)
            nofd_idle_worked(&core->idle, now_ns);
        else
            nofd_idle_wait(core);
    }
    __atomic_store_n(&core->ended, 1, __ATOMIC_RELEASE);
    return 0;
}

int nofd_core_call(struct nofd_core *core, void (*fn)(struct nofd_core *core, void *arg), void *arg)
{
    struct nofd_call call = {.fn = fn, .arg = arg};
    struct timespec until;

    sem_init(&call.done, 0, 0);
    __atomic_store_n(&core->call, &call, __ATOMIC_RELEASE);
    nofd_idle_wake(&core->idle);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += CALL_WAIT_S;
    while (sem_clockwait(&call.done, CLOCK_MONOTONIC, &until) != 0) {
        if (errno == EINTR)
            continue;
        /* The core may still run the call, on this stack frame: there is no way back. */
        nofd_error(
            "NIC core %u has not answered for %d s: it is stopped, or a rank's memory blocks its copy; the "
            "daemon ends",
            core->index, CALL_WAIT_S);
        return -ETIMEDOUT;
    }
    (void)__atomic_load_n(&call.answered, __ATOMIC_ACQUIRE);
    sem_destroy(&call.done);
    return 0;
}

void nofd_core_stop(struct nofd_core *core)
{
    __atomic_store_n(&core->stop, 1, __ATOMIC_RELEASE);
    nofd_idle_wake(&core->idle);
}

void nofd_core_wait(struct nofd_core *core)
{
    (void)rte_eal_wait_lcore(core->lcore);
    /* All that the core wrote is ours now, and ThreadSanitizer sees why. */
    (void)__atomic_load_n(&core->ended, __ATOMIC_ACQUIRE);
}

void nofd_core_tell_main(struct nofd_core *core)
{
    uint64_t one = 1;
    ssize_t n = write(core->main_fd, &one, sizeof(one));

    (void)n; /* full: main is told already */
}

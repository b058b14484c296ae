/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loop of a NIC core. Budget of a turn without work: one clock reading, one load per endpoint,
 * one poll per NIC; no system call until the idle policy sleeps. */
#include "core.h"

#include <string.h>
#include <sys/prctl.h>

#include <rte_launch.h>

#include "clock.h"
#include "copier.h"
#include "dma_helper.h"

#define STALL_NS (10 * NOFD_MS) /* between two turns: we were not scheduled */
#define TIMER_SLACK 1000ul /* ns; naps of some 50 us must not become 100 */

int nofd_core_init(struct nofd_core *core, unsigned index, unsigned eal_lcore, struct nofd_nic **nics,
                   unsigned nnics, int main_fd)
{
    memset(core, 0, sizeof(*core));
    core->eal_lcore = eal_lcore;
    core->nics = nics;
    core->nnics = nnics;
    core->dma.lcore = &core->lcore;
    core->dma.pools.lcore = &core->lcore;
    for (unsigned i = 0; i < nnics; i++) {
        nics[i]->lcore = &core->lcore;
        nics[i]->dma = &core->dma;
    }
    return nofd_lcore_init(&core->lcore, index, main_fd);
}

void nofd_core_fini(struct nofd_core *core)
{
    nofd_lcore_fini(&core->lcore);
}

/* Silence of peers and helpers counts only while we listen. */
static void tell_stalled(struct nofd_core *core, uint64_t stalled_ns)
{
    nofd_dma_pools_stalled(&core->dma.pools, stalled_ns);
    for (unsigned i = 0; i < core->nnics; i++)
        nof_nic_stalled(core->nics[i]->nic, core->lcore.now_ns, stalled_ns);
}

/* Which of them cannot be waited for. */
static void look_at_ports(struct nofd_core *core)
{
    for (unsigned i = 0; i < core->nnics; i++) {
        struct nofd_wire *wire = &core->nics[i]->wire;

        if (wire->wait_fd >= 0 && nofd_lcore_watch(&core->lcore, wire->wait_fd, false) != 0)
            wire->naps = true;
        else if (wire->wait_fd >= 0)
            nofd_lcore_unwatch(&core->lcore, wire->wait_fd);
        core->idle.naps |= wire->naps;
    }
}

static void look_at_pause(struct nofd_core *core)
{
    uint64_t own_ns = nofd_clock_own_ns();

    core->lcore.pause_ns = own_ns - core->own_ns;
    core->own_ns = own_ns;
}

int nofd_core_run(void *arg)
{
    struct nofd_core *core = arg;

    (void)prctl(PR_SET_TIMERSLACK, TIMER_SLACK);
    look_at_ports(core);
    core->lcore.now_ns = nofd_clock_ns();
    core->own_ns = nofd_clock_own_ns();
    while (!nofd_lcore_stopped(&core->lcore)) {
        uint64_t now_ns = nofd_clock_ns();
        uint64_t gap_ns = now_ns - core->lcore.now_ns;
        unsigned work = 0;

        core->lcore.now_ns = now_ns;
        if (core->lcore.watch_pauses)
            look_at_pause(core);
        if (gap_ns > STALL_NS)
            tell_stalled(core, gap_ns);
        nofd_lcore_serve(&core->lcore);
        if (core->dma.pools.n > 0)
            work += nofd_dma_pools_turn(&core->dma.pools);
        if (core->dma.copier != NULL)
            work += nofd_copier_turn(core->dma.copier);
        for (unsigned i = 0; i < core->nnics; i++)
            work += nofd_nic_turn(core->nics[i], now_ns);
        if (core->dma.pools.n > 0)
            nofd_dma_pools_ring(&core->dma.pools);
        if (work == 0 && core->dma.copier != NULL)
            work += nofd_copier_steal(core->dma.copier);
        if (work > 0)
            nofd_idle_worked(&core->idle, now_ns);
        else
            nofd_idle_wait(core);
    }
    __atomic_store_n(&core->ended, 1, __ATOMIC_RELEASE);
    return 0;
}

void nofd_core_stop(struct nofd_core *core)
{
    nofd_lcore_stop(&core->lcore);
}

void nofd_core_wait(struct nofd_core *core)
{
    (void)rte_eal_wait_lcore(core->eal_lcore);
    /* All that the core wrote is ours now, and ThreadSanitizer sees why. */
    (void)__atomic_load_n(&core->ended, __ATOMIC_ACQUIRE);
}

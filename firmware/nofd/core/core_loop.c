/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loop of a NIC core. Budget of a turn without work: one clock reading, one load per endpoint,
 * one poll per NIC; no system call until the idle policy sleeps. */
#include "nofd/core/core_loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <rte_lcore.h>

#include "nofd/sys/clock.h"
#include "nofd/sys/log.h"
#include "nofd/dma/copier.h"

#define STALL_NS (10 * NOFD_MS) /* between two turns: we were not scheduled */
#define AWAY_NS \
    (500 * NOFD_MS) /* likewise; told in the log, for peers may soon take us for dead (dead_after_ms) */
#define TIMER_SLACK 1000ul /* ns; naps of some 50 us must not become 100 */
#define OTHER_SOURCES 3u /* beside the NICs */

int nofd_core_init(struct nofd_core *core, unsigned index, struct nofd_nic **nics, unsigned nnics,
                   int main_fd)
{
    int rc;

    memset(core, 0, sizeof(*core));
    rc = nofd_lcore_init(&core->lcore, index, main_fd);
    if (rc != 0)
        return rc;
    core->sources.of = calloc(nnics + OTHER_SOURCES, sizeof(*core->sources.of));
    if (core->sources.of == NULL) {
        nofd_lcore_fini(&core->lcore);
        return -ENOMEM;
    }
    core->nics = nics;
    core->nnics = nnics;
    core->dma.lcore = &core->lcore;
    nofd_dma_pools_init(&core->dma.pools, &core->lcore);
    for (unsigned i = 0; i < nnics; i++)
        if (!nofd_nic_place(nics[i], &core->lcore, &core->dma))
            core->idle.naps = true;
    core->idle.sleeps = &nics[0]->counters[NOF_C_SLEEPS];
    return 0;
}

void nofd_core_fini(struct nofd_core *core)
{
    free(core->sources.of);
    core->sources.of = NULL;
    nofd_siblings_fini(&core->siblings);
    nofd_lcore_fini(&core->lcore);
}

int nofd_core_meet(struct nofd_core *core, const struct nofd_core *all, unsigned n)
{
    int rc = nofd_siblings_init(&core->siblings, n);

    for (unsigned i = 0; rc == 0 && i < n; i++)
        if (&all[i] != core)
            nofd_siblings_add(&core->siblings, &all[i].lcore);
    return rc;
}

static void add(struct nofd_core *core, struct nofd_source *source)
{
    core->sources.of[core->sources.n++] = source;
    if (source->ops->spare != NULL)
        core->spare = source;
}

/* Silence of peers and helpers counts only while we listen. */
static void tell_stalled(const struct nofd_core *core, uint64_t stalled_ns)
{
    if (stalled_ns >= AWAY_NS)
        nofd_notice(
            "NIC core %u did not run for %llu ms: stopped, or short of a CPU; peers that were there may "
            "have given it up",
            core->lcore.index, (unsigned long long)(stalled_ns / NOFD_MS));
    for (unsigned i = 0; i < core->sources.n; i++) {
        struct nofd_source *source = core->sources.of[i];

        if (source->ops->stalled != NULL)
            source->ops->stalled(source, core->lcore.now_ns, stalled_ns);
    }
}

/* Nor that of peers while others of this machine are late, who may be those peers. */
static void tell_late(const struct nofd_core *core)
{
    for (unsigned i = 0; i < core->sources.n; i++) {
        struct nofd_source *source = core->sources.of[i];

        if (source->ops->late != NULL)
            source->ops->late(source, core->lcore.now_ns);
    }
}

static void look_at_pause(struct nofd_core *core)
{
    uint64_t own_ns = nofd_clock_own_ns();

    core->lcore.pause_ns = own_ns - core->own_ns;
    core->own_ns = own_ns;
}

static void *run(void *arg)
{
    struct nofd_core *core = arg;
    const struct nofd_sources sources = core->sources; /* which stay the same, whatever a turn does */

    (void)prctl(PR_SET_TIMERSLACK, TIMER_SLACK);
    bool registered = rte_thread_register() == 0;
    if (!registered)
        nofd_notice(
            "DPDK has no number left for NIC core %u: it has no cache of its own in mempools, and is slower",
            core->lcore.index);
    core->lcore.now_ns = nofd_clock_ns();
    core->own_ns = nofd_clock_own_ns();
    while (!nofd_lcore_stopped(&core->lcore)) {
        uint64_t now_ns = nofd_clock_ns();
        uint64_t gap_ns = now_ns - core->lcore.now_ns;
        unsigned work = 0;

        core->lcore.now_ns = now_ns;
        if (core->lcore.watch_pauses)
            look_at_pause(core);
        nofd_lcore_turn_begins(&core->lcore);
        if (gap_ns > STALL_NS)
            tell_stalled(core, gap_ns);
        if (nofd_siblings_late(&core->siblings, now_ns))
            tell_late(core);
        nofd_lcore_serve(&core->lcore);
        for (unsigned i = 0; i < sources.n; i++)
            work += sources.of[i]->ops->turn(sources.of[i], now_ns);
        if (work == 0 && core->spare != NULL)
            work = core->spare->ops->spare(core->spare);
        if (work > 0)
            nofd_idle_worked(&core->idle, now_ns);
        else
            nofd_idle_wait(&core->idle, &core->lcore, &core->sources);
    }
    if (registered)
        rte_thread_unregister();
    return NULL;
}

/* Copies that have ended come before the NICs, which go on with them in the same turn. */
int nofd_core_launch(struct nofd_core *core, bool private_job)
{
    char name[16]; /* as long as the kernel's may be */
    int rc;

    if (private_job)
        core->dma.copier = nofd_copier_start(&core->dma);
    else
        add(core, &core->dma.pools.source);
    if (core->dma.copier != NULL)
        add(core, nofd_copier_source(core->dma.copier));
    for (unsigned i = 0; i < core->nnics; i++)
        add(core, &core->nics[i]->source);
    if (!private_job)
        add(core, &core->dma.pools.bells);
    snprintf(name, sizeof(name), "nofd-core-%u", core->lcore.index);
    rc = pthread_create(&core->thread, NULL, run, core);
    if (rc != 0) {
        nofd_copier_stop(core->dma.copier);
        core->dma.copier = NULL;
        return -rc;
    }
    (void)pthread_setname_np(core->thread, name);
    return 0;
}

void nofd_core_stop(struct nofd_core *core)
{
    nofd_lcore_stop(&core->lcore);
}

void nofd_core_wait(struct nofd_core *core)
{
    (void)pthread_join(core->thread, NULL);
}

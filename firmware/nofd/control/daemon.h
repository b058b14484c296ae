/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The daemon: what the main thread owns. NIC cores own their NICs; the main thread reaches those
 * only by nofd_lcore_run(). Main thread only. */
#ifndef NOFD_DAEMON_H
#define NOFD_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "nofd/dma/busy.h"
#include "nofd/core/core_loop.h"
#include "nofd/dma/dma_helper.h"
#include "nofd/door/door.h"
#include "nofd/sys/loop.h"
#include "nofd/core/nic_host.h"
#include "nofd/sys/options.h"
#include "nofd/door/allowance.h"
#include "nofd/sys/ticks.h"

struct nofd_attach;
struct nofd_client;
struct nofd_job;

struct nofd {
    struct nofd_options options;
    struct nofd_loop loop;
    struct nofd_ticks ticks;
    struct nofd_tick removal; /* of devices that have gone, and could not be let go at once */
    uint64_t started_ns;
    uint32_t host_id; /* of this machine, for real NICs */

    struct nof_fabric *fabric; /* NULL: none */
    struct nofd_nic *nics; /* by NIC, with the cores of each next to each other */
    struct nofd_nic **by_core; /* the same, grouped by thread */
    unsigned nparts; /* of all NICs: their cores */
    unsigned nnics;
    struct nofd_core *cores;
    unsigned ncores;
    unsigned nrunning; /* cores launched */
    struct nofd_watchdog *watchdog; /* of a private daemon */
    struct nofd_allowances shares;

    struct nofd_door attach_door;
    struct nofd_tick attach_tick;
    struct nofd_attach *attaches; /* connections of ranks */
    unsigned nattached; /* of them, with an endpoint */
    bool was_attached; /* at least once */
    struct nofd_busy busy; /* crosses: the probe of a private daemon under way */
    struct nofd_endpoint *endpoints;
    unsigned nendpoints;
    struct nofd_job *jobs;
    struct nofd_dma_crew crew; /* helpers of all users */
    unsigned next_nic; /* nofd deals */

    struct nofd_door control_door;
    struct nofd_tick control_tick;
    struct nofd_client *clients;
    unsigned nclients;
    struct nofd_seen *seen; /* what status last asked the cores */

    struct nofd_watch signals;
    struct nofd_watch cores_watch; /* eventfd: a core has news */
    struct nofd_watch parent; /* pidfd; private only */
    int exit_code;
};

/* Once, before anything else is called: what would outlive the process is removed also by quick_exit(), the end when a
 * NIC core is lost and nothing can be ended in order any more (main thread or watchdog). */
void nofd_daemon_init(struct nofd *d);
/* A NIC's first core; the others follow it. */
static inline struct nofd_nic *nofd_nic_of(const struct nofd *d, unsigned nic)
{
    return &d->nics[nic * d->options.cores_per_nic];
}

/* Ends the daemon in order. */
void nofd_stop(struct nofd *d, int exit_code);
/* Ends a private daemon once its last rank and its last control client have gone. */
void nofd_maybe_done(struct nofd *d);
/* Root's daemon serves all users, a private one and anybody else's their own. */
bool nofd_is_for_all(const struct nofd *d);

#endif

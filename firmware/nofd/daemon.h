/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The daemon: what the main thread owns. NIC cores own their NICs; the main thread reaches those
 * only by nofd_core_call(). Main thread only. */
#ifndef NOFD_DAEMON_H
#define NOFD_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "core.h"
#include "door.h"
#include "loop.h"
#include "nic.h"
#include "options.h"
#include "share.h"

struct nofd_attach;
struct nofd_client;
struct nofd_dma_helper;
struct nofd_job;

struct nofd {
    struct nofd_options options;
    struct nofd_loop loop;
    uint64_t started_ns;
    uint32_t host_id; /* of this machine, for real NICs */

    struct nof_fabric *fabric; /* NULL: none */
    struct nofd_nic *nics;
    struct nofd_nic **by_core; /* the same, grouped by core */
    unsigned nnics;
    struct nofd_core *cores;
    unsigned ncores;
    unsigned nrunning; /* cores launched */
    struct nofd_watchdog *watchdog; /* of a private daemon */
    struct nofd_shares shares;

    struct nofd_door attach_door;
    struct nofd_attach *attaches; /* connections of ranks */
    unsigned nattaches; /* all of them */
    unsigned nattached; /* with an endpoint */
    bool was_attached; /* at least once */
    struct nofd_busy busy; /* crosses: the probe of a private daemon under way */
    struct nofd_endpoint *endpoints;
    unsigned nendpoints;
    struct nofd_job *jobs;
    struct nofd_dma_helper *helpers; /* of all users, until their processes have ended */
    unsigned next_nic; /* nofd deals */

    struct nofd_door control_door;
    struct nofd_client *clients;
    unsigned nclients;
    struct nofd_seen *seen; /* what status last asked the cores */

    struct nofd_watch signals;
    struct nofd_watch cores_watch; /* eventfd: a core has news */
    struct nofd_watch ticks; /* timerfd */
    bool ticking;
    struct nofd_watch parent; /* pidfd; private only */
    int exit_code;
};

/* Ends the daemon in order. */
void nofd_stop(struct nofd *d, int exit_code);
/* A core is lost: nothing can be ended in order any more. Does not return. Main thread or watchdog. */
_Noreturn void nofd_die(struct nofd *d);
/* Run fn on the NIC's core; dies when the core is lost. */
void nofd_call(struct nofd *d, struct nofd_core *core, void (*fn)(struct nofd_core *core, void *arg),
               void *arg);
/* Have nofd_attach_tick() and its like called every 50 ms from now on; they say when that is no longer needed. */
void nofd_need_ticks(struct nofd *d);

#endif

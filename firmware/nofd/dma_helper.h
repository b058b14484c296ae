/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DMA helpers of a shared daemon: per NIC core and user a pool of helpers that copy with the user's
 * ids (run_as.h), so that the kernel checks every access, and so that a page that blocks (a
 * userfaultfd, a FUSE file) holds up a helper and never the NIC.
 *
 *   core:   copy()  -> slot of the endpoint's helper: QUEUED
 *   helper: QUEUED -> CLAIMED -> copies -> DONE, taken++          wakes the core if it sleeps
 *   core:   pools_turn() retires DONE slots in order: nof_nic_dma_done()
 *
 * A helper may stop at any instruction (its user may kill it, too), so the two sides share nothing
 * that a dead one could leave locked: each helper has a ring of slots with one writer per index,
 * and a slot changes hands by compare-and-swap. When a helper does not come on for STUCK_NS, the
 * core takes back what it has not claimed (QUEUED -> STOLEN) and gives the slots of all *other*
 * endpoints to another helper; the endpoint whose page blocks waits, and fails after the pool's
 * timeout. Helpers are started by the main thread on the core's request.
 *
 * Threads: open, close and look on the main thread; helpers, turn, ready, deadline and copy on the core. */
#ifndef NOFD_DMA_HELPER_H
#define NOFD_DMA_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nof/port.h"

struct nofd;
struct nofd_core;
struct nofd_dma_pool;
struct nofd_endpoint;

/* The pool of a user on a core, with a reference; created with its first helper when it is new.
 * NULL: ids cannot be taken on, or no memory. A copy may block for the daemon's --dma-timeout. */
struct nofd_dma_pool *nofd_dma_pool_open(struct nofd *d, struct nofd_core *core, uid_t uid, gid_t gid);
/* Gives the reference back once the endpoint is GONE; the last one ends the helpers. */
void nofd_dma_pool_close(struct nofd *d, struct nofd_dma_pool *pool);
/* Starts helpers that the core asked for, frees dead ones. Called when the core told main. */
void nofd_dma_pool_look(struct nofd *d, struct nofd_dma_pool *pool);
/* Helpers that live, for status. On the core. */
unsigned nofd_dma_pool_helpers(const struct nofd_dma_pool *pool);

/* Main thread, before the cores go: wait until no helper knows a core any more. False after timeout_ms: one is stopped
 * or blocked in a copy, and the cores must stay until the process ends. */
bool nofd_dma_helpers_ended(unsigned timeout_ms);

/* Returns results retired. */
unsigned nofd_dma_pools_turn(struct nofd_core *core);
/* The core was not scheduled for so long, and perhaps no helper was: that time counts for no timeout. */
void nofd_dma_pools_stalled(struct nofd_core *core, uint64_t stalled_ns);
/* Results wait to be retired: do not sleep. */
bool nofd_dma_pools_ready(const struct nofd_core *core);
/* When a helper must be looked at although it said nothing. */
uint64_t nofd_dma_pools_deadline(const struct nofd_core *core);

/* One probe of a rank's memory with its user's ids, off the main thread. */
struct nofd_dma_probe {
    uid_t uid;
    gid_t gid;
    pid_t pid;
    uint64_t addr;
    uint64_t value;
    int notify_fd; /* eventfd, written when `done`; a duplicate */
    int done; /* crosses */
    int status; /* valid when done */
    int owners; /* two: the caller and the probe; see nofd_dma_probe_put() */
};

/* A probe under way, or NULL when it cannot be started. */
struct nofd_dma_probe *nofd_dma_probe_start(uid_t uid, gid_t gid, pid_t pid, uint64_t addr, uint64_t value,
                                            int notify_fd);
/* The caller lets go; a probe that blocks is freed when it ends. */
void nofd_dma_probe_put(struct nofd_dma_probe *probe);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A NIC core: one lcore that serves its NICs, run to completion, and sleeps without work.
 *
 *   nofd_core_init -> nofd_core_add_nic... -> rte_eal_remote_launch(nofd_core_run)
 *   nofd_core_call() from the main thread, any number
 *   nofd_core_stop() -> nofd_core_wait() -> nofd_core_fini
 *
 * Control never touches what the core owns: it passes a function that the core runs between two
 * turns, and waits for it. The hot loop pays one load for that. */
#ifndef NOFD_CORE_H
#define NOFD_CORE_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "nof/features.h"

#include "idle.h"
#include "nic.h"
#include "watchdog.h"

#define NOFD_CORE_NICS_MAX 1024u
#define NOFD_CORE_POOLS_MAX 256u

struct nofd_copier;
struct nofd_dma_pool;

struct nofd_call {
    void (*fn)(struct nofd_core *core, void *arg);
    void *arg;
    sem_t done;
    int answered; /* orders the same, for ThreadSanitizers that do not know sem_clockwait() */
};

struct nofd_core {
    unsigned index;
    unsigned lcore;
    struct nofd_nic **nics;
    unsigned nnics;
    struct nofd_idle idle;
    uint64_t now_ns; /* of this turn */
    bool watch_pauses;
    uint64_t own_ns; /* then: when this turn began, in time of our own, and: */
    uint64_t pause_ns; /* how long the one before took */

    struct nofd_dma_pool *pools[NOFD_CORE_POOLS_MAX]; /* users whose memory this core copies */
    unsigned npools;
    unsigned first_pool; /* of this turn */
    struct nofd_copier *copier; /* of a private daemon; NULL: the core does all copies itself */
    struct nofd_busy busy; /* crosses: the inline copy under way */

    /* Cross threads. */
    struct nofd_call *call;
    int stop;
    int ended;
    int main_fd; /* eventfd: the main thread must look at its endpoints and pools */
};

/* main_fd: eventfd to write when the main thread must look. 0 or -errno. */
int nofd_core_init(struct nofd_core *core, unsigned index, unsigned lcore, struct nofd_nic **nics,
                   unsigned nnics, int main_fd);
void nofd_core_fini(struct nofd_core *core);

/* lcore function; arg is the core. Returns 0. */
int nofd_core_run(void *arg);

/* Main thread: run fn(core, arg) on the core and wait for it. A core that does not answer within
 * 10 s is lost: -ETIMEDOUT, and the daemon must end at once, because the core may still run fn on the
 * caller's frame: use nofd_call(). */
int nofd_core_call(struct nofd_core *core, void (*fn)(struct nofd_core *core, void *arg), void *arg);
void nofd_core_stop(struct nofd_core *core);
/* After stop: until the lcore has left nofd_core_run(). */
void nofd_core_wait(struct nofd_core *core);

/* NIC core: have the main thread look. */
void nofd_core_tell_main(struct nofd_core *core);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A NIC core: one thread that serves its NICs, run to completion, and sleeps without work. It is a thread of our own that registers with
 * DPDK: EAL's spin for each other at their begin and end, for ever where they share a CPU and are of a real-time class.
 *
 *   nofd_core_init, all of them -> nofd_core_meet -> nofd_core_launch
 *   errands of the main thread, any number (lcore.h)
 *   nofd_core_stop -> nofd_core_wait -> nofd_core_fini */
#ifndef NOFD_CORE_LOOP_H
#define NOFD_CORE_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "nof/features.h"

#include "nofd/dma/dma.h"
#include "nofd/core/idle.h"
#include "nofd/sys/lcore.h"
#include "nofd/core/nic_host.h"
#include "nofd/core/siblings.h"

struct nofd_core {
    struct nofd_lcore lcore;
    pthread_t thread;
    struct nofd_nic **nics;
    unsigned nnics;
    struct nofd_sources sources; /* the NICs, and who copies for them */
    struct nofd_source *spare; /* the one of them that has something for a turn without work; NULL: none */
    struct nofd_idle idle;
    struct nofd_siblings siblings;
    uint64_t own_ns; /* while watch_pauses: when this turn began, in time of our own */

    struct nofd_dma dma;
};

/* main_fd: eventfd to write when the main thread must look. 0 or -errno. */
int nofd_core_init(struct nofd_core *core, unsigned index, struct nofd_nic **nics, unsigned nnics,
                   int main_fd);
void nofd_core_fini(struct nofd_core *core);
/* The daemon's other cores, to be heeded when they stand (siblings.h); all[0..n) with itself. 0 or -ENOMEM. */
int nofd_core_meet(struct nofd_core *core, const struct nofd_core *all, unsigned n);

/* private_job: it copies itself, with a copier if there is a CPU for one, which is the caller's to stop after the core;
 * else helpers copy. 0 or -errno. */
int nofd_core_launch(struct nofd_core *core, bool private_job);
void nofd_core_stop(struct nofd_core *core);
/* After stop: until it has ended. Only of one that was launched. */
void nofd_core_wait(struct nofd_core *core);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A second pair of hands for the NIC core of a private daemon: a thread that reads large blocks out of ranks while
 * the core sends the block before. The ranks of a large transfer mostly sleep, so that their CPU is free for it.
 *
 *   core:   copy()   -> slot QUEUED, or NOF_EAGAIN: the core reads itself
 *   copier: QUEUED -> CLAIMED -> reads -> DONE          wakes the core if it sleeps
 *   core:   steal()  -> without other work it claims a QUEUED slot and reads itself: it never waits for a copier
 *                       that has no CPU
 *   core:   turn()   -> DONE slots, in order: nof_nic_dma_done()
 *
 * Only where all endpoints are of one user: the thread has the daemon's ids. A page that blocks holds up the copier
 * and the endpoint that named it, and the core only if it stole that read.
 *
 * Threads: start and stop on the main thread, the rest on the core. */
#ifndef NOFD_COPIER_H
#define NOFD_COPIER_H

#include <stdbool.h>
#include <stdint.h>

#include "nof/port.h"

#define NOFD_COPIER_LEAST_BYTES 32768u /* below, handing over costs more than it saves */

struct nofd_core;
struct nofd_copier;
struct nofd_endpoint;

/* NULL: there is only one CPU, or no thread; then the core does all. */
struct nofd_copier *nofd_copier_start(struct nofd_core *core);
void nofd_copier_stop(struct nofd_copier *copier);

/* NOF_DMA_PENDING, or NOF_EAGAIN: read it yourself (it is the first of a turn, or there is no slot for it). */
int nofd_copier_read(struct nofd_copier *copier, struct nofd_endpoint *ep, const struct nof_segment *remote,
                     unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token);
/* Returns reads retired. */
unsigned nofd_copier_turn(struct nofd_copier *copier);
/* Returns 1 if a read was stolen and done. */
unsigned nofd_copier_steal(struct nofd_copier *copier);
/* Reads are under way or wait to be retired: steal or turn before sleeping. */
bool nofd_copier_ready(const struct nofd_copier *copier);

#endif

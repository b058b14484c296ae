/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A second pair of hands for the NIC core of a private daemon: a thread that reads large blocks out of ranks while
 * the core sends the block before. The ranks of a large transfer mostly sleep, so that their CPU is free for it.
 *
 *   core:   copy()   -> slot QUEUED, or NOF_EAGAIN: the core reads itself
 *   copier: QUEUED -> CLAIMED -> reads -> DONE          wakes the core if it sleeps
 *   core:   steal()  -> without other work it claims a QUEUED slot and reads itself: it never waits for a copier
 *                       that has no CPU
 *   core:   turn()   -> DONE slots, each as it comes: nof_nic_dma_done()
 *
 * Only where all endpoints are of one user: the thread has the daemon's ids. A page that blocks the copier holds up
 * its endpoint alone: the others' slots are stolen, and the core reads itself until the copier is back. After
 * --dma-timeout that endpoint fails (watchdog.h). The same page blocks the core when the core reads it: the first
 * block of a turn, a stolen one, a small one.
 *
 * Threads: start and stop on the main thread, busy and overdue on the watchdog's, the rest on the core. */
#ifndef NOFD_COPIER_H
#define NOFD_COPIER_H

#include <stdbool.h>
#include <stdint.h>

#include "nof/port.h"

#include "nofd/dma/busy.h"
#include "nofd/sys/source.h"

#define NOFD_COPIER_LEAST_BYTES 32768u /* below, handing over costs more than it saves */

struct nofd_copier;
struct nofd_dma;
struct nofd_dma_memory;

/* NULL: there is only one CPU, or no thread; then the core does all. */
struct nofd_copier *nofd_copier_start(struct nofd_dma *dma);
void nofd_copier_stop(struct nofd_copier *copier);

/* NOF_DMA_PENDING, or NOF_EAGAIN: read it yourself (it is the first of a turn and the copier sleeps, or there is no
 * slot for it). */
int nofd_copier_read(struct nofd_copier *copier, struct nofd_dma_memory *memory,
                     const struct nof_segment *remote, unsigned nremote, const struct nof_buf *local,
                     unsigned nlocal, uint64_t token);
/* The endpoint is closed: what nobody has claimed ends with NOF_EPEERDEAD. */
void nofd_copier_cancel(struct nofd_copier *copier, const struct nofd_dma_memory *memory);
/* Its turn returns reads retired, and fails the endpoint whose page blocks the copier for too long; a spare one steals
 * one read. The copier's, as long as that lives. */
struct nofd_source *nofd_copier_source(struct nofd_copier *copier);

/* Watchdog. */
const struct nofd_busy *nofd_copier_busy(const struct nofd_copier *copier);
/* The copy under way takes too long: the next turn deals with it. */
void nofd_copier_overdue(struct nofd_copier *copier);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DMA without DMA: where the kernel forbids us the rank's memory, the library copies on request.
 *
 *   core: dma_read/dma_write -> slot of the assist area -> NOF_COMP_ASSIST, one per remote segment
 *   host: copies between its memory and the area        -> its word for that slot, and the doorbell
 *   nofd: sees the word at its next turn                 -> nof_nic_dma_done()
 *
 * Answers are words and not descriptors: a descriptor waits for room in the core, and that room may be
 * what the core gets when the copy is done. A host that never answers, or lies, holds up its own transfers
 * only; its slots end with the endpoint.
 * Threads: create and destroy on the main thread, the rest on the NIC core. */
#ifndef NOFD_ASSIST_H
#define NOFD_ASSIST_H

#include <stdbool.h>
#include <stdint.h>

#include "nof/desc.h"

struct nofd_assist;
struct nofd_endpoint;

/* area: nofd's mapping of the assist area, NOF_ASSIST_SLOTS blocks of NOF_DMA_BLOCK_BYTES. NULL without memory. */
struct nofd_assist *nofd_assist_create(void *area);
void nofd_assist_destroy(struct nofd_assist *assist);

/* Ends the transfers whose copies the host has done. Returns how many. */
unsigned nofd_assist_turn(struct nofd_endpoint *ep);
/* There are any: do not sleep. */
bool nofd_assist_has_work(const struct nofd_endpoint *ep);

#endif

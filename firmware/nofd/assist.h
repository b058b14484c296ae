/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DMA without DMA: where the kernel forbids us the rank's memory, the library copies on request.
 *
 *   core: dma_read/dma_write -> slot of the assist area -> NOF_COMP_ASSIST, one per remote segment
 *   host: copies between its memory and the area        -> NOF_DESC_ASSIST_DONE, one per completion
 *   nofd: takes those out of the descriptor stream      -> nof_nic_dma_done()
 *
 * A host that never answers holds up its own transfers only; its slots end with the endpoint.
 * Threads: create and destroy on the main thread, the rest on the NIC core. */
#ifndef NOFD_ASSIST_H
#define NOFD_ASSIST_H

#include <stddef.h>
#include <stdint.h>

#include "nof/desc.h"

struct nofd_assist;
struct nofd_endpoint;

#define NOFD_ASSIST_SLOTS 8u /* of NOF_DMA_BLOCK_BYTES each */

/* area: nofd's mapping of the assist area, NOFD_ASSIST_SLOTS blocks. NULL without memory. */
struct nofd_assist *nofd_assist_create(void *area);
void nofd_assist_destroy(struct nofd_assist *assist);

/* Takes the ASSIST_DONE descriptors out of descs[0..n) and acts on them; returns how many others
 * are left, in order. An answer nobody asked for dooms the endpoint. */
unsigned nofd_assist_filter(struct nofd_endpoint *ep, uint64_t now_ns, struct nof_desc *descs, unsigned n);

#endif

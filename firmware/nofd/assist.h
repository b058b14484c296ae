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

/* Sorts descs[0..n): the ASSIST_DONE descriptors go to answers[0..n), the others stay, in order. Returns how many stay;
 * n less that are answers. */
unsigned nofd_assist_filter(struct nof_desc *descs, struct nof_desc *answers, unsigned n);
/* Acts on the answers. One nobody asked for dooms the endpoint. Only after the others were given to the core: a read
 * that ends may take up the room that was counted for them. */
void nofd_assist_answer(struct nofd_endpoint *ep, uint64_t now_ns, const struct nof_desc *answers,
                        unsigned n);

#endif

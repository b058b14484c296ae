/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/pacer.h"

void nof_pacer_init(struct nof_pacer *pacer, uint64_t rate_bps, uint32_t frame_bytes, uint64_t now_ns)
{
    *pacer = (struct nof_pacer){0};
    if (rate_bps == 0)
        return;
    pacer->ns_per_byte_q20 = (8000000000u << 20) / rate_bps;
    pacer->depth_ns = NOF_PACER_DEPTH_NS;
    pacer->frame_ns = (uint32_t)(((frame_bytes + NOF_ETH_EXTRA_BYTES) * pacer->ns_per_byte_q20) >> 20);
    if (pacer->depth_ns < 4ull * pacer->frame_ns)
        pacer->depth_ns = 4ull * pacer->frame_ns;
    pacer->frame_ns += pacer->frame_ns == 0;
    /* bound: 64 bits; paid by set-up */
    while (pacer->frame_ns >> pacer->frame_shift > 1)
        pacer->frame_shift++;
    pacer->free_ns = now_ns;
}

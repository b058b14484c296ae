/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/pacer.h"

#define DEPTH_FRAMES 2u
#define WAKE_FRAMES 3u /* and the one that ends later */

void nof_pacer_init(struct nof_pacer *pacer, uint64_t rate_bps, uint32_t frame_bytes, uint64_t now_ns)
{
    *pacer = (struct nof_pacer){0};
    if (rate_bps == 0)
        return;
    pacer->ns_per_byte_q20 = (8000000000u << 20) / rate_bps;
    uint64_t frame_q20 = (frame_bytes + NOF_ETH_EXTRA_BYTES) * pacer->ns_per_byte_q20,
             frame_ns = frame_q20 >> 20;
    uint64_t least_ns = DEPTH_FRAMES * frame_ns, wake_ns = WAKE_FRAMES * frame_ns;
    if (wake_ns < NOF_PACER_BURST_NS)
        wake_ns = NOF_PACER_BURST_NS;
    pacer->depth_ns = least_ns > NOF_PACER_DEPTH_NS ? least_ns : NOF_PACER_DEPTH_NS;
    pacer->wake_ns = (uint32_t)(wake_ns < pacer->depth_ns / 2 ? wake_ns : pacer->depth_ns / 2);
    pacer->burst_ns = 2 * frame_ns > pacer->wake_ns ? 0 : pacer->wake_ns;
    pacer->idle_ns = (uint32_t)(least_ns > pacer->burst_ns ? least_ns : pacer->burst_ns);
    pacer->frame_ns = frame_ns > 0 ? (uint32_t)frame_ns : 1;
    pacer->frames_per_ns_q44 = frame_ns > 0 ? UINT64_MAX / frame_q20 + 1 : 1ull << 44;
    pacer->free_ns = now_ns > pacer->burst_ns ? now_ns - pacer->burst_ns : 0;
}

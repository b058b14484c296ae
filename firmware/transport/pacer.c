/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pacing of the whole NIC to its link rate: one number, the time at which the link will have
 * carried all that was sent. It may lag behind the present by `pace_depth_ns` (the credit of an
 * idle link). Everything counts, only new data waits. With a link of unknown rate nothing here
 * is ever called with work to do. */
#include "transport/state.h"

/* Credit of an idle link: covers the lateness of a NIC core that naps, and is still small beside
 * the buffers of a switch port (31 KB at 1 Gbit/s). */
#define DEPTH_NS 250000u

void nof_pacer_init(struct nof_transport *t)
{
    uint64_t rate = t->cfg.nic->link_rate_bps;

    if (rate == 0)
        return;
    t->pace_ns_per_byte_q20 = (8000000000u << 20) / rate;
    t->pace_depth_ns = DEPTH_NS;
    t->pace_frame_ns =
        (uint32_t)(((t->cfg.nic->mtu_bytes + 14u + NOF_ETH_EXTRA_BYTES) * t->pace_ns_per_byte_q20) >> 20);
    if (t->pace_depth_ns < 4ull * t->pace_frame_ns)
        t->pace_depth_ns = 4ull * t->pace_frame_ns;
    t->pace_frame_ns += t->pace_frame_ns == 0;
    /* bound: 64 bits; paid by the path */
    while (t->pace_frame_ns >> t->pace_frame_shift > 1)
        t->pace_frame_shift++;
    t->pace_free_ns = t->now_ns;
}

void nof_pacer_settle(struct nof_transport *t)
{
    uint64_t floor_ns = t->now_ns > t->pace_depth_ns ? t->now_ns - t->pace_depth_ns : 0;
    uint64_t bytes = t->queued_bytes - t->paced_bytes;
    uint64_t frames = t->queued_frames - t->paced_frames;

    if (t->pace_ns_per_byte_q20 == 0 || frames == 0)
        return;
    if (t->pace_free_ns < floor_ns)
        t->pace_free_ns = floor_ns;
    t->pace_free_ns += ((bytes + frames * NOF_ETH_EXTRA_BYTES) * t->pace_ns_per_byte_q20) >> 20;
    t->paced_bytes = t->queued_bytes;
    t->paced_frames = t->queued_frames;
}

uint32_t nof_pacer_frames(struct nof_transport *t)
{
    uint64_t credit_ns;

    if (t->pace_ns_per_byte_q20 == 0 || t->features[NOF_F_PACING] == 0)
        return UINT32_MAX;
    nof_pacer_settle(t);
    if (t->pace_free_ns > t->now_ns)
        return 0;
    credit_ns = t->now_ns - t->pace_free_ns;
    if (credit_ns > t->pace_depth_ns)
        credit_ns = t->pace_depth_ns;
    return (uint32_t)(credit_ns >> t->pace_frame_shift) + 1;
}

uint64_t nof_pacer_deadline(const struct nof_transport *t)
{
    /* Not for every single frame: up to four at a time. */
    return t->pace_free_ns > t->now_ns ? t->pace_free_ns + 3ull * t->pace_frame_ns : t->now_ns;
}

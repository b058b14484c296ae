/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/rtt.h"

#include "transport/serial.h"

#define NS_PER_MS 1000000u

static void track_minimum(struct nof_rtt *rtt, uint32_t r_ns, uint32_t now_ms)
{
    if (r_ns < rtt->bucket_min_ns)
        rtt->bucket_min_ns = r_ns;
    if (r_ns < rtt->min_ns)
        rtt->min_ns = r_ns;
    if (nof_serial_before(now_ms, rtt->bucket_end_ms))
        return;
    /* Congestion control lets the queue run empty now and then, so this is no standing queue of
     * our own: the route has changed. */
    rtt->min_ns = rtt->bucket_min_ns;
    rtt->bucket_end_ms = now_ms + NOF_RTT_MIN_WINDOW_MS;
    rtt->bucket_min_ns = r_ns;
}

uint64_t nof_rtt_update(struct nof_rtt *rtt, uint64_t latest_ns, uint64_t ack_delay_ns, uint64_t now_ns)
{
    uint64_t sample_ns = latest_ns > ack_delay_ns ? latest_ns - ack_delay_ns : latest_ns;
    uint32_t now_ms = (uint32_t)(now_ns / NS_PER_MS);
    uint32_t r = sample_ns > NOF_RTT_MAX_NS ? NOF_RTT_MAX_NS : (uint32_t)sample_ns;

    if (r == 0)
        r = 1;
    if (rtt->srtt_ns == 0) {
        rtt->srtt_ns = r;
        rtt->rttvar_ns = r / 2;
        rtt->min_ns = r;
        rtt->bucket_min_ns = r;
        rtt->bucket_end_ms = now_ms + NOF_RTT_MIN_WINDOW_MS;
        return sample_ns;
    }
    uint32_t gap = r > rtt->srtt_ns ? r - rtt->srtt_ns : rtt->srtt_ns - r;
    rtt->rttvar_ns = rtt->rttvar_ns - rtt->rttvar_ns / 4 + gap / 4;
    rtt->srtt_ns = rtt->srtt_ns - rtt->srtt_ns / 8 + r / 8;
    track_minimum(rtt, r, now_ms);
    return sample_ns;
}

uint64_t nof_rtt_timeout_ns(const struct nof_rtt *rtt, uint64_t ack_delay_ns, const struct nof_pacer *link,
                            unsigned backoff, uint64_t max_ns)
{
    uint64_t least =
        nof_pacer_carry_ns(link, NOF_RTO_BEFORE_BYTES, 0) + NOF_RTO_BEFORE_FRAMES * (uint64_t)link->frame_ns;
    uint64_t rto = NOF_RTO_INITIAL_NS;

    if (rtt->srtt_ns != 0) {
        uint64_t spread = 4 * (uint64_t)rtt->rttvar_ns;

        rto = rtt->srtt_ns + (spread > rtt->srtt_ns ? spread : rtt->srtt_ns) + ack_delay_ns;
    }
    if (least < NOF_RTO_MIN_NS)
        least = NOF_RTO_MIN_NS;
    if (rto < least)
        rto = least;
    rto <<= backoff < 16 ? backoff : 16;
    return rto > max_ns ? max_ns : rto;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Round-trip time as in RFC 6298, on samples of frames that were sent once (Karn) and from which
 * the peer's acknowledgement delay has been taken. */
#include "transport/state.h"

/* RFC 6298 asks for 1 s, because of wide-area delays and of clocks of 200 ms. Here a round trip
 * takes 5 us to a few ms, and a premature timeout costs one duplicate frame, not the window
 * (congestion.c). 1 ms lies above the usual pause of a NIC core that shares its processor. */
#define RTO_MIN_NS (1u * NOF_MS)
#define RTO_INITIAL_NS (20u * NOF_MS)
#define RTT_MAX_NS 4000000000u
/* Fraction of dead_after beyond which the timeout does not back off: a partition that heals
 * is noticed that soon. */
#define RTO_MAX_SHARE 8u

#define MIN_WINDOW_MS 5000u /* the minimum is forgotten after this, if it does not come back */

static void track_minimum(struct nof_path *p, uint32_t rtt_ns)
{
    uint32_t now_ms = (uint32_t)(p->t->now_ns / NOF_MS);

    if (rtt_ns < p->bucket_min_ns)
        p->bucket_min_ns = rtt_ns;
    if (rtt_ns < p->min_rtt_ns)
        p->min_rtt_ns = rtt_ns;
    if (nof_serial_before(now_ms, p->bucket_end_ms))
        return;
    /* Congestion control lets the queue run empty now and then, so this is no standing queue of
     * our own: the route has changed. */
    p->min_rtt_ns = p->bucket_min_ns;
    p->bucket_end_ms = now_ms + MIN_WINDOW_MS;
    p->bucket_min_ns = rtt_ns;
}

void nof_rtt_sample(struct nof_path *p, uint64_t rtt_ns)
{
    uint32_t r = rtt_ns > RTT_MAX_NS ? RTT_MAX_NS : (uint32_t)rtt_ns;

    if (r == 0)
        r = 1;
    if (p->srtt_ns == 0) {
        p->srtt_ns = r;
        p->rttvar_ns = r / 2;
        p->min_rtt_ns = r;
        p->bucket_min_ns = r;
        p->bucket_end_ms = (uint32_t)(p->t->now_ns / NOF_MS) + MIN_WINDOW_MS;
        return;
    }
    uint32_t gap = r > p->srtt_ns ? r - p->srtt_ns : p->srtt_ns - r;
    p->rttvar_ns = p->rttvar_ns - p->rttvar_ns / 4 + gap / 4;
    p->srtt_ns = p->srtt_ns - p->srtt_ns / 8 + r / 8;
    track_minimum(p, r);
}

uint64_t nof_rtt_timeout_ns(const struct nof_path *p)
{
    uint64_t max_ns = nof_dead_after_ns(p->t) / RTO_MAX_SHARE;
    uint64_t rto = RTO_INITIAL_NS;

    if (p->srtt_ns != 0) {
        uint64_t spread = 4 * (uint64_t)p->rttvar_ns;

        /* RFC 8985: a probe for a lost tail waits two round trips. */
        rto = p->srtt_ns + (spread > p->srtt_ns ? spread : p->srtt_ns);
        rto += p->t->features[NOF_F_ACK_DELAY] * NOF_US;
    }
    if (rto < RTO_MIN_NS)
        rto = RTO_MIN_NS;
    rto <<= p->backoff;
    return rto > max_ns ? max_ns : rto;
}

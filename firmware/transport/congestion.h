/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Congestion window of one path, in bytes, after the ideas of Swift (Kumar et al., SIGCOMM 2020): the signal is
 * the queueing delay, the round trip without the peer's delay and above the minimum. Looked at once
 * per round trip, as the minimum of its samples, because a pause of a processor delays a burst and
 * a standing queue delays everything. Below the target the window grows by one frame per round
 * trip, above it shrinks in proportion to the excess. Loss without queueing delay is taken for
 * corruption and costs little; with delay it costs a good part of the window.
 *
 *   nof_cc_init() -> nof_cc_on_ack(), nof_cc_on_loss(), nof_cc_on_mark(), nof_cc_on_timeout() -> nof_cc_window() at any time
 *
 * With frame the time of a full frame on the link, mss its bytes, queue = least round trip of the round - min_rtt:
 *   target = 50 us + (4 + min(40 mss / window, 16)) frame;  1 ms where the rate of the link is unknown
 *   queue > target:   window *= max((min_rtt + target) / (min_rtt + queue), 1/2)
 *   else, if the window was used:  window += mss, and 1/16 of it more while queue < target / 4
 *   loss:             window *= 3/4 with queue or much at once, else 31/32; no more than once per round trip
 *   mark:             window *= 7/8 (RFC 8511: less than for a loss); likewise
 *   begin             10 mss, rate unknown 32
 *   always            2 mss <= window <= window_frames mss;  rate unknown: at least 16, after loss 4
 * Until the first of queue > target or a costly loss the window also grows by what is acknowledged (slow start).
 *
 * A value: the path's, 28 bytes. Rounds are told by transmission numbers (sentmap.h). */
#ifndef NOF_CONGESTION_H
#define NOF_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

#define NOF_CC_DRAIN_FRAMES 2u

struct nof_cc {
    uint32_t cwnd_bytes;
    uint32_t round_min_ns; /* least round trip of this round; UINT32_MAX: no sample */
    uint32_t last_queue_ns; /* queueing delay at the end of the last round */
    uint32_t least_queue_ns; /* least of them since the last draining; UINT32_MAX: none */
    uint32_t round_xn; /* a round ends when this transmission is acknowledged */
    uint32_t reduced_xn; /* no further decrease until this one is acknowledged */
    uint8_t over_samples; /* consecutive samples above the target in slow start */
    uint8_t rounds; /* wraps */
    bool limited; /* the window has kept something back in this round */
    bool slow_start : 1;
    bool draining : 1; /* for one round: to see the round trip without our own queue */
};

/* What the path is at this moment. */
struct nof_cc_path {
    uint32_t mss_bytes; /* a full frame */
    uint32_t window_frames; /* the window is no larger than so many */
    uint32_t frame_ns; /* a full frame on the link; 0: rate unknown */
    uint32_t min_rtt_ns; /* 0: no sample yet */
    uint32_t xn; /* next transmission number */
    uint32_t delivered_xn; /* newest transmission known to have arrived, plus 1 */
};

void nof_cc_init(struct nof_cc *cc, const struct nof_cc_path *path);
/* So many bytes were acknowledged, of so many in flight before; path is as it is after that. rtt_ns: nof_rtt_update();
 * 0: no sample. Returns whether a round has ended. */
bool nof_cc_on_ack(struct nof_cc *cc, const struct nof_cc_path *path, uint32_t bytes,
                   uint32_t flight_before_bytes, uint64_t rtt_ns);
/* So many frames, at least 1, were found lost at once. */
void nof_cc_on_loss(struct nof_cc *cc, const struct nof_cc_path *path, uint32_t frames);
/* The peer says that a router on the way is congested (RFC 3168). */
void nof_cc_on_mark(struct nof_cc *cc, const struct nof_cc_path *path);
/* A retransmission timeout, the in_a_row-th without an acknowledgement between, from 1. */
void nof_cc_on_timeout(struct nof_cc *cc, const struct nof_cc_path *path, unsigned in_a_row);

/* Bytes that may be in flight. While draining the window runs empty but for a few frames. */
static inline uint32_t nof_cc_window(const struct nof_cc *cc, uint32_t mss_bytes)
{
    return cc->draining ? NOF_CC_DRAIN_FRAMES * mss_bytes : cc->cwnd_bytes;
}

/* The window has kept something back. */
static inline void nof_cc_refused(struct nof_cc *cc)
{
    cc->limited = true;
}

/* Our own core stood still: what was measured in this round is its pause. */
static inline void nof_cc_forget_round(struct nof_cc *cc)
{
    cc->round_min_ns = UINT32_MAX;
}

#endif

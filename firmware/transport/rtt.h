/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Round-trip time of one path: smoothed, its spread, its minimum, and the retransmission timeout that they make.
 *
 *   nof_rtt_init() -> nof_rtt_update() per sample -> nof_rtt_timeout_ns() at any time
 *
 * With R a sample less the peer's acknowledgement delay, as in RFC 6298, section 2:
 *   first    srtt = R,  rttvar = R / 2
 *   then     rttvar = 3/4 rttvar + 1/4 |srtt - R|,  then srtt = 7/8 srtt + 1/8 R
 * R is taken as at least 1 ns and at most NOF_RTT_MAX_NS. Samples are of frames that were sent once (Karn): the caller
 * sees to that.
 *   min      the least R of the last NOF_RTT_MIN_WINDOW_MS to twice that, as far as samples come
 *   timeout  max(srtt + max(4 rttvar, srtt) + ack_delay, NOF_RTO_MIN_NS, before) * 2^backoff, at most max_ns
 * where max(4 rttvar, srtt) gives a lost tail two round trips (RFC 8985, section 7.3), and before is the time that the link
 * needs for NOF_RTO_BEFORE_BYTES and NOF_RTO_BEFORE_FRAMES full frames.
 *
 * A value: the path's, 20 bytes, no memory beside it. */
#ifndef NOF_RTT_H
#define NOF_RTT_H

#include <stdint.h>

#include "transport/pacer.h"

/* RFC 6298 asks for 1 s, because of wide-area delays and of clocks of 200 ms. Here a round trip
 * takes 5 us to a few ms, and a premature timeout costs one duplicate frame, not the window
 * (congestion.h). 1 ms lies above the usual pause of a NIC core that shares its processor. */
#define NOF_RTO_MIN_NS 1000000u
/* What may stand before a frame and its acknowledgement on slow links, though the samples before, of small frames, met nothing: in
 * the switch the 28 KiB that a receiver clears (flow/clearance.h), and 3 full frames in the port of either NIC (pacer.h).
 * Beyond 310 Mbit/s, with jumbo frames 670, that is less than NOF_RTO_MIN_NS. */
#define NOF_RTO_BEFORE_BYTES 28672u
#define NOF_RTO_BEFORE_FRAMES 6u
#define NOF_RTO_INITIAL_NS 20000000u /* without a sample */
#define NOF_RTT_MAX_NS 4000000000u
#define NOF_RTT_MIN_WINDOW_MS 5000u

struct nof_rtt {
    uint32_t srtt_ns; /* 0: no sample yet, and the others mean nothing */
    uint32_t rttvar_ns;
    uint32_t min_ns; /* 0: no sample yet */
    uint32_t bucket_min_ns; /* of the samples since the last window ended */
    uint32_t bucket_end_ms; /* of the virtual or real clock, modulo 2^32 */
};

static inline void nof_rtt_init(struct nof_rtt *rtt)
{
    *rtt = (struct nof_rtt){0};
}

/* A frame was acknowledged latest_ns after it left, of which the peer says it waited ack_delay_ns (0: it did not).
 * A peer that overstates its delay (ack_delay_ns >= latest_ns) is not believed: R = latest_ns.
 * Returns R as it was measured; 0: no time passed by this clock. */
uint64_t nof_rtt_update(struct nof_rtt *rtt, uint64_t latest_ns, uint64_t ack_delay_ns, uint64_t now_ns);

/* How long to wait for an acknowledgement before something is sent again. ack_delay_ns: the longest that a peer may
 * wait; link: of the NIC, which knows how long its link takes; backoff: timeouts in a row. */
uint64_t nof_rtt_timeout_ns(const struct nof_rtt *rtt, uint64_t ack_delay_ns, const struct nof_pacer *link,
                            unsigned backoff, uint64_t max_ns);

#endif

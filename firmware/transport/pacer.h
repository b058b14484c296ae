/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pacing of a whole NIC to the rate of its link: one number, the time at which the link will have carried all that was
 * booked.
 *
 *   nof_pacer_init() -> nof_pacer_ask() > 0 -> send up to so many -> nof_pacer_book() what was sent, and ask again
 *
 * Everything that leaves is booked, only new data asks, until it has no more or is told 0. Let
 * w(f) = (bytes + NOF_ETH_EXTRA_BYTES) * 8 / rate be the time that the link needs for a frame f, and the sums be over all frames
 * booked in an interval of length T.
 *
 *   sum of w(f) <= T + depth + frame      if the interval ends with new data that left as it was allowed to
 *   sum of w(f) <= T + idle + frame       if besides, whoever was told 0 has always asked no later than the deadline was, and
 *                                         nof_pacer_await() was not called
 *   sum of w(f) >= T - burst              if somebody always has full frames, and asks at both ends and each
 *                                         depth - burst between
 *
 * where frame = w(a full frame), idle = max(2 frame, burst) and depth = max(NOF_PACER_DEPTH_NS, 2 frame). A link that somebody waits
 * for saves up to depth: a core that looks late has what passed meanwhile. One that nobody waits for has idle, and as much
 * more as the core was late lately, up to depth: a core that shares its CPU sends a message in one turn, and one that looks in time
 * never has more than idle in its port. While data is read from a rank the link is no idle one either
 * (docs/decisions/0068). So long may stand there what must not wait, an announcement or a clearance: with 250 us
 * of credit two ranks that exchange 64 KiB at 10 Gbit/s send one after the other whenever one begins a little later. Rounding: less
 * than 1 ns a booking and 2^-20 ns a byte.
 *
 * New data on a link that is busy goes in bursts, since frames that leave singly cost a port of the kernel's a call each:
 * nothing leaves until there is credit for burst = min(max(3 frame, NOF_PACER_BURST_NS), depth / 2). Where that is not two
 * frames, they take so long that a call for each costs nothing beside them, and burst is 0. The rate may be of a core's part of a
 * link: four cores on 1 Gbit/s still have bursts.
 *
 * rate_bps 0: the rate is unknown, nothing is paced; nof_pacer_ask() says UINT32_MAX and frame_ns is 0.
 *
 * A value: the NIC's. No division but in nof_pacer_init(). */
#ifndef NOF_PACER_H
#define NOF_PACER_H

#include <stdbool.h>
#include <stdint.h>

#define NOF_ETH_EXTRA_BYTES 24u /* preamble, frame check sequence, inter-frame gap */
/* Covers the lateness of a NIC core that naps, and is still small beside the buffers of a switch port (31 KB at
 * 1 Gbit/s). */
#define NOF_PACER_DEPTH_NS 250000u
#define NOF_PACER_LATE_LOG2 3u /* of lateness, an eighth is forgotten by who looks in time, */
#define NOF_PACER_SELDOM_LOG2 6u /* and a 64th by who finds credit, so as to learn again */
#define NOF_PACER_BURST_NS 20000u /* 16 frames at 10 Gbit/s, and by then 25 KB */

struct nof_pacer {
    uint64_t ns_per_byte_q20; /* 0: no pacing */
    uint64_t depth_ns;
    uint64_t free_ns; /* when the link has carried all that was booked; may lie depth_ns in the past */
    uint64_t asked_ns; /* when somebody did last, */
    bool waits; /* and was told 0 */
    bool awaits; /* data that is on its way here: nof_pacer_await() */
    uint64_t late_ns; /* how long after the deadline such a one asked, lately */
    uint32_t idle_ns;
    uint32_t frame_ns; /* of a full frame, at least 1; 0: rate unknown */
    uint32_t burst_ns; /* after free_ns: no frames before */
    uint32_t wake_ns; /* after free_ns: not for every single frame, and before credit is lost */
    uint64_t frames_per_ns_q44; /* no division per frame */
};

/* frame_bytes: a full frame, from Ethernet header to payload; rate_bps: up to 8 * 10^9 * 2^20, 0 for unknown. */
void nof_pacer_init(struct nof_pacer *pacer, uint64_t rate_bps, uint32_t frame_bytes, uint64_t now_ns);

/* Time that the link needs for so many frames of so many bytes in all; 0: rate unknown. */
static inline uint64_t nof_pacer_carry_ns(const struct nof_pacer *pacer, uint64_t bytes, uint64_t frames)
{
    return ((bytes + frames * NOF_ETH_EXTRA_BYTES) * pacer->ns_per_byte_q20) >> 20;
}

/* So many frames, of so many bytes in all, were handed to the port. */
static inline void nof_pacer_book(struct nof_pacer *pacer, uint64_t bytes, uint64_t frames, uint64_t now_ns)
{
    uint64_t floor_ns = now_ns > pacer->depth_ns ? now_ns - pacer->depth_ns : 0;

    if (pacer->ns_per_byte_q20 == 0 || frames == 0)
        return;
    if (pacer->free_ns < floor_ns)
        pacer->free_ns = floor_ns;
    pacer->free_ns += nof_pacer_carry_ns(pacer, bytes, frames);
}

/* As ask(), of who only looks. */
static inline uint32_t nof_pacer_frames(const struct nof_pacer *pacer, uint64_t now_ns)
{
    uint64_t credit_ns;

    if (pacer->ns_per_byte_q20 == 0)
        return UINT32_MAX;
    if (pacer->free_ns + pacer->burst_ns > now_ns)
        return 0;
    credit_ns = now_ns - pacer->free_ns;
    if (credit_ns > pacer->depth_ns)
        credit_ns = pacer->depth_ns;
    return (uint32_t)((credit_ns * pacer->frames_per_ns_q44) >> 44) + 1;
}

/* Of ask(): time has passed since somebody did. */
static inline void nof_pacer_pass(struct nof_pacer *pacer, uint64_t now_ns)
{
    uint64_t due_ns = pacer->free_ns + pacer->wake_ns, most_ns = pacer->depth_ns, late_ns;

    if (pacer->waits && now_ns >= pacer->free_ns + pacer->burst_ns) {
        late_ns = now_ns > due_ns ? now_ns - due_ns : 0;
        pacer->late_ns -= pacer->late_ns >> NOF_PACER_LATE_LOG2;
        if (late_ns > pacer->late_ns)
            pacer->late_ns = late_ns < pacer->depth_ns ? late_ns : pacer->depth_ns;
    } else if (!pacer->waits && !pacer->awaits) {
        pacer->late_ns -= pacer->late_ns >> NOF_PACER_SELDOM_LOG2;
        most_ns = pacer->idle_ns + pacer->late_ns < pacer->depth_ns ? pacer->idle_ns + pacer->late_ns
                                                                    : pacer->depth_ns;
    }
    if (pacer->free_ns + most_ns < now_ns)
        pacer->free_ns = now_ns - most_ns;
    pacer->asked_ns = now_ns;
    pacer->awaits = false;
}

/* Frames that may leave now: a burst, or 0 and wait. Ask after all that has left is booked. */
static inline uint32_t nof_pacer_ask(struct nof_pacer *pacer, uint64_t now_ns)
{
    uint32_t frames;

    if (pacer->asked_ns != now_ns)
        nof_pacer_pass(pacer, now_ns);
    frames = nof_pacer_frames(pacer, now_ns);
    pacer->waits = frames == 0;
    return frames;
}

/* Who asked and was told how many may leave has not got them all yet: they are being read. Until somebody asks; that he does so
 * late is no lateness of the core. */
static inline void nof_pacer_await(struct nof_pacer *pacer)
{
    pacer->awaits = true;
}

/* When to ask again after 0. */
static inline uint64_t nof_pacer_deadline(const struct nof_pacer *pacer, uint64_t now_ns)
{
    return nof_pacer_frames(pacer, now_ns) == 0 ? pacer->free_ns + pacer->wake_ns : now_ns;
}

#endif

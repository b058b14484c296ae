/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Congestion window, in bytes, after the ideas of Swift (Kumar et al., SIGCOMM 2020): the signal is
 * the queueing delay, the round trip without the peer's delay and above the minimum. Looked at once
 * per round trip, as the minimum of its samples, because a pause of a processor delays a burst and
 * a standing queue delays everything. Below the target the window grows by one frame per round
 * trip, above it shrinks in proportion to the excess. Loss without queueing delay is taken for
 * corruption and costs little; with delay it costs a good part of the window. */
#include "transport/state.h"

/* Queueing that we allow ourselves: some full frames of the link, and what timers and interrupts
 * of hosts scatter. Where the rate of the link is unknown, so is the kind of host. */
#define TARGET_FRAMES 4u
#define TARGET_BASE_NS 50000u
/* A small window means that many share the link: each of them needs some room, and who has less
 * must give way later than who has more. */
#define TARGET_SHARED_FRAMES 40u
#define TARGET_SHARED_MAX 16u
#define TARGET_UNKNOWN_NS 1000000u

#define INITIAL_FRAMES 10u
#define INITIAL_FRAMES_UNKNOWN 32u
#define MIN_FRAMES 2u
#define MIN_FRAMES_UNKNOWN 16u
#define MIN_FRAMES_LOSS 4u /* after loss, where the rate is unknown */
#define SLOW_START_SAMPLES 3u /* above target in a row: enough */
#define RANDOM_LOSS_SHIFT 5u /* 1/32 of the window */
#define CONGESTION_LOSS_SHIFT 2u /* 1/4 */
#define BURST_SHARE 4u /* losing more than this part of the window at once is no corruption */
#define TIMEOUTS_IN_A_ROW 3u
#define LEVEL_ROUNDS 64u /* reordering tolerance is worn off by one level in so many rounds */
/* Who comes late takes the queue of the others for a part of the way, and then takes more than its
 * share. So every path with a standing queue now and then lets its window run empty for one round
 * trip: the larger its share, the more of the queue vanishes, and the better it sees. The first
 * time soon, then every DRAIN_ROUNDS: 0.2 % of the link. */
#define DRAIN_ROUNDS 128u
#define DRAIN_FIRST 16u

static int known(const struct nof_path *p)
{
    return p->t->pacer.frame_ns != 0;
}

static uint32_t target_ns(const struct nof_path *p)
{
    uint32_t share;

    if (!known(p))
        return TARGET_UNKNOWN_NS;
    share = TARGET_SHARED_FRAMES * nof_path_mss(p) / (p->cwnd_bytes + 1);
    if (share > TARGET_SHARED_MAX)
        share = TARGET_SHARED_MAX;
    return TARGET_BASE_NS + (TARGET_FRAMES + share) * p->t->pacer.frame_ns;
}

static void bound(struct nof_path *p, uint32_t least_frames)
{
    uint32_t mss = nof_path_mss(p);
    uint32_t least = (known(p) ? MIN_FRAMES : least_frames) * mss;
    uint32_t most = p->window_frames * mss;

    if (p->cwnd_bytes < least)
        p->cwnd_bytes = least;
    if (p->cwnd_bytes > most)
        p->cwnd_bytes = most;
}

void nof_cc_init(struct nof_path *p)
{
    p->cwnd_bytes = (known(p) ? INITIAL_FRAMES : INITIAL_FRAMES_UNKNOWN) * nof_path_mss(p);
    bound(p, MIN_FRAMES_UNKNOWN);
    p->slow_start = 1;
    p->round_min_ns = UINT32_MAX;
    p->least_queue_ns = UINT32_MAX;
    p->round_xn = p->xn + 1;
    p->reduced_xn = p->xn;
    p->delivered_xn = p->xn;
}

/* Shrink so that the queue of this path alone would come down to the target; by half at most. */
static void decrease(struct nof_path *p, uint32_t queue_ns)
{
    uint64_t to = (uint64_t)p->rtt.min_ns + target_ns(p);
    uint64_t from = (uint64_t)p->rtt.min_ns + queue_ns;
    uint32_t cwnd = (uint32_t)(p->cwnd_bytes * to / from);

    p->cwnd_bytes = cwnd < p->cwnd_bytes / 2 ? p->cwnd_bytes / 2 : cwnd;
    p->reduced_xn = p->xn + 1;
}

static void end_of_round(struct nof_path *p)
{
    uint32_t target = target_ns(p);

    p->round_xn = p->xn + 1;
    p->draining = 0;
    if (++p->rounds % LEVEL_ROUNDS == 0 && p->reorder_level > 0)
        p->reorder_level--;
    if (p->round_min_ns != UINT32_MAX) {
        p->last_queue_ns = p->round_min_ns - p->rtt.min_ns;
        if (p->last_queue_ns < p->least_queue_ns)
            p->least_queue_ns = p->last_queue_ns;
        if (p->slow_start) {
            if (p->last_queue_ns > target) {
                p->slow_start = 0;
                decrease(p, p->last_queue_ns);
            }
        } else if (p->last_queue_ns > target) {
            decrease(p, p->last_queue_ns);
        } else if (p->cwnd_limited) {
            /* Far below the target the link is not full: do not take all day. */
            p->cwnd_bytes += nof_path_mss(p) + (p->last_queue_ns < target / 4 ? p->cwnd_bytes / 16 : 0);
        }
        p->round_min_ns = UINT32_MAX;
    }
    p->cwnd_limited = 0;
    if (p->rounds % DRAIN_ROUNDS == DRAIN_FIRST) {
        p->draining = p->least_queue_ns > target / 8 && p->least_queue_ns != UINT32_MAX;
        p->least_queue_ns = UINT32_MAX;
    }
}

void nof_cc_on_ack(struct nof_path *p, const struct nof_acked *acked, uint64_t rtt_ns)
{
    if (acked->flight_before_bytes >= p->cwnd_bytes / 2)
        p->cwnd_limited = 1;
    if (rtt_ns != 0) {
        uint32_t rtt = rtt_ns < UINT32_MAX ? (uint32_t)rtt_ns : UINT32_MAX;

        if (rtt < p->rtt.min_ns)
            rtt = p->rtt.min_ns;
        if (rtt < p->round_min_ns)
            p->round_min_ns = rtt;
        if (p->slow_start) {
            p->over_samples = rtt - p->rtt.min_ns > target_ns(p) ? (uint8_t)(p->over_samples + 1) : 0;
            if (p->over_samples >= SLOW_START_SAMPLES) {
                p->slow_start = 0;
                p->over_samples = 0;
                decrease(p, rtt - p->rtt.min_ns);
            }
        }
    }
    if (p->slow_start && p->cwnd_limited)
        p->cwnd_bytes += acked->bytes;
    if (!nof_serial_before(p->delivered_xn, p->round_xn))
        end_of_round(p);
    bound(p, MIN_FRAMES_UNKNOWN);
}

void nof_cc_on_loss(struct nof_path *p, uint32_t frames)
{
    uint32_t queue = p->last_queue_ns;

    if (p->round_min_ns != UINT32_MAX)
        queue = p->round_min_ns - p->rtt.min_ns;
    if (nof_serial_before(p->delivered_xn, p->reduced_xn))
        return; /* of the same round trip as the last decrease */
    if (queue > target_ns(p) / (known(p) ? 2 : 4) || frames * BURST_SHARE * nof_path_mss(p) > p->cwnd_bytes) {
        p->cwnd_bytes -= p->cwnd_bytes >> CONGESTION_LOSS_SHIFT;
        p->slow_start = 0;
    } else {
        p->cwnd_bytes -= p->cwnd_bytes >> RANDOM_LOSS_SHIFT;
    }
    p->reduced_xn = p->xn + 1;
    bound(p, MIN_FRAMES_LOSS);
}

void nof_cc_on_timeout(struct nof_path *p)
{
    /* One timeout is a lost tail or a pause of the peer. Several are a break: begin anew. */
    if (p->backoff != TIMEOUTS_IN_A_ROW)
        return;
    p->cwnd_bytes = 0;
    p->slow_start = 1;
    p->over_samples = 0;
    bound(p, MIN_FRAMES_LOSS);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/congestion.h"

#include "transport/serial.h"

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
#define MARK_SHIFT 3u
#define RANDOM_LOSS_SHIFT 5u /* 1/32 of the window */
#define CONGESTION_LOSS_SHIFT 2u /* 1/4 */
#define BURST_SHARE 4u /* losing more than this part of the window at once is no corruption */
#define TIMEOUTS_IN_A_ROW 3u
/* Who comes late takes the queue of the others for a part of the way, and then takes more than its
 * share. So every path with a standing queue now and then lets its window run empty for one round
 * trip: the larger its share, the more of the queue vanishes, and the better it sees. The first
 * time soon, then every DRAIN_ROUNDS: 0.2 % of the link. */
#define DRAIN_ROUNDS 128u
#define DRAIN_FIRST 16u

static bool known(const struct nof_cc_path *path)
{
    return path->frame_ns != 0;
}

static uint32_t target_ns(const struct nof_cc *cc, const struct nof_cc_path *path)
{
    uint32_t share;

    if (!known(path))
        return TARGET_UNKNOWN_NS;
    share = TARGET_SHARED_FRAMES * path->mss_bytes / (cc->cwnd_bytes + 1);
    if (share > TARGET_SHARED_MAX)
        share = TARGET_SHARED_MAX;
    return TARGET_BASE_NS + (TARGET_FRAMES + share) * path->frame_ns;
}

static void bound(struct nof_cc *cc, const struct nof_cc_path *path, uint32_t least_frames)
{
    uint32_t mss = path->mss_bytes;
    uint32_t least = (known(path) ? MIN_FRAMES : least_frames) * mss;
    uint32_t most = path->window_frames * mss;

    if (cc->cwnd_bytes < least)
        cc->cwnd_bytes = least;
    if (cc->cwnd_bytes > most)
        cc->cwnd_bytes = most;
}

void nof_cc_init(struct nof_cc *cc, const struct nof_cc_path *path)
{
    *cc = (struct nof_cc){
        .cwnd_bytes = (known(path) ? INITIAL_FRAMES : INITIAL_FRAMES_UNKNOWN) * path->mss_bytes,
        .round_min_ns = UINT32_MAX,
        .least_queue_ns = UINT32_MAX,
        .round_xn = path->xn + 1,
        .reduced_xn = path->xn,
        .slow_start = true,
    };
    bound(cc, path, MIN_FRAMES_UNKNOWN);
}

/* Shrink so that the queue of this path alone would come down to the target; by half at most. */
static void decrease(struct nof_cc *cc, const struct nof_cc_path *path, uint32_t queue_ns)
{
    uint64_t to = (uint64_t)path->min_rtt_ns + target_ns(cc, path);
    uint64_t from = (uint64_t)path->min_rtt_ns + queue_ns;
    uint32_t cwnd = (uint32_t)(cc->cwnd_bytes * to / from);

    cc->cwnd_bytes = cwnd < cc->cwnd_bytes / 2 ? cc->cwnd_bytes / 2 : cwnd;
    cc->reduced_xn = path->xn + 1;
}

static void end_of_round(struct nof_cc *cc, const struct nof_cc_path *path)
{
    uint32_t target = target_ns(cc, path);

    cc->round_xn = path->xn + 1;
    cc->draining = 0;
    cc->rounds++;
    if (cc->round_min_ns != UINT32_MAX) {
        cc->last_queue_ns = cc->round_min_ns - path->min_rtt_ns;
        if (cc->last_queue_ns < cc->least_queue_ns)
            cc->least_queue_ns = cc->last_queue_ns;
        if (cc->slow_start) {
            if (cc->last_queue_ns > target) {
                cc->slow_start = 0;
                decrease(cc, path, cc->last_queue_ns);
            }
        } else if (cc->last_queue_ns > target) {
            decrease(cc, path, cc->last_queue_ns);
        } else if (cc->limited) {
            /* Far below the target the link is not full: do not take all day. */
            cc->cwnd_bytes += path->mss_bytes + (cc->last_queue_ns < target / 4 ? cc->cwnd_bytes / 16 : 0);
        }
        cc->round_min_ns = UINT32_MAX;
    }
    cc->limited = false;
    if (cc->rounds % DRAIN_ROUNDS == DRAIN_FIRST) {
        cc->draining = cc->least_queue_ns > target / 8 && cc->least_queue_ns != UINT32_MAX;
        cc->least_queue_ns = UINT32_MAX;
    }
}

bool nof_cc_on_ack(struct nof_cc *cc, const struct nof_cc_path *path, uint32_t bytes,
                   uint32_t flight_before_bytes, uint64_t rtt_ns)
{
    bool round = !nof_serial_before(path->delivered_xn, cc->round_xn);

    if (flight_before_bytes >= cc->cwnd_bytes / 2)
        cc->limited = true;
    if (rtt_ns != 0) {
        uint32_t rtt = rtt_ns < UINT32_MAX ? (uint32_t)rtt_ns : UINT32_MAX;

        if (rtt < path->min_rtt_ns)
            rtt = path->min_rtt_ns;
        if (rtt < cc->round_min_ns)
            cc->round_min_ns = rtt;
        if (cc->slow_start) {
            cc->over_samples =
                rtt - path->min_rtt_ns > target_ns(cc, path) ? (uint8_t)(cc->over_samples + 1) : 0;
            if (cc->over_samples >= SLOW_START_SAMPLES) {
                cc->slow_start = 0;
                cc->over_samples = 0;
                decrease(cc, path, rtt - path->min_rtt_ns);
            }
        }
    }
    if (cc->slow_start && cc->limited)
        cc->cwnd_bytes += bytes;
    if (round)
        end_of_round(cc, path);
    bound(cc, path, MIN_FRAMES_UNKNOWN);
    return round;
}

void nof_cc_on_loss(struct nof_cc *cc, const struct nof_cc_path *path, uint32_t frames)
{
    uint32_t queue = cc->last_queue_ns;

    if (cc->round_min_ns != UINT32_MAX)
        queue = cc->round_min_ns - path->min_rtt_ns;
    if (nof_serial_before(path->delivered_xn, cc->reduced_xn))
        return; /* of the same round trip as the last decrease */
    if (queue > target_ns(cc, path) / (known(path) ? 2 : 4) ||
        frames * BURST_SHARE * path->mss_bytes > cc->cwnd_bytes) {
        cc->cwnd_bytes -= cc->cwnd_bytes >> CONGESTION_LOSS_SHIFT;
        cc->slow_start = 0;
    } else {
        cc->cwnd_bytes -= cc->cwnd_bytes >> RANDOM_LOSS_SHIFT;
    }
    cc->reduced_xn = path->xn + 1;
    bound(cc, path, MIN_FRAMES_LOSS);
}

void nof_cc_on_mark(struct nof_cc *cc, const struct nof_cc_path *path)
{
    if (nof_serial_before(path->delivered_xn, cc->reduced_xn))
        return; /* of the same round trip as the last decrease */
    cc->cwnd_bytes -= cc->cwnd_bytes >> MARK_SHIFT;
    cc->slow_start = 0;
    cc->reduced_xn = path->xn + 1;
    bound(cc, path, MIN_FRAMES_LOSS);
}

void nof_cc_on_timeout(struct nof_cc *cc, const struct nof_cc_path *path, unsigned in_a_row)
{
    /* One timeout is a lost tail or a pause of the peer. Several are a break: begin anew. */
    if (in_a_row != TIMEOUTS_IN_A_ROW)
        return;
    cc->cwnd_bytes = 0;
    cc->slow_start = 1;
    cc->over_samples = 0;
    bound(cc, path, MIN_FRAMES_LOSS);
}

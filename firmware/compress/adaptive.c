/* SPDX-License-Identifier: BSD-3-Clause */
#include "compress/adaptive.h"

#define CLOCK_NS 1000000u /* shortest time over which the two clocks are compared */
#define OUTLIER 4u /* times the mean cost of the chunks, or the mean so many times its cost */
#define SHARE_ONE 65536u /* fine, so that a moving mean comes near what it follows */

void nof_adaptive_clock(struct nof_adaptive_cost *cost, uint64_t now_ns, uint64_t cycles)
{
    uint64_t ns = now_ns - cost->base_ns;
    if (cost->base_ns == 0) {
        cost->base_ns = now_ns;
        cost->base_cycles = cycles;
    } else if (ns >= CLOCK_NS) {
        cost->cycles_per_ms = (cycles - cost->base_cycles) / (ns / 1000000u);
        if (ns > 1000u * (uint64_t)CLOCK_NS) {
            cost->base_ns = now_ns;
            cost->base_cycles = cycles;
        }
    }
}

static bool pays(const struct nof_adaptive *a, const struct nof_adaptive_cost *cost, uint64_t link_rate_bps)
{
    if (a->share == 0 || a->share >= SHARE_ONE)
        return a->share == 0;
    /* Nanoseconds per MiB: of the codec here, and saved on the wire. */
    uint64_t codec = 0;
    if (cost->cycles_per_ms != 0)
        codec = cost->cycles_per_mib * 1000u / cost->cycles_per_ms * 1000u;
    uint64_t wire = (uint64_t)1048576u * 8u * 1000000u / (link_rate_bps / 1000u + 1u);
    return codec < wire * (SHARE_ONE - a->share) / SHARE_ONE;
}

static void try(struct nof_adaptive *a, uint32_t bytes)
{
    a->on = 1;
    a->settled = 0;
    a->trial_left = bytes;
    a->share = 0; /* measured anew */
}

static void judge(struct nof_adaptive *a, bool good)
{
    a->on = (uint8_t)good;
    a->settled = (uint8_t)good;
    a->pause_left = a->pause;
    if (good)
        a->pause = NOF_ADAPTIVE_PAUSE;
    else if (a->pause < NOF_ADAPTIVE_PAUSE_MAX)
        a->pause *= 2;
}

int nof_adaptive_decide(struct nof_adaptive *a, const struct nof_adaptive_cost *cost, uint64_t link_rate_bps,
                        uint64_t bytes, int *probe_out)
{
    *probe_out = 0;
    if (!a->begun || (!a->on && a->pause_left <= 0)) {
        try(a, a->begun ? NOF_ADAPTIVE_PROBE : NOF_ADAPTIVE_TRIAL);
        *probe_out = 1;
        if (!a->begun)
            a->pause = NOF_ADAPTIVE_PAUSE;
        a->begun = 1;
    } else if (a->on && (a->settled || a->trial_left == 0)) {
        judge(a, pays(a, cost, link_rate_bps));
    }
    if (!a->on)
        a->pause_left -= bytes < INT32_MAX ? (int64_t)bytes : INT32_MAX;
    return a->on;
}

void nof_adaptive_measured(struct nof_adaptive *a, struct nof_adaptive_cost *cost, uint32_t plain_bytes,
                           uint32_t len_bytes, uint64_t cycles)
{
    uint32_t share = (uint32_t)((uint64_t)len_bytes * SHARE_ONE / plain_bytes);
    uint64_t per_mib = (cycles << 20) / plain_bytes;
    a->trial_left -= a->trial_left < plain_bytes ? a->trial_left : plain_bytes;
    a->share = a->share == 0 ? share : (15 * a->share + share) / 16;
    uint64_t mean = cost->cycles_per_mib;
    /* The codec's cost is that of chunks with nothing in their way: down fast, up slowly. The first of a grant find a
     * cold table, and one during which the core was not scheduled may cost as much as thousands: it must not decide. */
    if (mean == 0)
        mean = per_mib;
    else if (per_mib < mean)
        mean -= (mean - (per_mib > mean / OUTLIER ? per_mib : mean / OUTLIER)) / 2;
    else
        mean = (31 * mean + (per_mib < mean * OUTLIER ? per_mib : mean * OUTLIER)) / 32;
    cost->cycles_per_mib = mean;
}

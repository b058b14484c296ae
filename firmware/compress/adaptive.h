/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Does compression pay on a flow? Measured, not assumed: what its chunks shrink to, what the codec costs here,
 * how fast the link is. By equation 3 of the paper a byte may cost the codec no more time than its compression
 * saves on the wire: (1 - 1/ratio) / bandwidth. The cost is that of this end: the other decodes one chunk while the
 * next is encoded here (section 2.4), and decoding costs about what encoding does (section 4.4).
 *
 *   a new grant is tried for TRIAL bytes; then, block by block,
 *   it pays       -> on, looked at again after every block
 *   it does not   -> off, and tried again for PROBE bytes after a pause that doubles each time in vain
 *
 * So what cannot be compressed costs PROBE bytes through the codec in a pause, at most 1/64 of the bytes at first and
 * ever less. A link without a rate is a fabric that moves memory: nothing is won there, and nothing is tried.
 *
 * Values only; no allocation, no division but one per block. Threads: the NIC core. */
#ifndef NOF_ADAPTIVE_H
#define NOF_ADAPTIVE_H

#include <stdbool.h>
#include <stdint.h>

#define NOF_ADAPTIVE_TRIAL (32u << 10) /* bytes: BT, LU and MG of NPB shrink from their first messages on */
#define NOF_ADAPTIVE_PROBE (16u << 10)
#define NOF_ADAPTIVE_PAUSE (1u << 20) /* bytes that go without, the first time */
#define NOF_ADAPTIVE_PAUSE_MAX (256u << 20)

/* What the codec costs on this NIC core. Zero it to begin. */
struct nof_adaptive_cost {
    uint64_t base_ns, base_cycles; /* a moment by both clocks */
    uint64_t cycles_per_ms;
    uint64_t cycles_per_mib; /* encoding; its lower part, see nof_adaptive_measured() */
};

struct nof_adaptive { /* zeroed: a new grant */
    int64_t pause_left; /* off: bytes until it is tried again */
    uint32_t trial_left; /* on and not settled: bytes until it is judged */
    uint32_t share; /* of what goes in, what comes out, in 1/65536: a moving mean; 0: not measured */
    uint32_t pause; /* the next one */
    uint8_t begun;
    uint8_t on;
    uint8_t settled; /* it has been found to pay */
};

/* Can anything be won on a link of this rate (0: without one)? */
static inline bool nof_adaptive_may_pay(uint64_t link_rate_bps)
{
    return link_rate_bps != 0;
}

/* Both clocks, now: that of the port, in which the codec's cost is measured, and that of the core. */
void nof_adaptive_clock(struct nof_adaptive_cost *cost, uint64_t now_ns, uint64_t cycles);
/* The next `bytes` of the grant: encode them? *probe_out is 1 if a trial begins with them. */
int nof_adaptive_decide(struct nof_adaptive *a, const struct nof_adaptive_cost *cost, uint64_t link_rate_bps,
                        uint64_t bytes, int *probe_out);
/* In the middle of them: go on encoding? */
static inline bool nof_adaptive_goes_on(const struct nof_adaptive *a)
{
    return a->on && (a->settled || a->trial_left > 0);
}
/* A chunk of plain_bytes became len_bytes at the cost of `cycles`. */
void nof_adaptive_measured(struct nof_adaptive *a, struct nof_adaptive_cost *cost, uint32_t plain_bytes,
                           uint32_t len_bytes, uint64_t cycles);

#endif

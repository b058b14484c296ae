/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random numbers of the simulator: SplitMix64, one word of state, any seed is good. */
#ifndef NOF_SIM_RNG_H
#define NOF_SIM_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct nof_rng {
    uint64_t state;
};

static inline uint64_t nof_rng_mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static inline uint64_t nof_rng_next(struct nof_rng *r)
{
    return nof_rng_mix(r->state += 0x9e3779b97f4a7c15ull);
}

/* 0..n-1; n >= 1. */
static inline uint64_t nof_rng_below(struct nof_rng *r, uint64_t n)
{
    return nof_rng_next(r) % n;
}

/* low..high, both included. */
static inline uint64_t nof_rng_between(struct nof_rng *r, uint64_t low, uint64_t high)
{
    return low + nof_rng_below(r, high - low + 1);
}

static inline bool nof_rng_chance(struct nof_rng *r, unsigned percent)
{
    return nof_rng_below(r, 100) < percent;
}

#endif

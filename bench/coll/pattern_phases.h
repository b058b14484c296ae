/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a random pattern (programs/random_pattern.h) is dealt into phases. */
#ifndef NOF_BENCH_PATTERN_PHASES_H
#define NOF_BENCH_PATTERN_PHASES_H

#include <stdint.h>

#include <jansson.h>

/* By each algorithm: {"alltoall": {"phases", "sum_bytes": of the phases' maxima, "of_limit": of what the fullest link carries}}.
 * NULL: no memory. */
json_t *nof_pattern_phases(unsigned seed, unsigned hosts, uint64_t bytes);

#endif

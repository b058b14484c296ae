/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two simulated NICs of a daemon, and two ranks that stream over them. */
#ifndef NOF_BENCH_CORES_RANKS_H
#define NOF_BENCH_CORES_RANKS_H

#include "commands.h"

/* The NICs are dealt over so many cores. Bytes per second of CPU that daemon and ranks took from start to end: what they do before and
 * after the measured time counts for less the longer that is, and alike for any number of cores. NULL, or a sentence why not. Not
 * there in a build without MPI. */
const char *nof_cores_ranks(unsigned cores, double *bytes_per_cpu_s_out) NOF_OPTIONAL;

#endif

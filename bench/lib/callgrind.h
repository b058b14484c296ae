/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counting instructions of the core with valgrind's callgrind: this very program is run again under
 * it, with arguments that make it do the work to be measured.
 *
 *   parent: nof_callgrind_run(args, ...)      child: nof_callgrind_measured(work, arg) ...,
 *                                                    nof_callgrind_mark() ends a batch
 *
 * Only what runs inside measured() is counted. Each batch is a dump; its costs are divided by
 * the source file of the function they belong to, so the build needs debug information (-g). */
#ifndef NOF_BENCH_CALLGRIND_H
#define NOF_BENCH_CALLGRIND_H

#include <stddef.h>

#define NOF_CALLGRIND_BATCHES_MAX 64

struct nof_callgrind_batch { /* instructions */
    double core; /* functions of firmware/, and what they call in libraries, without the next two */
    double crc;
    double copy; /* of payload */
    double match; /* functions of firmware/match/match.c; in `core` too */
    double bench; /* functions of bench/: the port and the host of what is measured; in none of the others */
};

/* Runs `nof ARGS...`; returns the number of batches, or -1 and why in `problem`. */
int nof_callgrind_run(const char *const *args, struct nof_callgrind_batch *batches, char *problem,
                      size_t problem_bytes);

/* In the child; without valgrind they only call. */
void nof_callgrind_measured(void (*work)(void *arg), void *arg);
void nof_callgrind_mark(void);

/* Sorts and takes the middle; n >= 1. */
double nof_callgrind_median(double *values, size_t n);

#endif

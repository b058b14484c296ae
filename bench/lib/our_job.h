/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program of ours on a testbed: `nof run`, as many ranks on each host as its configuration says. */
#ifndef NOF_BENCH_OUR_JOB_H
#define NOF_BENCH_OUR_JOB_H

#include "testbed.h"

/* argv[0]: its path; environment: NAME=VALUE for the ranks, or NULL. As nof_bench_spawn(). */
int nof_our_job_run(const struct nof_testbed *bed, const char *environment, const char *const *argv,
                    unsigned timeout_s, void (*line)(void *ctx, const char *text), void *ctx);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rows of `nof bench overlap` that are measured in virtual time: same figures in every run. */
#ifndef NOF_BENCH_OVERLAP_SIM_H
#define NOF_BENCH_OVERLAP_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#define NOF_OVERLAP_SIM_HOSTS_MAX 64

/* The simulator can be run here from now on; first of all in the process, which may begin anew. */
void nof_overlap_sim_prepare(void);
/* Appends a row for each collective and 2, 4, 8, ... up to `hosts` hosts, with blocks of `bytes`, or of what a rank's buffer of
 * 1 MiB has for each. False: a run failed, which stderr tells. */
bool nof_overlap_sim_rows(json_t *rows, unsigned hosts, uint32_t bytes);

#endif

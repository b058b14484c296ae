/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rows of `nof bench delta` that are measured in virtual time: with the same costs, the same figures in every run. */
#ifndef NOF_BENCH_DELTA_SIM_H
#define NOF_BENCH_DELTA_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "delta_model.h"

#define NOF_DELTA_SIM_TASKS_MAX 256u

/* Behind enum nof_delta_pattern: kernels (programs/delta_kernels.h). */
enum { NOF_DELTA_HYCOM = NOF_DELTA_PATTERNS, NOF_DELTA_LU, NOF_DELTA_MG, NOF_DELTA_PROGRAMS };

struct nof_delta_sim {
    unsigned tasks;
    unsigned pattern; /* or kernel */
    bool by_os;
    bool alone; /* in increments, and not otherwise */
    uint64_t bytes, delta_bytes; /* of a message, of an increment (0: as the library chooses) */
    double page_us; /* of computing */
    double fault_ns, read_fault_ns, call_ns; /* what they cost the program */
    uint64_t rate_bps, buffer_bytes;
    unsigned mtu_bytes;
};

const char *nof_delta_program_name(unsigned pattern);

/* The simulator can be run here from now on; first of all in the process, which may begin anew. */
void nof_delta_sim_prepare(void);
/* Seconds with blocking messages (0: there are none), with non-blocking ones and in increments; of what->alone the first two stay as
 * they are. False: it failed, which stderr tells. */
bool nof_delta_sim_run(const struct nof_delta_sim *what, double taken_s_out[3]);

#endif

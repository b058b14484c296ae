/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta_sim.h"

#include <stdio.h>

#include "sim.h"

_Static_assert(NOF_DELTA_SIM_TASKS_MAX == NOF_SIM_INCREMENTS_TASKS_MAX,
               "as many tasks as the simulator takes");

void nof_delta_sim_prepare(void)
{
    nof_sim_library_prepare();
}

const char *nof_delta_program_name(unsigned pattern)
{
    static const char *const kernels[] = {"hycom", "lu", "mg"};

    return pattern < NOF_DELTA_PATTERNS ? nof_delta_pattern_name[pattern]
                                        : kernels[pattern - NOF_DELTA_PATTERNS];
}

static uint64_t cost(double ns)
{
    return ns > 0 ? (uint64_t)ns : 0;
}

bool nof_delta_sim_run(const struct nof_delta_sim *what, double taken_s_out[3])
{
    struct nof_sim_increments i = {
        .tasks = what->tasks,
        .pattern = what->pattern,
        .by_os = what->by_os,
        .alone = what->alone,
        .bytes = what->bytes,
        .delta_bytes = what->delta_bytes,
        .page_ns = (int64_t)(what->page_us * 1e3),
        .write_fault_ns = cost(what->fault_ns),
        .read_fault_ns = cost(what->read_fault_ns),
        .call_ns = cost(what->call_ns),
        .rate_bps = what->rate_bps,
        .buffer_bytes = what->buffer_bytes,
        .mtu_bytes = what->mtu_bytes,
    };

    nof_sim_run_increments(&i);
    if (!what->alone) {
        taken_s_out[0] = i.blocking_ns / 1e9;
        taken_s_out[1] = i.nonblocking_ns / 1e9;
    }
    taken_s_out[2] = i.increments_ns / 1e9;
    if (i.problem[0] == '\0')
        return true;
    fprintf(stderr, "nof bench delta: %s of %u simulated tasks, %s: %s\n",
            nof_delta_program_name(what->pattern), what->tasks, what->by_os ? "os" : "annotation", i.problem);
    return false;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "../sim.h"

const char *nof_sim_library_absent(void)
{
    return "the MPI library was not built";
}

void nof_sim_library_prepare(void)
{
}

void nof_sim_run_library(uint64_t seed, FILE *trace, struct nof_sim_result *result_out)
{
    (void)trace;
    *result_out = (struct nof_sim_result){.seed = seed};
    (void)snprintf(result_out->violation, sizeof(result_out->violation), "%s", nof_sim_library_absent());
}

void nof_sim_run_deaths(uint64_t seed, FILE *trace, struct nof_sim_result *result_out)
{
    nof_sim_run_library(seed, trace, result_out);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench overlap` in virtual time. */
#include "../sim.h"
#include "measure.h"

#define RATE_BPS 10000000000ull
#define DELAY_NS 500u

static const char *const names[] = {[NOF_COLLECTIVE_BARRIER] = "Ibarrier",
                                    [NOF_COLLECTIVE_BCAST] = "Ibcast",
                                    [NOF_COLLECTIVE_ALLGATHER] = "Iallgather",
                                    [NOF_COLLECTIVE_ALLTOALL] = "Ialltoall",
                                    [NOF_COLLECTIVE_ALLREDUCE] = "Iallreduce",
                                    [NOF_COLLECTIVE_REDUCE] = "Ireduce",
                                    [NOF_COLLECTIVE_REDUCE_SCATTER] = "Ireduce_scatter_block"};

static void take_result(struct nof_cluster *c, const struct nof_program *p, void *answer)
{
    struct nof_sim_overlap *out = answer;
    /* All ranks have the same figures: the slowest's. */
    double overlap = 1 - p->overlap[0].exposed_ns / p->overlap[0].pure_ns;
    out->overlap = overlap > 0 ? overlap : 0;
    out->pure_us = p->overlap[0].pure_ns / 1000;
    for (unsigned i = 0; i < p->nranks; i++)
        out->descs = p->overlap[i].descs > out->descs ? p->overlap[i].descs : out->descs;
    for (unsigned i = 0; i < nof_cluster_nnics(c); i++)
        out->link_bytes += nof_nic_counters(nof_cluster_nic(c, i))[NOF_C_TX_BYTES];
}

void nof_sim_run_overlap(const struct nof_sim_overlap_config *config, struct nof_sim_overlap *result_out)
{
    static const enum nof_collective kind[] = {
        [NOF_SIM_IBARRIER] = NOF_COLLECTIVE_BARRIER,
        [NOF_SIM_IBCAST] = NOF_COLLECTIVE_BCAST,
        [NOF_SIM_IALLGATHER] = NOF_COLLECTIVE_ALLGATHER,
        [NOF_SIM_IALLTOALL] = NOF_COLLECTIVE_ALLTOALL,
        [NOF_SIM_IALLREDUCE] = NOF_COLLECTIVE_ALLREDUCE,
        [NOF_SIM_IREDUCE] = NOF_COLLECTIVE_REDUCE,
        [NOF_SIM_IREDUCE_SCATTER] = NOF_COLLECTIVE_REDUCE_SCATTER,
    };
    *result_out = (struct nof_sim_overlap){.collective = names[kind[config->collective]]};
    struct nof_measure m = {
        .hosts = config->hosts,
        .ranks = config->ranks != 0 ? config->ranks : config->hosts,
        .in_blocks = config->in_blocks,
        .by_nic = config->by_nic,
        .table = config->table,
        .step = {.kind = SIM_STEP_OVERLAP, .style = kind[config->collective], .spare = config->bytes},
        .link = {.rate_bps = config->rate_bps != 0 ? config->rate_bps : RATE_BPS, .delay_ns = DELAY_NS},
        .mtu_bytes = 9000,
    };
    nof_measure_run(&m, take_result, result_out, result_out->problem, sizeof(result_out->problem));
}

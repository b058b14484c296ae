/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What takes how long on a switched network, a rank on each host, in virtual time. */
#include <string.h>

#include "../sim.h"
#include "measure.h"

#define DELAY_NS 20000u /* of a link, with what kernel and switch take at such rates */

static const char *const names[NOF_SIM_TIMED_COUNT] = {
#define X(id, name, what) [NOF_SIM_TIMED_##id] = (name),
    NOF_SIM_TIMED_WAYS(X)
#undef X
};

enum nof_sim_timed_way nof_sim_timed_way(const char *name)
{
    unsigned i = 0;
    while (i < NOF_SIM_TIMED_COUNT && strcmp(names[i], name) != 0)
        i++;
    return (enum nof_sim_timed_way)i;
}

/* What is set for a way: a table of algorithms, a feature. */
static const struct {
    const char *table; /* or NULL */
    bool sets;
    enum nof_feature feature;
    uint64_t value;
} settings[NOF_SIM_TIMED_COUNT] = {
    [NOF_SIM_TIMED_ALLTOALL_PAIRWISE] = {"alltoall 1 any pairwise\n", false, 0, 0},
    [NOF_SIM_TIMED_ALLTOALL_BARRIER] = {"alltoall 1 any barrier\n", false, 0, 0},
    [NOF_SIM_TIMED_ALLTOALL_UNSCHEDULED] = {"alltoall 1 any unscheduled\n", true, NOF_F_GRANT_BYTES, 0},
    [NOF_SIM_TIMED_ALLTOALL_IN_PLACE_AT_ONCE] = {"alltoall 1 any unscheduled\n", false, 0, 0},
    [NOF_SIM_TIMED_ALLGATHER_MULTICAST] = {NULL, true, NOF_F_MULTICAST, 1},
    [NOF_SIM_TIMED_GATHER_TREE] = {"gather 1 any tree\n", false, 0, 0},
    [NOF_SIM_TIMED_GATHER_LINEAR] = {"gather 1 any linear\n", false, 0, 0},
    [NOF_SIM_TIMED_DSM_DYNAMIC] = {NULL, true, NOF_F_GRANT_BYTES, 0},
};

/* All ranks have the same times: the slowest's. */
static void take_result(struct nof_cluster *c, const struct nof_program *p, void *answer)
{
    struct nof_sim_timed *t = answer;
    t->median_ms = p->timed[0].median_ns / 1e6;
    t->sum_ms = p->timed[0].sum_ns / 1e6;
    t->descs = 0;
    t->drops = 0;
    for (unsigned i = 0; i < p->nranks; i++) {
        t->descs = p->timed[i].descs > t->descs ? p->timed[i].descs : t->descs;
        t->drops += nof_fabric_stats(nof_cluster_fabric(c), i)->drop_buffer;
    }
}

void nof_sim_run_timed(enum nof_sim_timed_way way, struct nof_sim_timed *t)
{
    struct nof_measure m = {
        .hosts = t->hosts,
        .ranks = t->hosts,
        .by_nic = t->by_nic,
        .table = settings[way].table,
        .step = {.kind = SIM_STEP_TIMED, .style = (unsigned)way, .spare = t->amount, .ns = t->times},
        .link = {.rate_bps = t->rate_bps, .delay_ns = DELAY_NS, .buffer_bytes = (uint32_t)t->buffer_bytes},
        .mtu_bytes = t->mtu_bytes,
    };
    if (settings[way].sets) {
        m.feature[0].number = settings[way].feature;
        m.feature[0].value = settings[way].value;
        m.nfeatures = 1;
    }
    nof_measure_run(&m, take_result, t, t->problem, sizeof(t->problem));
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench replay` in virtual time. */
#include "../sim.h"
#include "measure.h"

#define DELAY_NS 20000u /* of a link, as in timed.c */

struct answer {
    struct nof_sim_replay *replay;
    const struct nof_program_replay *written;
};

static void take_result(struct nof_cluster *c, const struct nof_program *p, void *ctx)
{
    struct answer *answer = ctx;
    answer->replay->s = (double)(answer->written->ended_ns - answer->written->began_ns) / 1e9;
    for (unsigned i = 0; i < p->nranks; i++)
        answer->replay->drops += nof_fabric_stats(nof_cluster_fabric(c), i)->drop_buffer;
}

void nof_sim_run_replay(struct nof_sim_replay *r)
{
    struct nof_program_replay replay = {.trace = r->trace, .factor = r->factor};
    struct nof_measure m = {
        .hosts = r->hosts,
        .ranks = r->hosts,
        .by_nic = r->by_nic,
        .step = {.kind = SIM_STEP_REPLAY},
        .replay = &replay,
        .link = {.rate_bps = r->rate_bps, .delay_ns = DELAY_NS, .buffer_bytes = (uint32_t)r->buffer_bytes},
        .mtu_bytes = r->mtu_bytes,
    };
    r->drops = 0;
    nof_measure_run(&m, take_result, &(struct answer){r, &replay}, r->problem, sizeof(r->problem));
}

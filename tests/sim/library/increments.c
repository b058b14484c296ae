/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench delta` in virtual time. */
#include <assert.h>
#include <stdio.h>

#include "../sim.h"
#include "measure.h"

#define SPIN_US 20u /* as the library does it */
#define DELAY_NS 1000u /* of a link: NICs beside one switch */

static_assert(NOF_SIM_INCREMENTS_TASKS_MAX == NOF_PROGRAM_RANKS_MAX, "as many tasks as there are processes");

static void take_result(struct nof_cluster *c, const struct nof_program *p, void *answer)
{
    struct nof_sim_increments *i = answer;
    i->blocking_ns = p->increments->taken_ns[0];
    i->nonblocking_ns = p->increments->taken_ns[1];
    i->increments_ns = p->increments->taken_ns[2];
    i->drops = 0;
    for (unsigned k = 0; k < p->nranks; k++)
        i->drops += nof_fabric_stats(nof_cluster_fabric(c), k)->drop_buffer;
}

void nof_sim_run_increments(struct nof_sim_increments *i)
{
    static char os[] = "os", explicitly[] = "explicit";
    char size[24];
    struct nof_increments what = {
        .pattern = i->pattern,
        .by_os = i->by_os,
        .alone = i->alone,
        .bytes = i->bytes,
        .page_ns = i->page_ns,
        .write_fault_ns = i->write_fault_ns,
        .read_fault_ns = i->read_fault_ns,
        .call_ns = i->call_ns,
    };
    struct nof_measure m = {
        .hosts = i->tasks,
        .ranks = i->tasks,
        .increments = &what,
        .delta = i->by_os ? os : explicitly,
        .delta_size = size,
        .spin_us = SPIN_US,
        .step = {.kind = SIM_STEP_INCREMENTS},
        .link = {.rate_bps = i->rate_bps, .delay_ns = DELAY_NS, .buffer_bytes = (uint32_t)i->buffer_bytes},
        .mtu_bytes = i->mtu_bytes,
    };
    if (i->delta_bytes == 0)
        (void)snprintf(size, sizeof(size), "auto");
    else
        (void)snprintf(size, sizeof(size), "%zu", i->delta_bytes);
    nof_measure_run(&m, take_result, i, i->problem, sizeof(i->problem));
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench overlap` in virtual time: the MPI library itself, a rank on each host, over cores whose work takes time. */
#include <stdlib.h>
#include <string.h>

#include "../sim.h"
#include "process.h"

#define PROGRESS_NS 60000000000ull
/* A core of 3 GHz takes some hundred cycles for a frame, as many to look at its rings, and copies or adds 5 GB/s. */
#define RATE_BPS 10000000000ull
#define LOOP_NS 200u
#define FRAME_NS 150u
#define BYTE_PS 200u
#define HOST_SEES_NS 200u

static const char *const names[] = {
    [NOF_COLLECTIVE_BARRIER] = "Ibarrier",     [NOF_COLLECTIVE_BCAST] = "Ibcast",
    [NOF_COLLECTIVE_ALLGATHER] = "Iallgather", [NOF_COLLECTIVE_ALLTOALL] = "Ialltoall",
    [NOF_COLLECTIVE_ALLREDUCE] = "Iallreduce", [NOF_COLLECTIVE_REDUCE] = "Ireduce"};

static int start_cluster(const struct nof_sim_overlap_config *config, unsigned ranks,
                         struct nof_cluster **cluster_out)
{
    unsigned hosts = config->hosts, here = (ranks + hosts - 1) / hosts;
    uint64_t rate_bps = config->rate_bps != 0 ? config->rate_bps : RATE_BPS;
    struct nof_cluster_config cfg = {
        .nnics = hosts,
        .seed = 1,
        .loop_ns = LOOP_NS,
        .frame_ns = FRAME_NS,
        .byte_ps = BYTE_PS,
        .pool_frames = 2048,
        .link = {.rate_bps = rate_bps, .delay_ns = 500},
        .nic = {.mtu_bytes = 9000,
                .link_rate_bps = rate_bps,
                .max_endpoints = here,
                .max_paths = 2 * hosts,
                .max_jobs = 1,
                .max_peers = 2 * here * ranks,
                .max_sends = 1024,
                .max_posted = 4096,
                .max_envelopes = 2048,
                .sent_frames = 2048,
                .netmem_bytes = 8u << 20},
    };
    return nof_cluster_create(&cfg, cluster_out);
}

static void add_step(struct nof_program *p, enum nof_collective kind, uint32_t bytes)
{
    for (unsigned i = 0; i < p->nranks; i++) {
        struct nof_steps *s = &p->rank[i];
        s->step = calloc(1, sizeof(*s->step));
        if (s->step == NULL)
            abort();
        s->count = s->room = 1;
        s->step[0] = (struct nof_step){.kind = SIM_STEP_OVERLAP, .style = kind, .spare = bytes};
    }
}

static void take_result(const struct nof_program *p, struct nof_sim_overlap *out)
{
    /* All ranks have the same figures: the slowest's. */
    double overlap = 1 - p->overlap[0].exposed_ns / p->overlap[0].pure_ns;
    out->overlap = overlap > 0 ? overlap : 0;
    out->pure_us = p->overlap[0].pure_ns / 1000;
    for (unsigned i = 0; i < p->nranks; i++)
        out->descs = p->overlap[i].descs > out->descs ? p->overlap[i].descs : out->descs;
}

static void run(struct nof_cluster *c, struct nof_program *p, const struct nof_sim_overlap_config *config,
                struct nof_sim_overlap *out)
{
    struct nof_processes_config cfg = {
        .nnics = config->hosts,
        .in_blocks = config->in_blocks,
        .coll_table = config->table,
        .seed = 1,
        .job_id = 1,
        .job_key = {config->by_nic ? NOF_SIM_BY_NIC : NOF_SIM_BY_HOST},
        .submit_slots = 255,
        .complete_slots = 255,
        .staging_bytes = 65536,
        .bounce_bytes = 262144,
        .bounce_max_bytes = 16384,
        .program_area_bytes = 65536,
        .spin_us = 1000000, /* never asleep */
        .dma_inline_percent = 100,
        .sees_ns = HOST_SEES_NS,
    };
    struct nof_processes *ps = nof_processes_create(c, &cfg, p, out->problem, sizeof(out->problem));
    if (ps == NULL)
        return;
    bool ended = nof_cluster_run(c, nof_cluster_now(c) + PROGRESS_NS, nof_processes_ended, ps);
    const char *why = nof_cluster_violation(c);
    if (why != NULL || !ended)
        (void)snprintf(out->problem, sizeof(out->problem), "%s", why != NULL ? why : "it does not end");
    else
        take_result(p, out);
    for (unsigned i = 0; i < config->hosts; i++)
        out->link_bytes += nof_nic_counters(nof_cluster_nic(c, i))[NOF_C_TX_BYTES];
    nof_processes_destroy(ps);
}

void nof_sim_run_overlap(const struct nof_sim_overlap_config *config, struct nof_sim_overlap *result_out)
{
    static const enum nof_collective kind[] = {
        [NOF_SIM_IBARRIER] = NOF_COLLECTIVE_BARRIER,     [NOF_SIM_IBCAST] = NOF_COLLECTIVE_BCAST,
        [NOF_SIM_IALLGATHER] = NOF_COLLECTIVE_ALLGATHER, [NOF_SIM_IALLTOALL] = NOF_COLLECTIVE_ALLTOALL,
        [NOF_SIM_IALLREDUCE] = NOF_COLLECTIVE_ALLREDUCE, [NOF_SIM_IREDUCE] = NOF_COLLECTIVE_REDUCE,
    };
    struct nof_program *p = calloc(1, sizeof(*p));
    struct nof_cluster *c = NULL;
    unsigned ranks = config->ranks != 0 ? config->ranks : config->hosts;
    *result_out = (struct nof_sim_overlap){.collective = names[kind[config->collective]]};
    if (p == NULL)
        abort();
    p->nranks = ranks;
    p->ncomms = 1;
    p->callsites = 1;
    add_step(p, kind[config->collective], config->bytes);
    int status = start_cluster(config, ranks, &c);
    for (unsigned i = 0; status == NOF_OK && i < config->hosts; i++)
        status = nof_nic_feature_set(nof_cluster_nic(c, i), NOF_F_COMPRESSION, 0);
    if (status == NOF_OK)
        run(c, p, config, result_out);
    else
        (void)snprintf(result_out->problem, sizeof(result_out->problem), "the cluster does not start: %s",
                       nof_strstatus(status));
    nof_cluster_destroy(c);
    for (unsigned i = 0; i < ranks; i++)
        free(p->rank[i].step);
    free(p);
}

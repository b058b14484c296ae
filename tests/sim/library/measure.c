/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>

#include "process.h"

#define PATIENCE_NS 600000000000ull
/* A core of 3 GHz takes some hundred cycles for a frame, as many to look at its rings, and copies or adds 5 GB/s. */
#define LOOP_NS 200u
#define FRAME_NS 150u
#define BYTE_PS 200u
#define HOST_SEES_NS 200u
#define NEVER_ASLEEP_US 1000000u
#define MANY_HOSTS 64u /* which have less memory each */

static int start_cluster(const struct nof_measure *m, struct nof_cluster **cluster_out)
{
    unsigned here = (m->ranks + m->hosts - 1) / m->hosts;
    struct nof_cluster_config cfg = {
        .nnics = m->hosts,
        .seed = 1,
        .loop_ns = LOOP_NS,
        .frame_ns = FRAME_NS,
        .byte_ps = BYTE_PS,
        .pool_frames = 2048,
        .link = m->link,
        .nic = {.mtu_bytes = (uint16_t)m->mtu_bytes,
                .link_rate_bps = m->link.rate_bps,
                .max_endpoints = here,
                .max_paths = 2 * m->hosts,
                .max_jobs = 1,
                .max_peers = 2 * here * m->ranks,
                .max_sends = 1024,
                .max_posted = 4096,
                .max_envelopes = 2048,
                .sent_frames = 2048,
                .netmem_bytes = m->hosts > MANY_HOSTS ? 2u << 20 : 8u << 20},
    };
    return nof_cluster_create(&cfg, cluster_out);
}

static int set_features(const struct nof_measure *m, struct nof_cluster *c)
{
    int status = NOF_OK;
    for (unsigned i = 0; status == NOF_OK && i < m->hosts; i++) {
        struct nof_nic *nic = nof_cluster_nic(c, i);
        status = nof_nic_feature_set(nic, NOF_F_COMPRESSION, 0);
        for (unsigned k = 0; status == NOF_OK && k < m->nfeatures; k++)
            status = nof_nic_feature_set(nic, m->feature[k].number, m->feature[k].value);
    }
    return status;
}

static struct nof_processes *start_processes(const struct nof_measure *m, struct nof_cluster *c,
                                             struct nof_program *p, char *problem, size_t problem_bytes)
{
    struct nof_processes_config cfg = {
        .nnics = m->hosts,
        .in_blocks = m->in_blocks,
        .coll_table = m->table,
        .delta = m->delta,
        .delta_size = m->delta_size,
        .seed = 1,
        .job_id = 1,
        .job_key = {m->by_nic ? NOF_SIM_BY_NIC : NOF_SIM_BY_HOST},
        .submit_slots = 255,
        .complete_slots = 255,
        .staging_bytes = 65536,
        .bounce_bytes = 262144,
        .bounce_max_bytes = 16384,
        .program_area_bytes = 65536,
        .spin_us = m->spin_us != 0 ? m->spin_us : NEVER_ASLEEP_US,
        .dma_inline_percent = 100,
        .sees_ns = HOST_SEES_NS,
    };
    return nof_processes_create(c, &cfg, p, problem, problem_bytes);
}

void nof_measure_run(const struct nof_measure *m,
                     void (*take)(struct nof_cluster *c, const struct nof_program *p, void *answer),
                     void *answer, char *problem, size_t problem_bytes)
{
    struct nof_step step = m->step;
    struct nof_program *p = calloc(1, sizeof(*p));
    struct nof_cluster *c = NULL;
    struct nof_processes *ps = NULL;
    problem[0] = '\0';
    if (p == NULL)
        abort();
    p->nranks = m->ranks;
    p->ncomms = 1;
    p->callsites = 1;
    p->increments = m->increments;
    p->replay = m->replay;
    for (unsigned i = 0; i < m->ranks; i++)
        p->rank[i] = (struct nof_steps){.step = &step, .count = 1, .room = 1};
    int status = start_cluster(m, &c);
    if (status == NOF_OK)
        status = set_features(m, c);
    if (status != NOF_OK)
        (void)snprintf(problem, problem_bytes, "the cluster does not start: %s", nof_strstatus(status));
    else
        ps = start_processes(m, c, p, problem, problem_bytes);
    if (ps != NULL) {
        bool ended = nof_cluster_run(c, nof_cluster_now(c) + PATIENCE_NS, nof_processes_ended, ps);
        const char *why = nof_cluster_violation(c);
        if (why != NULL || !ended)
            (void)snprintf(problem, problem_bytes, "%s", why != NULL ? why : "it does not end");
        else
            take(c, p, answer);
        nof_processes_destroy(ps);
    }
    nof_cluster_destroy(c);
    free(p);
}

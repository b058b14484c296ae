/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What takes how long in virtual time: the MPI library itself, a rank on each host, over cores whose work takes time. */
#include <stdlib.h>
#include <string.h>

#include "../sim.h"
#include "process.h"

#define PATIENCE_NS 600000000000ull
#define DELAY_NS 20000u /* of a link, with what kernel and switch take at such rates */
/* As in overlap.c. */
#define LOOP_NS 200u
#define FRAME_NS 150u
#define BYTE_PS 200u
#define HOST_SEES_NS 200u

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

static int start_cluster(const struct nof_sim_timed *t, struct nof_cluster **cluster_out)
{
    struct nof_cluster_config cfg = {
        .nnics = t->hosts,
        .seed = 1,
        .loop_ns = LOOP_NS,
        .frame_ns = FRAME_NS,
        .byte_ps = BYTE_PS,
        .pool_frames = 2048,
        .link = {.rate_bps = t->rate_bps, .delay_ns = DELAY_NS, .buffer_bytes = (uint32_t)t->buffer_bytes},
        .nic = {.mtu_bytes = (uint16_t)t->mtu_bytes,
                .link_rate_bps = t->rate_bps,
                .max_endpoints = 1,
                .max_paths = 2 * t->hosts,
                .max_jobs = 1,
                .max_peers = 2 * t->hosts,
                .max_sends = 1024,
                .max_posted = 4096,
                .max_envelopes = 2048,
                .sent_frames = 2048,
                .netmem_bytes = 8u << 20},
    };
    return nof_cluster_create(&cfg, cluster_out);
}

static int set_features(struct nof_cluster *c, enum nof_sim_timed_way way)
{
    int status = NOF_OK;
    for (unsigned i = 0; status == NOF_OK && i < nof_cluster_nnics(c); i++) {
        struct nof_nic *nic = nof_cluster_nic(c, i);
        status = nof_nic_feature_set(nic, NOF_F_COMPRESSION, 0);
        if (status == NOF_OK && way == NOF_SIM_TIMED_DSM_DYNAMIC)
            status = nof_nic_feature_set(nic, NOF_F_GRANT_BYTES, 0);
        if (status == NOF_OK && way == NOF_SIM_TIMED_ALLGATHER_MULTICAST)
            status = nof_nic_feature_set(nic, NOF_F_MULTICAST, 1);
    }
    return status;
}

/* All ranks have the same times: the slowest's. */
static void take_result(struct nof_cluster *c, const struct nof_program *p, struct nof_sim_timed *t)
{
    t->median_ms = p->timed[0].median_ns / 1e6;
    t->sum_ms = p->timed[0].sum_ns / 1e6;
    t->descs = 0;
    t->drops = 0;
    for (unsigned i = 0; i < p->nranks; i++) {
        t->descs = p->timed[i].descs > t->descs ? p->timed[i].descs : t->descs;
        t->drops += nof_fabric_stats(nof_cluster_fabric(c), i)->drop_buffer;
    }
}

static void run(struct nof_cluster *c, struct nof_program *p, struct nof_sim_timed *t)
{
    struct nof_processes_config cfg = {
        .nnics = p->nranks,
        .seed = 1,
        .job_id = 1,
        .job_key = {t->by_nic ? NOF_SIM_BY_NIC : NOF_SIM_BY_HOST},
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
    struct nof_processes *ps = nof_processes_create(c, &cfg, p, t->problem, sizeof(t->problem));
    if (ps == NULL)
        return;
    bool ended = nof_cluster_run(c, nof_cluster_now(c) + PATIENCE_NS, nof_processes_ended, ps);
    const char *why = nof_cluster_violation(c);
    if (why != NULL || !ended)
        (void)snprintf(t->problem, sizeof(t->problem), "%s", why != NULL ? why : "it does not end");
    else
        take_result(c, p, t);
    nof_processes_destroy(ps);
}

static void add_steps(struct nof_program *p, enum nof_sim_timed_way way, const struct nof_sim_timed *t)
{
    for (unsigned i = 0; i < p->nranks; i++) {
        struct nof_steps *s = &p->rank[i];
        s->step = calloc(1, sizeof(*s->step));
        if (s->step == NULL)
            abort();
        s->count = s->room = 1;
        s->step[0] = (struct nof_step){
            .kind = SIM_STEP_TIMED, .style = (unsigned)way, .spare = t->amount, .ns = t->times};
    }
}

void nof_sim_run_timed(enum nof_sim_timed_way way, struct nof_sim_timed *t)
{
    struct nof_program *p = calloc(1, sizeof(*p));
    struct nof_cluster *c = NULL;
    t->problem[0] = '\0';
    if (p == NULL)
        abort();
    p->nranks = t->hosts;
    p->ncomms = 1;
    p->callsites = 1;
    add_steps(p, way, t);
    int status = start_cluster(t, &c);
    if (status == NOF_OK)
        status = set_features(c, way);
    if (status == NOF_OK)
        run(c, p, t);
    else
        (void)snprintf(t->problem, sizeof(t->problem), "the cluster does not start: %s",
                       nof_strstatus(status));
    nof_cluster_destroy(c);
    for (unsigned i = 0; i < t->hosts; i++)
        free(p->rank[i].step);
    free(p);
}

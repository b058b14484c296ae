/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory at scale: every endpoint sends one message to every endpoint of the job, so all paths and
 * flows exist; then what a silent peer costs is read from the core's own gauges and checked against
 * the growth of nof_nic_mem_size(). */
#include <stdlib.h>
#include <string.h>

#include "pump.h"
#include "sim.h"

#define MESSAGE_BYTES 64u
#define RECEIVES 64u
#define OUTSTANDING 2u
#define MTU_BYTES 1500u
#define PROGRESS_NS 60000000000ull

struct scale {
    struct nof_cluster *cluster;
    struct nof_pump *pump;
    unsigned n;
};

static bool all_received(void *user)
{
    struct scale *s = user;
    /* From the last on: the one that waits longest is asked first, most of the time. */
    while (s->n > 0 && s->pump[s->n - 1].recvs_done == s->pump[0].size &&
           s->pump[s->n - 1].sends_done == s->pump[0].size)
        s->n--;
    return s->n == 0;
}

static void configure(struct nof_nic_config *nic, unsigned nics, unsigned endpoints)
{
    *nic = (struct nof_nic_config){
        .mtu_bytes = MTU_BYTES,
        .max_endpoints = endpoints,
        .max_paths = nics,
        .max_peers = nics * endpoints * endpoints,
        .max_jobs = 1,
        .max_sends = 256,
        .max_posted = RECEIVES * endpoints * 2,
        .max_envelopes = 256,
        .max_layouts = 1,
        .sent_frames = 512,
        .reorder_frames = 64,
        .netmem_bytes = 1u << 20,
    };
}

static void mem_size_growth(const struct nof_nic_config *base, struct nof_sim_scale *out)
{
    struct nof_nic_config cfg = *base;
    cfg.nic_id = 1;
    size_t small = nof_nic_mem_size(&cfg);
    cfg.max_paths *= 2;
    cfg.max_peers *= 2;
    /* Per peer NIC there is one path and, for each endpoint, the flows of its endpoints. */
    out->mem_size_per_peer_bytes = (double)(nof_nic_mem_size(&cfg) - small) / (double)base->max_peers;
    cfg = *base;
    cfg.nic_id = 1;
    cfg.max_endpoints *= 2;
    out->mem_size_per_endpoint_bytes = (double)(nof_nic_mem_size(&cfg) - small) / (double)base->max_endpoints;
}

static int open_all(struct scale *s, unsigned nics, unsigned endpoints)
{
    struct nof_pump_job job = {.id = 7, .size = nics * endpoints};
    memset(job.key, 0x17, sizeof(job.key));
    for (unsigned i = 0; i < s->n; i++) {
        int status = nof_pump_open(&s->pump[i], s->cluster, i % nics, &job, i, MESSAGE_BYTES, 16384);
        if (status != NOF_OK)
            return status;
    }
    for (unsigned i = 0; i < s->n; i++) {
        nof_pump_recv(&s->pump[i], NOF_ANY_SOURCE, RECEIVES);
        nof_pump_send_all(&s->pump[i], s->pump, MESSAGE_BYTES, OUTSTANDING);
    }
    return NOF_OK;
}

static void measure(struct scale *s, struct nof_sim_scale *out)
{
    unsigned n = out->nics * out->endpoints;
    bool done = nof_cluster_run(s->cluster, nof_cluster_now(s->cluster) + PROGRESS_NS, all_received, s);
    for (unsigned i = 0; i < n; i++)
        out->messages += s->pump[i].recvs_done;
    if (!done) {
        const char *why = nof_cluster_violation(s->cluster);
        (void)snprintf(out->problem, sizeof(out->problem), "%s", why != NULL ? why : "not all messages came");
    }
    for (unsigned i = 0; i < out->nics; i++)
        out->paths += nof_nic_counters(nof_cluster_nic(s->cluster, i))[NOF_C_PATHS_OPEN];
    const uint64_t *counters = nof_nic_counters(nof_cluster_nic(s->cluster, 0));
    out->mem_bytes = counters[NOF_C_MEM_BYTES];
    out->peer_bytes = counters[NOF_C_MEM_PEER_BYTES];
    out->endpoint_bytes = counters[NOF_C_MEM_ENDPOINT_BYTES];
}

int nof_sim_run_scale(unsigned nics, unsigned endpoints, struct nof_sim_scale *result_out)
{
    struct nof_sim_scale out = {.nics = nics, .endpoints = endpoints};
    struct nof_cluster_config cfg = {
        .nnics = nics, .seed = 1, .loop_ns = 2000, .pool_frames = 1024, .queue_frames = 1024};
    configure(&cfg.nic, nics, endpoints);
    struct scale s = {.n = nics * endpoints};
    s.pump = calloc(s.n, sizeof(*s.pump));
    int status = s.pump != NULL ? nof_cluster_create(&cfg, &s.cluster) : NOF_ENOMEM;
    if (status == NOF_OK)
        status = open_all(&s, nics, endpoints);
    if (status == NOF_OK) {
        mem_size_growth(&cfg.nic, &out);
        measure(&s, &out);
    }
    for (unsigned i = 0; s.pump != NULL && i < nics * endpoints; i++)
        nof_pump_close(&s.pump[i]);
    free(s.pump);
    nof_cluster_destroy(s.cluster);
    *result_out = out;
    return status;
}

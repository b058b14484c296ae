/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Broadcast on a cluster: one rank a host, over a switch with a rate and a buffer for each port. Payload is counted, not
 * copied. */
#include "bcast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulk_host.h"
#include "nof/program.h"
#include "rng.h"

#define CTX 1u
#define GROUP 1u
#define AREA_BYTES 4096u
#define SETTLE_NS 200000000u

struct host {
    struct nof_bulk_host bulk; /* first: the cluster hands it back */
    struct run *run;
    uint64_t done_ns; /* 0: not yet */
    bool open;
};

struct run {
    struct nof_sim_bcast *b;
    struct nof_cluster *cluster;
    struct host *host;
    bool tree;
    unsigned waiting;
    uint64_t acks; /* of the opening */
};

static void done(struct host *h)
{
    struct run *r = h->run;
    h->done_ns = nof_cluster_now(r->cluster);
    r->waiting--;
    if (h->bulk.rank != 0 && h->bulk.received != r->b->bytes)
        nof_cluster_fail(r->cluster, "host %u got %llu bytes", h->bulk.rank,
                         (unsigned long long)h->bulk.received);
}

static unsigned complete(void *host, const struct nof_comp *comps, unsigned n)
{
    struct host *h = host;
    for (unsigned i = 0; i < n; i++) {
        const struct nof_comp *c = &comps[i];
        if (c->status != NOF_OK || (c->flags & NOF_COMP_F_DECLINED))
            nof_cluster_fail(h->run->cluster, "host %u: completion %u: %s", h->bulk.rank, c->opcode,
                             nof_strstatus(c->status));
        else if (c->opcode == NOF_COMP_GROUP || c->opcode == NOF_COMP_SCHED_OPEN)
            h->open = true;
        else if (c->opcode != NOF_COMP_GROUP_OPEN)
            done(h);
    }
    return n;
}

static const struct nof_cluster_host_ops host_ops = {.fetch = nof_bulk_host_fetch,
                                                     .complete = complete,
                                                     .dma = nof_bulk_host_dma,
                                                     .failed = nof_bulk_host_failed};

static void add(uint8_t *area, uint8_t opcode, unsigned peer, uint64_t len)
{
    struct nof_program_head head;
    struct nof_program_step s = {.opcode = opcode, .after = {NOF_STEP_NONE, NOF_STEP_NONE}};
    if (opcode != NOF_STEP_FENCE) {
        s.peer = (int32_t)peer;
        s.len = len;
    }
    memcpy(&head, area, sizeof(head));
    memcpy(area + sizeof(head) + head.nsteps++ * sizeof(s), &s, sizeof(s));
    head.magic = NOF_PROGRAM_MAGIC;
    memcpy(area, &head, sizeof(head));
}

/* The members, or the program of a binomial tree. Its bytes. */
static uint64_t write_area(const struct run *r, unsigned rank, uint8_t *area)
{
    struct nof_program_head head;
    unsigned mask = 1;
    for (uint32_t i = 0; !r->tree && i < r->b->hosts; i++)
        memcpy(area + i * sizeof(i), &i, sizeof(i));
    if (!r->tree)
        return r->b->hosts * sizeof(uint32_t);
    while (mask < r->b->hosts && (rank & mask) == 0)
        mask *= 2;
    if (rank != 0) {
        add(area, NOF_STEP_RECV, rank - mask, r->b->bytes);
        add(area, NOF_STEP_FENCE, 0, 0);
    }
    for (mask /= 2; mask > 0; mask /= 2)
        if (rank + mask < r->b->hosts)
            add(area, NOF_STEP_SEND, rank + mask, r->b->bytes);
    memcpy(&head, area, sizeof(head));
    return sizeof(head) + head.nsteps * sizeof(struct nof_program_step);
}

static int open_host(struct run *r, unsigned rank)
{
    struct host *h = &r->host[rank];
    h->run = r;
    h->bulk = (struct nof_bulk_host){
        .cluster = r->cluster, .rank = rank, .buffer_bytes = r->b->bytes, .area = calloc(1, AREA_BYTES)};
    if (h->bulk.area == NULL)
        return NOF_ENOMEM;
    int status = nof_nic_feature_set(nof_cluster_nic(r->cluster, rank), NOF_F_MULTICAST, 1);
    return status != NOF_OK ? status : nof_bulk_host_open(&h->bulk, r->b->hosts, AREA_BYTES, &host_ops);
}

/* Paths, and the group or the programs. */
static void prepare(struct run *r)
{
    unsigned n = r->b->hosts;
    for (unsigned i = 0; i < n; i++) {
        struct nof_bulk_host *h = &r->host[i].bulk;
        for (unsigned k = 1; k < n; k++)
            nof_bulk_host_meet(h, &r->host[(i + k) % n].bulk);
        struct nof_desc d = {.opcode = r->tree ? NOF_DESC_SCHED_OPEN : NOF_DESC_GROUP_OPEN,
                             .ctx = CTX,
                             .len = write_area(r, i, h->area),
                             .sched = {.name = GROUP, .generation = 1}};
        nof_bulk_host_submit(h, &d);
    }
}

static void begin(struct host *h)
{
    bool sends = h->bulk.rank == 0;
    struct nof_desc d = {
        .opcode = sends ? NOF_DESC_GROUP_SEND : NOF_DESC_GROUP_RECV,
        .ctx = CTX,
        .len = h->run->b->bytes,
        .sched = {.name = GROUP, .generation = 2, .base = {sends ? NOF_BULK_SEND_AT : NOF_BULK_RECV_AT}}};
    if (h->run->tree) {
        d.opcode = NOF_DESC_SCHED_START;
        d.sched.generation = 1;
        d.len = 0;
    }
    nof_bulk_host_submit(&h->bulk, &d);
}

static bool all_done(void *user)
{
    return ((struct run *)user)->waiting == 0;
}

static void count(struct run *r)
{
    struct nof_sim_bcast *b = r->b;
    const uint64_t *root = nof_nic_counters(nof_cluster_nic(r->cluster, 0));
    uint64_t chunk = b->mtu_bytes - 124;
    b->frames = (b->bytes + chunk - 1) / chunk;
    b->root_bytes =
        (double)root[NOF_C_MCAST_TX_FRAMES] / (double)(b->frames + 1); /* and the first message's */
    b->repairs_unicast = root[NOF_C_MCAST_REPAIRS_UNICAST];
    b->repairs_multicast = root[NOF_C_MCAST_REPAIRS_MULTICAST];
    b->acks = root[NOF_C_MCAST_ACKS_RX] - r->acks;
}

static uint64_t sum_of(const struct run *r, bool lost)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < r->b->hosts; i++) {
        const struct nof_fabric_stats *s = nof_fabric_stats(nof_cluster_fabric(r->cluster), i);
        n += lost ? (i > 0 ? s->lost : 0) : s->drop_buffer;
    }
    return n;
}

static void set_loss(struct run *r)
{
    for (unsigned i = 0; i < r->b->hosts; i++) {
        struct nof_fabric_link link = nof_fabric_link(nof_cluster_fabric(r->cluster), i);
        link.loss_ppm = r->b->loss_ppm;
        (void)nof_fabric_set_link(nof_cluster_fabric(r->cluster), i, &link);
    }
}

/* Microseconds from the begin of all hosts until all have everything, or -1. */
static double once(struct run *r)
{
    nof_cluster_run(r->cluster, nof_cluster_now(r->cluster) + SETTLE_NS, NULL, NULL);
    for (unsigned i = 0; i < r->b->hosts; i++)
        if (!r->host[i].open)
            nof_cluster_fail(r->cluster, "host %u is not ready", i);
    set_loss(r);
    uint64_t from_ns = nof_cluster_now(r->cluster), last_ns = from_ns, lost = sum_of(r, true);
    r->acks = nof_nic_counters(nof_cluster_nic(r->cluster, 0))[NOF_C_MCAST_ACKS_RX];
    r->waiting = r->b->hosts;
    for (unsigned i = 0; i < r->b->hosts; i++)
        begin(&r->host[i]);
    if (!nof_cluster_run(r->cluster, from_ns + NOF_BULK_PATIENCE_NS, all_done, r))
        return -1;
    for (unsigned i = 0; i < r->b->hosts; i++) {
        last_ns = r->host[i].done_ns > last_ns ? r->host[i].done_ns : last_ns;
        r->b->digest = nof_rng_mix(r->b->digest + r->host[i].done_ns + i);
    }
    if (!r->tree)
        r->b->lost = sum_of(r, true) - lost;
    return (double)(last_ns - from_ns) / 1000;
}

static void configure(const struct nof_sim_bcast *b, struct nof_cluster_config *cfg)
{
    *cfg = (struct nof_cluster_config){.nnics = b->hosts,
                                       .seed = b->seed,
                                       .loop_ns = NOF_BULK_IDLE_TURN_NS,
                                       .frame_ns = b->core_ns,
                                       .pool_frames = 1024,
                                       .queue_frames = 1024,
                                       .link = {.rate_bps = b->rate_bps,
                                                .delay_ns = NOF_BULK_DELAY_NS,
                                                .buffer_bytes = (uint32_t)b->buffer_bytes},
                                       .nic = {.mtu_bytes = b->mtu_bytes,
                                               .link_rate_bps = b->rate_bps,
                                               .max_endpoints = 1,
                                               .max_paths = b->hosts,
                                               .max_peers = b->hosts,
                                               .max_jobs = 1,
                                               .max_sends = 64,
                                               .max_posted = 64,
                                               .max_envelopes = 6 * b->hosts,
                                               .max_layouts = 1,
                                               .max_schedules = 4,
                                               .max_groups = 2,
                                               .sent_frames = 1024,
                                               .reorder_frames = 64,
                                               .netmem_bytes = 2u << 20}};
}

static int measure(struct nof_sim_bcast *b, bool tree, double *us_out)
{
    struct nof_cluster_config cfg;
    struct run r = {.b = b, .tree = tree};
    configure(b, &cfg);
    r.host = calloc(b->hosts, sizeof(*r.host));
    int status = r.host != NULL ? nof_cluster_create(&cfg, &r.cluster) : NOF_ENOMEM;
    for (unsigned i = 0; status == NOF_OK && i < b->hosts; i++)
        status = open_host(&r, i);
    if (status == NOF_OK) {
        prepare(&r);
        *us_out = once(&r);
        if (!tree)
            count(&r);
        b->drops += sum_of(&r, false);
        const char *why = nof_cluster_violation(r.cluster);
        if (why != NULL || *us_out < 0)
            (void)snprintf(b->problem, sizeof(b->problem), "%u hosts, %s: %s", b->hosts,
                           tree ? "tree" : "multicast", why != NULL ? why : "it does not come to an end");
    }
    for (unsigned i = 0; r.host != NULL && i < b->hosts; i++)
        nof_bulk_host_free(&r.host[i].bulk);
    free(r.host);
    nof_cluster_destroy(r.cluster);
    return status;
}

int nof_sim_run_bcast(struct nof_sim_bcast *b)
{
    b->problem[0] = '\0';
    b->drops = 0;
    b->tree_us = 0;
    b->limit_us = (double)b->bytes * 8e6 / (double)b->rate_bps;
    int status = measure(b, false, &b->multicast_us);
    if (status == NOF_OK && b->loss_ppm == 0 && b->problem[0] == '\0')
        status = measure(b, true, &b->tree_us);
    return status;
}

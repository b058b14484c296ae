/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-to-all on a cluster: one rank a host, which gives its NIC the whole of it as a program (nof/program.h), over a
 * switch with a rate and a buffer for each port. Payload is counted, not copied. */
#include "alltoall.h"

#include <stdlib.h>
#include <string.h>

#include "bulk_host.h"
#include "nof/program.h"
#include "rng.h"

#define ROUNDS_MOST 300u /* of one program; a schedule that is longer takes several */
#define PROGRAM_BYTES \
    (sizeof(struct nof_program_head) + NOF_PROGRAM_STEPS_MAX * sizeof(struct nof_program_step))
#define CTX 1u
#define PING_CTX 2u
#define PINGS 32

enum way { PAIRWISE, BARRIER, UNSCHEDULED };

struct host {
    struct nof_bulk_host bulk; /* first: the cluster hands it back */
    struct run *run;
    unsigned programs, opened, at;
    uint64_t ping_ns; /* when the last one began */
    uint64_t done_ns; /* 0: not yet */
};

struct run {
    struct nof_sim_alltoall *a;
    enum way way;
    struct nof_cluster *cluster;
    struct host *host;
    int32_t tag; /* number of the all-to-all */
    unsigned waiting; /* hosts that are not done */
    uint64_t slowest_ping_ns;
    uint64_t digest;
};

static void open_next(struct host *h)
{
    struct nof_program_head head;
    memcpy(&head, h->bulk.area + h->opened * PROGRAM_BYTES, sizeof(head));
    struct nof_desc d = {.opcode = NOF_DESC_SCHED_OPEN,
                         .len = sizeof(head) + head.nsteps * sizeof(struct nof_program_step),
                         .sched = {.name = h->opened, .generation = 1, .base = {h->opened * PROGRAM_BYTES}}};
    nof_bulk_host_submit(&h->bulk, &d);
}

static void start_next(struct host *h)
{
    struct nof_desc d = {
        .opcode = NOF_DESC_SCHED_START,
        .ctx = CTX,
        .tag = h->run->tag,
        .sched = {.name = h->at, .generation = 1, .base = {NOF_BULK_SEND_AT, NOF_BULK_RECV_AT}}};
    nof_bulk_host_submit(&h->bulk, &d);
}

static void program_done(struct host *h)
{
    struct run *r = h->run;
    if (++h->at < h->programs) {
        start_next(h);
        return;
    }
    h->done_ns = nof_cluster_now(r->cluster);
    r->digest = nof_rng_mix(r->digest + h->done_ns + h->bulk.rank);
    r->waiting--;
    if (h->bulk.received != (r->a->hosts - 1) * r->a->bytes)
        nof_cluster_fail(r->cluster, "host %u got %llu bytes", h->bulk.rank,
                         (unsigned long long)h->bulk.received);
}

static void ping_came(struct host *h, const struct nof_comp *c)
{
    struct run *r = h->run;
    uint64_t took_ns = nof_cluster_now(r->cluster) - r->host[0].ping_ns;
    if (c->status != NOF_OK || c->len != sizeof(uint64_t))
        nof_cluster_fail(r->cluster, "a ping of %llu bytes: %s", (unsigned long long)c->len,
                         nof_strstatus(c->status));
    r->slowest_ping_ns = took_ns > r->slowest_ping_ns ? took_ns : r->slowest_ping_ns;
    r->host[0].ping_ns = 0;
}

static unsigned complete(void *host, const struct nof_comp *comps, unsigned n)
{
    struct host *h = host;
    for (unsigned i = 0; i < n; i++) {
        const struct nof_comp *c = &comps[i];
        if (c->opcode == NOF_COMP_SCHED_OPEN && (c->status == NOF_OK || c->status == NOF_EAGAIN)) {
            h->opened += c->status == NOF_OK;
            if (h->opened < h->programs)
                open_next(h);
            else
                start_next(h);
        } else if (c->opcode == NOF_COMP_SCHED && c->status == NOF_OK) {
            program_done(h);
        } else if (c->opcode == NOF_COMP_RECV && c->ctx == PING_CTX) {
            ping_came(h, c);
        } else if (c->opcode != NOF_COMP_SEND || c->status != NOF_OK) {
            nof_cluster_fail(h->run->cluster, "host %u: completion %u, flags %u, from rank %d: %s",
                             h->bulk.rank, c->opcode, c->flags, c->peer, nof_strstatus(c->status));
        }
    }
    return n;
}

static const struct nof_cluster_host_ops host_ops = {.fetch = nof_bulk_host_fetch,
                                                     .complete = complete,
                                                     .dma = nof_bulk_host_dma,
                                                     .failed = nof_bulk_host_failed};

struct writer {
    uint8_t *at;
    uint32_t steps;
    uint16_t sent[ROUNDS_MOST]; /* the SEND of each round of this program */
    unsigned rounds;
};

static uint16_t add(struct writer *w, uint8_t opcode, int32_t peer, bool recv, uint64_t block, uint64_t len,
                    uint16_t after)
{
    struct nof_program_step s = {.opcode = opcode,
                                 .base = recv,
                                 .peer = peer,
                                 .offset = (int64_t)(block * len),
                                 .len = len,
                                 .flags = after != NOF_STEP_NONE ? NOF_STEP_F_IN_TURN : 0,
                                 .after = {after, NOF_STEP_NONE}};
    memcpy(w->at + sizeof(struct nof_program_head) + w->steps * sizeof(s), &s, sizeof(s));
    return (uint16_t)w->steps++;
}

/* Everybody hears, through others, of everybody. */
static void add_barrier(struct writer *w, unsigned rank, unsigned hosts)
{
    for (unsigned d = 1; d < hosts; d *= 2) {
        add(w, NOF_STEP_FENCE, 0, false, 0, 0, NOF_STEP_NONE);
        add(w, NOF_STEP_RECV, (int32_t)((rank + hosts - d) % hosts), true, 0, 0, NOF_STEP_NONE);
        add(w, NOF_STEP_SEND, (int32_t)((rank + d) % hosts), false, 0, 0, NOF_STEP_NONE);
    }
    add(w, NOF_STEP_FENCE, 0, false, 0, 0, NOF_STEP_NONE);
}

/* Round k: to the k-th rank behind us, from the k-th before. */
static void add_round(struct writer *w, const struct run *r, unsigned rank, unsigned k)
{
    const struct nof_sim_alltoall *a = r->a;
    unsigned to = (rank + k) % a->hosts, from = (rank + a->hosts - k) % a->hosts;
    uint16_t after =
        r->way == PAIRWISE && w->rounds >= a->lookahead ? w->sent[w->rounds - a->lookahead] : NOF_STEP_NONE;
    add(w, NOF_STEP_RECV, (int32_t)from, true, from, a->bytes, NOF_STEP_NONE);
    w->sent[w->rounds++] = add(w, NOF_STEP_SEND, (int32_t)to, false, to, a->bytes, after);
    if (r->way == BARRIER)
        add_barrier(w, rank, a->hosts);
}

static void finish(struct writer *w)
{
    struct nof_program_head head = {.magic = NOF_PROGRAM_MAGIC, .nsteps = w->steps};
    memcpy(w->at, &head, sizeof(head));
}

static bool write_programs(struct host *h)
{
    const struct run *r = h->run;
    unsigned rounds = r->a->hosts - 1;
    unsigned each = r->way == BARRIER ? 24 : ROUNDS_MOST; /* at most 2 + 3 * 11 + 1 steps each */
    h->programs = (rounds + each - 1) / each;
    h->bulk.area = calloc(h->programs, PROGRAM_BYTES);
    if (h->bulk.area == NULL)
        return false;
    for (unsigned i = 0; i < h->programs; i++) {
        struct writer w = {.at = h->bulk.area + i * PROGRAM_BYTES};
        for (unsigned k = 1 + i * each; k <= rounds && w.rounds < each; k++)
            add_round(&w, r, h->bulk.rank, k);
        finish(&w);
    }
    return true;
}

static int open_host(struct run *r, unsigned rank)
{
    struct host *h = &r->host[rank];
    *h = (struct host){
        .bulk = {.cluster = r->cluster, .rank = rank, .buffer_bytes = r->a->hosts * r->a->bytes}, .run = r};
    if (!write_programs(h))
        return NOF_ENOMEM;
    struct nof_nic *nic = nof_cluster_nic(r->cluster, rank);
    int status = NOF_OK;
    if (r->way == UNSCHEDULED)
        status = nof_nic_feature_set(nic, NOF_F_GRANT_BYTES, 0);
    if (status == NOF_OK && r->a->grant_bytes != 0)
        status = nof_nic_feature_set(nic, NOF_F_GRANT_BYTES, r->a->grant_bytes);
    return status != NOF_OK
               ? status
               : nof_bulk_host_open(&h->bulk, r->a->hosts, h->programs * PROGRAM_BYTES, &host_ops);
}

static void introduce(struct run *r)
{
    unsigned n = r->a->hosts;
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 1; k < n; k++)
            nof_bulk_host_meet(&r->host[i].bulk, &r->host[(i + k) % n].bulk);
}

static bool all_done(void *user)
{
    return ((struct run *)user)->waiting == 0;
}

static void begin_host(struct nof_cluster *c, void *user, uint64_t warm)
{
    (void)c;
    if (warm)
        start_next(user);
    else
        open_next(user);
}

/* One all-to-all; warm: hosts and programs are there. Microseconds from the start of the last host
 * until all have all, or -1. */
static double once(struct run *r, bool warm)
{
    uint64_t now_ns = nof_cluster_now(r->cluster), from_ns = now_ns, last_ns = now_ns;
    struct nof_rng rng = {.state = nof_rng_mix((uint64_t)r->tag)};
    r->tag++;
    r->waiting = r->a->hosts;
    for (unsigned i = 0; i < r->a->hosts; i++) {
        uint64_t at_ns = now_ns + nof_rng_below(&rng, r->a->skew_ns + 1);
        r->host[i].at = 0;
        r->host[i].bulk.received = 0;
        from_ns = at_ns > from_ns ? at_ns : from_ns;
        nof_cluster_at(r->cluster, at_ns, begin_host, &r->host[i], warm);
    }
    if (!nof_cluster_run(r->cluster, from_ns + NOF_BULK_PATIENCE_NS, all_done, r))
        return -1;
    for (unsigned i = 0; i < r->a->hosts; i++)
        last_ns = r->host[i].done_ns > last_ns ? r->host[i].done_ns : last_ns;
    /* What is still to be acknowledged is no part of the next. */
    nof_cluster_run(r->cluster, last_ns + 20000000, NULL, NULL);
    return (double)(last_ns - from_ns) / 1000;
}

/* Host 0 sends one to host 1, unless the last has not come. */
static void ping(struct nof_cluster *c, void *user, uint64_t number)
{
    struct run *r = user;
    if (r->host[0].ping_ns != 0 || r->waiting == 0)
        return;
    struct nof_desc d = {.ctx = PING_CTX, .tag = (int32_t)number, .cookie = number, .len = sizeof(uint64_t)};
    d.opcode = NOF_DESC_RECV;
    d.addr = NOF_BULK_RECV_AT;
    nof_bulk_host_submit(&r->host[1].bulk, &d);
    d.opcode = NOF_DESC_SEND;
    d.flags = NOF_DESC_F_INLINE;
    d.peer = 1;
    r->host[0].ping_ns = nof_cluster_now(c);
    nof_bulk_host_submit(&r->host[0].bulk, &d);
}

/* Messages of eight bytes between two hosts, one after the other, beside an all-to-all that takes so long. */
static double beside(struct run *r, double warm_us)
{
    uint64_t now_ns = nof_cluster_now(r->cluster), apart_ns = (uint64_t)(warm_us * 1000) / (PINGS + 1);
    for (uint64_t i = 1; i <= PINGS; i++)
        nof_cluster_at(r->cluster, now_ns + i * apart_ns, ping, r, i);
    if (once(r, true) < 0)
        return -1;
    return (double)r->slowest_ping_ns / 1000;
}

static uint64_t dropped(struct run *r)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < r->a->hosts; i++)
        n += nof_fabric_stats(nof_cluster_fabric(r->cluster), i)->drop_buffer;
    return n;
}

static void configure(const struct nof_sim_alltoall *a, struct nof_cluster_config *cfg)
{
    uint32_t rounds = a->hosts < ROUNDS_MOST ? a->hosts : ROUNDS_MOST;
    *cfg = (struct nof_cluster_config){.nnics = a->hosts,
                                       .seed = 1,
                                       .loop_ns = NOF_BULK_IDLE_TURN_NS,
                                       .frame_ns = a->core_ns,
                                       .pool_frames = 512,
                                       .queue_frames = 1024,
                                       .link = {.rate_bps = a->rate_bps,
                                                .delay_ns = NOF_BULK_DELAY_NS,
                                                .buffer_bytes = (uint32_t)a->buffer_bytes},
                                       .nic = {.mtu_bytes = a->mtu_bytes,
                                               .link_rate_bps = a->rate_bps,
                                               .max_endpoints = 1,
                                               .max_paths = a->hosts,
                                               .max_peers = a->hosts,
                                               .max_jobs = 1,
                                               .max_sends = 4 * rounds + 64,
                                               .max_posted = 4 * rounds + 64,
                                               .max_envelopes = 6 * a->hosts,
                                               .max_layouts = 1,
                                               .max_schedules = 2 * (a->hosts / 24 + 2),
                                               .sent_frames = 1024,
                                               .reorder_frames = 64,

                                               .max_groups = 1,
                                               .netmem_bytes = a->hosts > 256 ? 10u << 18 : 2u << 20}};
}

/* One way to do it, cold and warm; warm also with cores that cost nothing (ideal_out, or NULL). */
static int measure(struct nof_sim_alltoall *a, enum way way, double *cold_out, double *warm_out,
                   double *ideal_out, uint64_t *drops_out)
{
    struct nof_cluster_config cfg;
    struct run r = {.a = a, .way = way};
    configure(a, &cfg);
    r.host = calloc(a->hosts, sizeof(*r.host));
    int status = r.host != NULL ? nof_cluster_create(&cfg, &r.cluster) : NOF_ENOMEM;
    for (unsigned i = 0; status == NOF_OK && i < a->hosts; i++)
        status = open_host(&r, i);
    if (status == NOF_OK) {
        introduce(&r);
        *cold_out = once(&r, false);
        *warm_out = once(&r, true);
        if (ideal_out != NULL) {
            nof_cluster_set_cost(r.cluster, 1, 0);
            *ideal_out = once(&r, true);
            nof_cluster_set_cost(r.cluster, NOF_BULK_IDLE_TURN_NS, a->core_ns);
            a->ping_us = beside(&r, *warm_out);
            a->ping_limit_us =
                1000 + 8e6 * (double)nof_nic_feature(nof_cluster_nic(r.cluster, 0), NOF_F_GRANT_BYTES) /
                           (double)a->rate_bps;
        }
        *drops_out = dropped(&r);
        a->mem_bytes = nof_nic_counters(nof_cluster_nic(r.cluster, 0))[NOF_C_MEM_BYTES];
        a->digest = nof_rng_mix(a->digest + r.digest);
        const char *why = nof_cluster_violation(r.cluster);
        if (why != NULL || *warm_out < 0)
            (void)snprintf(a->problem, sizeof(a->problem), "%u hosts: %s", a->hosts,
                           why != NULL ? why : "it does not come to an end");
    }
    for (unsigned i = 0; r.host != NULL && i < a->hosts; i++)
        nof_bulk_host_free(&r.host[i].bulk);
    free(r.host);
    nof_cluster_destroy(r.cluster);
    return status;
}

int nof_sim_run_alltoall(struct nof_sim_alltoall *a)
{
    double cold_us;
    uint32_t said = a->lookahead;
    a->problem[0] = '\0';
    if (said == 0)
        a->lookahead = 1;
    a->limit_us = (double)(a->hosts - 1) * (double)a->bytes * 8e6 / (double)a->rate_bps;
    int status = measure(a, PAIRWISE, &a->cold_us, &a->charged_us, &a->ideal_us, &a->drops);
    if (status == NOF_OK && a->compare && a->problem[0] == '\0')
        status = measure(a, BARRIER, &cold_us, &a->barrier_us, NULL, &a->barrier_drops);
    if (status == NOF_OK && a->compare && a->problem[0] == '\0')
        status = measure(a, UNSCHEDULED, &cold_us, &a->unscheduled_us, NULL, &a->unscheduled_drops);
    a->lookahead = said;
    return status;
}

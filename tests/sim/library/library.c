/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One seed of the simulator whose hosts run the MPI library itself. */
#include <stdlib.h>
#include <string.h>

#include "../grants.h"
#include "../sim.h"
#include "../wrap.h"
#include "copies.h"
#include "oracle.h"
#include "process.h"
#include "storm.h"

#define DELTA_SENDS \
    (4 * NOF_DELTA_SLOTS) /* per endpoint: its share is then enough for all that it may have */
#define MS 1000000ull
/* After all is healed, as for the model hosts (sim.c). */
#define PROGRESS_NS (30000 * MS)
#define ERRORS_NS (1000 * MS)
#define PARTITION_MAX_NS (400 * MS) /* nobody may take notice */
#define ABSENT_PERCENT 8u /* of the seeds with faults; nor of that, however long */
#define ABSENT_MAX_NS (20000 * MS)
#define ABSENT_APART_NS (20 * MS)
/* What a process may hold at a time: the library's own, its messages, and what it notes of each. */
#define HEAP_BYTES (512u << 10)
#define HEAP_PER_OPERATION_BYTES 2048u

struct run {
    struct nof_rng rng;
    struct nof_cluster *cluster;
    struct nof_fabric_link link;
    struct nof_program *program;
    struct nof_processes *processes;
    uint64_t partitions;
    bool lossy;
};

static uint64_t one_of(struct nof_rng *r, const uint64_t *from, unsigned n)
{
    return from[nof_rng_below(r, n)];
}
#define ONE_OF(r, ...) \
    one_of(r, (const uint64_t[]){__VA_ARGS__}, \
           (unsigned)(sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)))

/* Few ranks more often than many. */
static unsigned draw_ranks(struct nof_rng *r)
{
    return (unsigned)ONE_OF(r, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 8, 10, 12, 16, 24, 32);
}

static void configure_nic(struct nof_rng *r, struct nof_nic_config *nic, unsigned ranks, unsigned nnics)
{
    bool small = nof_rng_chance(r, 60);
    unsigned here = (ranks + nnics - 1) / nnics;
    nic->mtu_bytes = (uint32_t)ONE_OF(r, 576, 1500, 1500, 4096, 9000);
    nic->max_endpoints = here;
    nic->max_paths = 64;
    nic->max_jobs = 1;
    nic->max_peers = here * ranks;
    nic->max_layouts = (uint32_t)ONE_OF(r, 1, 4, 64);
    nic->max_sends = small ? (uint32_t)nof_rng_between(r, 8, 64) : DELTA_SENDS * (here > 4 ? here : 4);
    /* Every rank keeps one receive posted, for notices. */
    nic->max_posted = (small ? (uint32_t)nof_rng_between(r, 8, 96) : 4096) + 2 * here;
    nic->max_envelopes = small ? (uint32_t)nof_rng_between(r, 8, 96) : 2048;
    nic->window_frames = (uint32_t)ONE_OF(r, 32, 64, 256);
    nic->sent_frames = small ? 256 : 1024;
    nic->reorder_frames = small ? 32 : 256;
    nic->netmem_bytes = (small ? 1u << 20 : 4u << 20) + here * 65536u;
    nic->max_predictors = (uint32_t)ONE_OF(r, 1, 2, 8);
    nic->predictor_log2 = 8;
}

static void configure(struct nof_rng *r, struct nof_cluster_config *cfg, unsigned ranks)
{
    static const enum nof_fabric_multicast multicast[8] = {[3] = NOF_FABRIC_SNOOP,
                                                           [4] = NOF_FABRIC_SNOOP,
                                                           [5] = NOF_FABRIC_SNOOP,
                                                           [6] = NOF_FABRIC_SNOOP,
                                                           [7] = NOF_FABRIC_DROP}; /* else: FLOOD */
    cfg->nnics = (unsigned)nof_rng_between(r, 1, ranks < 8 ? ranks : 8);
    cfg->loop_ns = nof_rng_between(r, 300, 3000);
    cfg->pool_frames = 1024;
    cfg->queue_frames = (uint32_t)ONE_OF(r, 64, 256, 1024);
    cfg->tx_queue_bytes = (uint32_t)ONE_OF(r, 20000, 65536, 131072);
    cfg->link.rate_bps = ONE_OF(r, 0, 1000000000ull, 10000000000ull, 25000000000ull);
    cfg->link.delay_ns = nof_rng_between(r, 0, 50000);
    cfg->link.buffer_bytes = (uint32_t)nof_rng_between(r, 40000, 300000);
    configure_nic(r, &cfg->nic, ranks, cfg->nnics);
    cfg->nic.link_rate_bps = cfg->link.rate_bps;
    cfg->nic.max_groups = 4;
    cfg->link.multicast = multicast[nof_rng_mix(r->state ^ 0x9a0) % 8];
}

static void set_features(struct run *w)
{
    struct nof_rng *r = &w->rng;
    struct nof_rng aside = {.state = nof_rng_mix(w->rng.state ^ 0xc1ea4)};
    bool predict = nof_rng_chance(r, 30);
    const uint64_t value[][2] = {
        {NOF_F_EAGER_MAX, ONE_OF(r, 0, 1000, 16384, 16384, 65536)},
        {NOF_F_STAGE_MAX, ONE_OF(r, 0, 64, 8192, 8192, 16384)},
        {NOF_F_PACING, nof_rng_chance(r, 70)},
        {NOF_F_CONGESTION, nof_rng_chance(r, 80)},
        {NOF_F_ACK_DELAY, ONE_OF(r, 0, 50, 50, 1000)},
        {NOF_F_DRR_QUANTUM, ONE_OF(r, 1500, 32768, 131072)},
        {NOF_F_COMPRESSION, ONE_OF(r, 0, 1, 2)},
        {NOF_F_PREDICTION, predict ? nof_rng_between(r, 1, 5) : 0},
        {NOF_F_LOOKAHEAD, ONE_OF(r, 1, 8, 64)},
        {NOF_F_STAGE_BYTES, ONE_OF(r, 0, 5000, 40000, 262144)},
        {NOF_F_EARLY_BYTES, ONE_OF(r, 0, 70000, 1048576)},
        {NOF_F_GRANT_BYTES, ONE_OF(&aside, 0, 1, 5000, 28672, 28672, 150000)},
        {NOF_F_MULTICAST, 1}, /* where the job's key says so it is wanted */
        {NOF_F_GRANT_US, nof_rng_chance(&aside, 30) ? 50 : 0},
    };
    for (unsigned i = 0; i < nof_cluster_nnics(w->cluster); i++)
        for (unsigned k = 0; k < sizeof(value) / sizeof(value[0]); k++)
            if (nof_nic_feature_set(nof_cluster_nic(w->cluster, i), (enum nof_feature)value[k][0],
                                    value[k][1]) != NOF_OK)
                nof_cluster_fail(w->cluster, "a feature is refused");
}

static struct nof_processes_config draw_processes(struct run *w, bool near_wrap)
{
    struct nof_rng *r = &w->rng;
    struct nof_processes_config cfg = {
        .nnics = nof_cluster_nnics(w->cluster),
        .seed = nof_rng_next(r),
        .job_id = nof_rng_next(r) | 1,
        .submit_slots = (uint32_t)ONE_OF(r, 2, 7, 63, 255, 255),
        .complete_slots = (uint32_t)ONE_OF(r, 2, 7, 63, 255, 255),
        .staging_bytes = (uint32_t)ONE_OF(r, 0, 1024, 65536, 131072),
        .bounce_bytes = (uint32_t)ONE_OF(r, 0, 16384, 65536, 262144),
        .bounce_max_bytes = 16384,
        .spin_us = (uint32_t)ONE_OF(r, 0, 20),
        .dma_inline_percent = (unsigned)ONE_OF(r, 0, 40, 100),
        .dma_late_percent = (unsigned)ONE_OF(r, 0, 0, 10, 30),
        .doze_permille = (unsigned)ONE_OF(r, 0, 0, 2, 20),
        .near_wrap = near_wrap,
    };
    cfg.in_blocks = nof_rng_mix(cfg.seed) % 2 ==
                    0; /* of the seed, so that what is drawn for other things stays as it was */
    for (unsigned i = 0; i < sizeof(cfg.job_key); i++)
        cfg.job_key[i] = (uint8_t)nof_rng_next(r);
    return cfg;
}

static void frame_faults(struct run *w)
{
    struct nof_fabric *fabric = nof_cluster_fabric(w->cluster);
    bool each = nof_rng_chance(&w->rng, 50);
    struct nof_fabric_link link = w->link;
    for (unsigned i = 0; i < nof_cluster_nnics(w->cluster); i++) {
        if (i == 0 || each) {
            link.loss_ppm = nof_rng_chance(&w->rng, 60) ? (uint32_t)nof_rng_below(&w->rng, 150000) : 0;
            link.duplicate_ppm = nof_rng_chance(&w->rng, 35) ? (uint32_t)nof_rng_below(&w->rng, 200000) : 0;
            link.reorder_ppm = nof_rng_chance(&w->rng, 35) ? (uint32_t)nof_rng_below(&w->rng, 200000) : 0;
            link.corrupt_ppm = nof_rng_chance(&w->rng, 30) ? (uint32_t)nof_rng_below(&w->rng, 100000) : 0;
            link.reorder_ns = (uint32_t)nof_rng_between(&w->rng, 1000, 300000);
        }
        (void)nof_fabric_set_link(fabric, i, &link);
    }
}

static void stall(struct nof_cluster *c, void *user, uint64_t nic)
{
    struct run *w = user;
    nof_cluster_stall(c, (unsigned)nic, nof_rng_between(&w->rng, 10000, 20 * MS));
}

/* All NICs stand still at once, and go on nearly together; their hosts run. */
static void stand_still(struct nof_cluster *c, void *user, uint64_t for_ns)
{
    (void)user;
    for (unsigned i = 0; i < nof_cluster_nnics(c); i++)
        nof_cluster_stall(c, i, for_ns + nof_rng_mix(for_ns + i) % ABSENT_APART_NS);
}

/* Drawn beside the world's own numbers. */
static void plan_absence(struct run *w, uint64_t until_ns)
{
    struct nof_rng aside = {.state = nof_rng_mix(w->rng.state ^ 0xab5e)};
    if (w->program->mortal || !nof_rng_chance(&aside, ABSENT_PERCENT))
        return;
    nof_cluster_at(w->cluster, nof_rng_between(&aside, nof_cluster_now(w->cluster), until_ns), stand_still, w,
                   nof_rng_between(&aside, 100 * MS, ABSENT_MAX_NS));
}

static void join(struct nof_cluster *c, void *user, uint64_t arg)
{
    (void)user;
    (void)arg;
    for (unsigned i = 0; i < nof_cluster_nnics(c); i++)
        nof_fabric_set_group(nof_cluster_fabric(c), i, 0);
    nof_cluster_trace(c, "FAULT partition heals");
}

static void part(struct nof_cluster *c, void *user, uint64_t side)
{
    struct run *w = user;
    w->partitions++;
    for (unsigned i = 0; i < nof_cluster_nnics(c); i++)
        nof_fabric_set_group(nof_cluster_fabric(c), i, (unsigned)(side >> i & 1));
    nof_cluster_trace(c, "FAULT partition %llx", (unsigned long long)side);
    nof_cluster_at(c, nof_cluster_now(c) + nof_rng_between(&w->rng, MS, PARTITION_MAX_NS), join, w, 0);
}

static void plan_faults(struct run *w, uint64_t until_ns)
{
    struct nof_cluster *c = w->cluster;
    uint64_t now_ns = nof_cluster_now(c), nnics = nof_cluster_nnics(c);
    plan_absence(w, until_ns);
    if (nof_rng_chance(&w->rng, 60))
        frame_faults(w);
    for (uint64_t n = nof_rng_chance(&w->rng, 25) ? nof_rng_between(&w->rng, 1, 3) : 0; n > 0; n--)
        nof_cluster_at(c, nof_rng_between(&w->rng, now_ns, until_ns), stall, w,
                       nof_rng_below(&w->rng, nnics));
    if (nnics > 1 && nof_rng_chance(&w->rng, 10))
        nof_cluster_at(c, nof_rng_between(&w->rng, now_ns, until_ns), part, w,
                       nof_rng_between(&w->rng, 1, (1ull << nnics) - 2));
}

static void heal(struct run *w)
{
    nof_cluster_trace(w->cluster, "FAULT all healed");
    for (unsigned i = 0; i < nof_cluster_nnics(w->cluster); i++) {
        (void)nof_fabric_set_link(nof_cluster_fabric(w->cluster), i, &w->link);
        nof_fabric_set_group(nof_cluster_fabric(w->cluster), i, 0);
    }
    nof_processes_heal(w->processes);
}

static void stuck(struct run *w)
{
    char text[480];
    size_t n = 0;
    unsigned waiting = 0;
    for (unsigned i = 0; i < w->program->nranks; i++)
        waiting += !nof_process_ended(w->processes, i);
    n +=
        (size_t)snprintf(text, sizeof(text), "stuck: %u of %u ranks do not end", waiting, w->program->nranks);
    for (unsigned i = 0; i < w->program->nranks && n + 80 < sizeof(text); i++) {
        const struct nof_seam *s = nof_process_seam(w->processes, i);
        if (nof_process_ended(w->processes, i))
            continue;
        n += (size_t)snprintf(text + n, sizeof(text) - n, "; ");
        nof_oracle_stuck(w->program, i, text + n, sizeof(text) - n);
        n += strlen(text + n);
        if (s->spilling && n < sizeof(text))
            n += (size_t)snprintf(text + n, sizeof(text) - n, ", in spill mode for ever");
    }
    nof_cluster_fail(w->cluster, "%s", text);
}

/* Each part is an operation by itself. */
static uint64_t operation_bytes(enum nof_way way, unsigned parts)
{
    return (way == NOF_WAY_PARTS ? parts : 1ull) * HEAP_PER_OPERATION_BYTES;
}

/* A process held no more than its messages and what belongs to them. */
static void judge_memory(struct run *w)
{
    const struct nof_program *p = w->program;
    for (unsigned rank = 0; rank < p->nranks; rank++) {
        uint64_t bound = HEAP_BYTES + p->together_bytes;
        for (unsigned i = 0; i < p->nsent; i++) {
            const struct nof_sent *s = &p->sent[i];
            /* A message may wait at its sender, and once more in the receiver's matcher. */
            bound += (s->src == (int)rank) * (operation_bytes(s->way, s->parts) + 3ull * s->len);
            bound += (s->dst == (int)rank) * (operation_bytes(s->way, s->parts) + 1ull * s->len);
        }
        for (unsigned i = 0; i < p->nreceived; i++) {
            const struct nof_received *r = &p->received[i];
            bound += (r->dst == (int)rank) * (operation_bytes(r->way, r->parts) + 3ull * r->capacity);
        }
        const struct nof_seam *s = nof_process_seam(w->processes, rank);
        if (s->heap_peak_bytes > bound)
            nof_cluster_fail(w->cluster, "rank%u: the library held %zu bytes, where %llu are enough", rank,
                             s->heap_peak_bytes, (unsigned long long)bound);
    }
}

static void judge_nics(struct run *w)
{
    for (unsigned i = 0; i < nof_cluster_nnics(w->cluster); i++) {
        uint64_t left = nof_nic_counters(nof_cluster_nic(w->cluster, i))[NOF_C_NETMEM_BYTES];
        if (left != 0)
            nof_cluster_fail(w->cluster, "NIC %u is quiet and keeps %llu bytes of network memory", i,
                             (unsigned long long)left);
    }
}

static bool quiet(void *user)
{
    const struct run *w = user;
    return nof_cluster_quiet(w->cluster);
}

/* Where frames are not lost, who still needs something of a process that was killed has its error in a second. */
static void judge_end(struct run *w)
{
    uint64_t took_ns = w->program->end_ns - w->program->death_ns;
    if (w->program->death_ns > 0 && w->program->end_ns > w->program->death_ns && !w->lossy &&
        took_ns > ERRORS_NS)
        nof_cluster_fail(w->cluster, "a process was killed, and the others end after %llu ms",
                         (unsigned long long)(took_ns / MS));
}

static void run_phases(struct run *w)
{
    struct nof_cluster *c = w->cluster;
    uint64_t until_ns = nof_cluster_now(c) + nof_rng_between(&w->rng, MS / 2, 30 * MS);
    w->lossy = !w->program->mortal || nof_rng_chance(&w->rng, 50);
    if (w->lossy)
        plan_faults(w, until_ns);
    bool ended = nof_cluster_run(c, until_ns, nof_processes_ended, w->processes);
    heal(w);
    if (!ended)
        ended = nof_cluster_run(c, nof_cluster_now(c) + PROGRESS_NS, nof_processes_ended, w->processes);
    if (nof_cluster_violation(c) != NULL)
        return;
    if (!ended) {
        stuck(w);
        return;
    }
    judge_end(w);
    nof_oracle_judge(c, w->program);
    judge_memory(w);
    if (!nof_cluster_run(c, nof_cluster_now(c) + PROGRESS_NS, quiet, w))
        nof_cluster_fail(c, "all ranks have ended, and the NICs do not come to rest");
    judge_nics(w);
    if (nof_cluster_violation(c) == NULL)
        nof_cluster_fini(c);
}

static void report(const struct run *w, struct nof_sim_result *out)
{
    struct nof_cluster_faults f = nof_cluster_faults(w->cluster);
    const char *violation = nof_cluster_violation(w->cluster);
    out->ok = violation == NULL;
    (void)snprintf(out->violation, sizeof(out->violation), "%s", violation != NULL ? violation : "");
    out->digest = nof_processes_digest(w->processes);
    for (unsigned i = 0; i < w->program->nreceived; i++) {
        const struct nof_received *r = &w->program->received[i];
        out->messages += r->done && !r->cancelled;
        out->bytes += r->done && !r->cancelled ? r->got_len : 0;
    }
    out->lost = f.lost;
    out->duplicated = f.duplicated;
    out->reordered = f.reordered;
    out->corrupted = f.corrupted;
    out->core_stalls = f.stalls;
    out->pulls_refused = f.pulls_refused;
    out->partitions = w->partitions;
}

void nof_sim_library_prepare(void)
{
    nof_copies_prepare();
}

const char *nof_sim_library_absent(void)
{
    return NULL;
}

static void run(uint64_t seed, bool mortal, FILE *trace, struct nof_sim_result *result_out)
{
    struct run w = {.rng = {.state = nof_rng_mix(seed + (mortal ? 0xdead : 0x11b5))}};
    struct nof_cluster_config cfg = {
        .seed = nof_rng_next(&w.rng), .trace = trace, .near_wrap = nof_wrap_of_seed(seed)};
    *result_out = (struct nof_sim_result){.seed = seed};
    unsigned ranks = draw_ranks(&w.rng);
    configure(&w.rng, &cfg, ranks);
    w.link = cfg.link;
    int status = nof_cluster_create(&cfg, &w.cluster);
    if (status != NOF_OK) {
        (void)snprintf(result_out->violation, sizeof(result_out->violation), "the cluster does not start: %s",
                       nof_strstatus(status));
        return;
    }
    set_features(&w);
    w.program = mortal ? nof_storm_draw_mortal(&w.rng, ranks) : nof_storm_draw(&w.rng, ranks);
    struct nof_processes_config processes = draw_processes(&w, cfg.near_wrap != 0);
    w.processes = nof_processes_create(w.cluster, &processes, w.program, result_out->violation,
                                       sizeof(result_out->violation));
    if (w.processes != NULL) {
        run_phases(&w);
        report(&w, result_out);
        nof_processes_destroy(w.processes);
    }
    nof_storm_free(w.program);
    nof_cluster_destroy(w.cluster);
}

void nof_sim_run_library(uint64_t seed, FILE *trace, struct nof_sim_result *result_out)
{
    run(seed, false, trace, result_out);
}

void nof_sim_run_deaths(uint64_t seed, FILE *trace, struct nof_sim_result *result_out)
{
    run(seed, true, trace, result_out);
}

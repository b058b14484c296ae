/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One seed from begin to end. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

#include "world.h"
#include "wrap.h"

#define MS 1000000ull
/* After all is healed: ten times dead_after, and the time of a full back-off. */
#define PROGRESS_NS (30000 * MS)

static uint64_t one_of(struct nof_rng *r, const uint64_t *from, unsigned n)
{
    return from[nof_rng_below(r, n)];
}
#define ONE_OF(r, ...) \
    one_of(r, (const uint64_t[]){__VA_ARGS__}, \
           (unsigned)(sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)))

/* Small stores make queues full, envelopes spill and sends park. */
static void configure_nic(struct nof_rng *r, struct nof_nic_config *nic)
{
    bool small = nof_rng_chance(r, 50);
    nic->mtu_bytes = (uint32_t)ONE_OF(r, 576, 1500, 1500, 4096, 9000);
    nic->max_endpoints = 8;
    nic->max_paths = 64;
    nic->max_jobs = 4;
    nic->max_peers = 512;
    nic->max_layouts = 64;
    nic->max_sends = small ? (uint32_t)nof_rng_between(r, 8, 64) : 512;
    nic->max_posted = small ? (uint32_t)nof_rng_between(r, 8, 64) : 1024;
    nic->max_envelopes = small ? (uint32_t)nof_rng_between(r, 8, 64) : 1024;
    nic->window_frames = (uint32_t)ONE_OF(r, 32, 64, 256);
    nic->sent_frames = small ? 256 : 1024;
    nic->reorder_frames = small ? 32 : 256;
    nic->netmem_bytes = small ? 1u << 20 : 4u << 20;
}

static void configure(struct nof_rng *r, struct nof_cluster_config *cfg)
{
    cfg->nnics = (unsigned)nof_rng_between(r, 3, 8);
    cfg->loop_ns = nof_rng_between(r, 300, 3000);
    cfg->pool_frames = 1024;
    cfg->queue_frames = (uint32_t)ONE_OF(r, 64, 256, 1024);
    cfg->tx_queue_bytes = (uint32_t)ONE_OF(r, 20000, 65536, 131072);
    cfg->link.rate_bps = ONE_OF(r, 0, 1000000000ull, 1000000000ull, 10000000000ull, 25000000000ull);
    cfg->link.delay_ns = nof_rng_between(r, 0, 50000);
    cfg->link.buffer_bytes = (uint32_t)nof_rng_between(r, 40000, 300000);
    configure_nic(r, &cfg->nic);
    cfg->nic.link_rate_bps = cfg->link.rate_bps;
}

/* 1, 2 or 4 cores on each of two or three NICs, and rings so short that they fill; drawn beside the world's own numbers. */
static void configure_cores(uint64_t seed, struct nof_cluster_config *cfg)
{
    struct nof_rng aside = {.state = nof_rng_mix(seed + 0xc0e5)};
    cfg->cores = (unsigned)ONE_OF(&aside, 1, 2, 2, 4);
    cfg->nnics =
        cfg->cores * (unsigned)nof_rng_between(&aside, cfg->cores == 1 ? 3 : 2, cfg->cores == 4 ? 2 : 4);
    cfg->queue_frames = (uint32_t)ONE_OF(&aside, 8, 16, 32, 256);
    cfg->link.rate_bps /= cfg->cores;
    cfg->nic.link_rate_bps = cfg->link.rate_bps;
    /* What goes straight fills rings at once. */
    if (nof_rng_chance(&aside, 40)) {
        cfg->link = (struct nof_fabric_link){0};
        cfg->nic.link_rate_bps = 0;
    }
}

/* The codec draws from a generator of its own, so that a seed's traffic and faults do not depend on it. */
static void configure_codec(struct nof_rng *r, struct nof_nic_config *nic)
{
    nic->max_predictors = (uint32_t)ONE_OF(r, 1, 2, 3, 8);
    nic->predictor_log2 = (uint32_t)ONE_OF(r, 8, 10);
    nic->predictor_idle_ns = ONE_OF(r, 1, 20000, 500000, 100 * MS);
}

static void set_codec(struct nof_world *w, struct nof_nic *nic)
{
    struct nof_rng *r = &w->codec_rng;
    if (nof_nic_feature_set(nic, NOF_F_COMPRESSION, ONE_OF(r, 0, 1, 1, 1, 2)) != NOF_OK ||
        nof_nic_feature_set(nic, NOF_F_COMPRESSION_MIN, ONE_OF(r, 64, 1024, 1024, 20000)) != NOF_OK ||
        nof_nic_feature_set(nic, NOF_F_COMPRESSION_TABLE, ONE_OF(r, 8, 9, 15)) != NOF_OK)
        nof_cluster_fail(w->cluster, "a feature of the codec is refused");
}

static void toggle(struct nof_cluster *c, void *user, uint64_t arg)
{
    set_codec(user, nof_cluster_nic(c, (unsigned)arg));
}

static void plan_codec(struct nof_world *w)
{
    unsigned nnics = nof_cluster_nnics(w->cluster);
    uint64_t now_ns = nof_cluster_now(w->cluster);
    uint64_t span_ns = w->traffic_until_ns - now_ns;
    for (unsigned i = 0; i < nnics; i++)
        set_codec(w, nof_cluster_nic(w->cluster, i));
    for (uint64_t n = nof_rng_below(&w->codec_rng, 12); n > 0; n--)
        nof_cluster_at(w->cluster, now_ns + nof_rng_below(&w->codec_rng, span_ns), toggle, w,
                       nof_rng_below(&w->codec_rng, nnics));
}

static void set_features(struct nof_world *w)
{
    struct nof_rng *r = &w->rng;
    uint64_t eager = ONE_OF(r, 0, 1000, 16384, 16384, 65536);
    uint64_t stage = ONE_OF(r, 0, 64, 8192, 8192, 16384);
    uint64_t pacing = nof_rng_chance(r, 70);
    uint64_t congestion = nof_rng_chance(r, 80);
    uint64_t ack_delay = ONE_OF(r, 0, 50, 50, 1000);
    uint64_t quantum = ONE_OF(r, 1500, 32768, 131072);
    for (unsigned i = 0; i < nof_cluster_nnics(w->cluster); i++) {
        struct nof_nic *nic = nof_cluster_nic(w->cluster, i);
        if (nof_nic_feature_set(nic, NOF_F_EAGER_MAX, eager) != NOF_OK ||
            nof_nic_feature_set(nic, NOF_F_STAGE_MAX, stage) != NOF_OK ||
            nof_nic_feature_set(nic, NOF_F_PACING, pacing) != NOF_OK ||
            nof_nic_feature_set(nic, NOF_F_CONGESTION, congestion) != NOF_OK ||
            nof_nic_feature_set(nic, NOF_F_ACK_DELAY, ack_delay) != NOF_OK ||
            nof_nic_feature_set(nic, NOF_F_DRR_QUANTUM, quantum) != NOF_OK)
            nof_cluster_fail(w->cluster, "a feature is refused");
    }
}

/* Prediction and what it leads to. Drawn beside the world's own numbers: a world without it is the one that
 * its seed has always made. */
static void set_prediction(struct nof_world *w)
{
    struct nof_rng aside = {.state = nof_rng_mix(w->rng.state ^ 0x57a6e)};
    struct nof_rng *r = &aside;
    if (nof_rng_chance(r, 30))
        return;
    w->cycles = (unsigned)nof_rng_between(r, 1, 6);
    w->tiny_staging = nof_rng_chance(r, 30);
    const uint64_t value[][2] = {
        {NOF_F_PREDICTION, nof_rng_between(r, 1, 5)},
        {NOF_F_LOOKAHEAD, ONE_OF(r, 1, 3, 8, 8, 64)},
        {NOF_F_STAGE_BYTES, ONE_OF(r, 0, 256, 5000, 9000, 15000, 40000, 262144, 67108864)},
        {NOF_F_EARLY_BYTES, ONE_OF(r, 0, 70000, 1048576, 67108864)},
        {NOF_F_STAGE_POLICY, nof_rng_below(r, 2)},
        {NOF_F_DECODE, nof_rng_below(r, 3)},
        {NOF_F_DEFERRED_BYTES, ONE_OF(r, 0, 3000, 20000, 262144)},
    };
    for (unsigned i = 0; i < nof_cluster_nnics(w->cluster); i++)
        for (unsigned k = 0; k < sizeof(value) / sizeof(value[0]); k++)
            if (nof_nic_feature_set(nof_cluster_nic(w->cluster, i), (enum nof_feature)value[k][0],
                                    value[k][1]) != NOF_OK)
                nof_cluster_fail(w->cluster, "a feature is refused");
}

/* What senders may have under way. Drawn beside the world's own numbers, as above. */
static void set_clearance(struct nof_world *w)
{
    struct nof_rng aside = {.state = nof_rng_mix(w->rng.state ^ 0xc1ea4)};
    uint64_t bytes = ONE_OF(&aside, 0, 1, 5000, 28672, 28672, 150000);
    uint64_t us = nof_rng_chance(&aside, 30) ? 50 : 0;
    for (unsigned i = 0; i < nof_cluster_nnics(w->cluster); i++)
        if (nof_nic_feature_set(nof_cluster_nic(w->cluster, i), NOF_F_GRANT_BYTES, bytes) != NOF_OK ||
            nof_nic_feature_set(nof_cluster_nic(w->cluster, i), NOF_F_GRANT_US, us) != NOF_OK)
            nof_cluster_fail(w->cluster, "a feature is refused");
}

static void populate(struct nof_world *w)
{
    unsigned per_nic = (unsigned)nof_rng_between(&w->rng, 2, 4);
    unsigned njobs = nof_rng_chance(&w->rng, 30) ? 2 : 1;
    unsigned total = per_nic * nof_cluster_nnics(w->cluster);
    unsigned nics = nof_cluster_nnics(w->cluster);
    if (w->locals) { /* close together */
        nics = (unsigned)nof_rng_between(&w->local_rng, 2, 3);
        total = total < 6 * nics ? total : 6 * nics;
    }
    for (unsigned k = 0; k < njobs; k++) {
        struct nof_job *job = nof_world_job(w);
        job->size = total / njobs + (k < total % njobs ? 1 : 0);
        for (unsigned i = 0; i < job->size; i++) {
            unsigned nic = (i * njobs + k) % nics;
            (void)nof_rank_create(w, job, (int32_t)i, nic);
        }
    }
}

static void run_phases(struct nof_world *w)
{
    struct nof_cluster *c = w->cluster;
    uint64_t begin_ns = nof_cluster_now(c);
    w->traffic_until_ns = begin_ns + nof_rng_between(&w->rng, MS / 2, 30 * MS);
    plan_codec(w);
    nof_faults_plan(w);
    nof_workload_plan(w, (unsigned)nof_rng_between(&w->rng, 310, 420));
    (void)nof_cluster_run(c, w->traffic_until_ns, NULL, NULL);
    nof_faults_heal(w);
    nof_workload_drain(w);
    bool finished = nof_cluster_run(c, nof_cluster_now(c) + PROGRESS_NS, nof_workload_finished, w);
    if (!finished && nof_cluster_violation(c) == NULL) {
        char text[400];
        nof_workload_stuck(w, text, sizeof(text));
        nof_cluster_fail(c, "%s", text);
    }
    w->phase = NOF_PHASE_END;
    if (nof_cluster_violation(c) == NULL)
        nof_verify(w);
    if (nof_cluster_violation(c) == NULL)
        nof_cluster_fini(c);
}

static void report(const struct nof_world *w, struct nof_sim_result *out)
{
    struct nof_cluster_faults f = nof_cluster_faults(w->cluster);
    const char *violation = nof_cluster_violation(w->cluster);
    out->ok = violation == NULL;
    (void)snprintf(out->violation, sizeof(out->violation), "%s", violation != NULL ? violation : "");
    out->digest = w->digest;
    for (unsigned i = 0; i < w->nmessages; i++)
        out->messages += w->message[i]->submitted;
    out->bytes = w->bytes;
    out->lost = f.lost;
    out->duplicated = f.duplicated;
    out->reordered = f.reordered;
    out->corrupted = f.corrupted;
    out->partitions = w->partitions;
    out->restarts = f.restarts;
    out->core_stalls = f.stalls;
    out->rings_full = f.rings_full;
    out->pulls_refused = f.pulls_refused;
}

static void destroy(struct nof_world *w)
{
    for (unsigned i = 0; i < w->nranks; i++)
        nof_rank_destroy(w->rank[i]);
    for (unsigned i = 0; i < w->njobs; i++)
        free(w->job[i]);
    for (unsigned i = 0; i < w->nmessages; i++)
        free(w->message[i]);
    nof_lane_clear(w);
    free(w->message);
    nof_cluster_destroy(w->cluster);
    for (unsigned i = 0; i < sizeof(w->pool) / sizeof(w->pool[0]); i++) {
        while (w->pool[i] != NULL) {
            uint8_t *mem = w->pool[i];
            memcpy(&w->pool[i], mem, sizeof(w->pool[i]));
            free(mem);
        }
    }
    free(w);
}

static void run(uint64_t seed, bool with_cores, FILE *trace, struct nof_sim_result *result_out)
{
    *result_out = (struct nof_sim_result){.seed = seed};
    struct nof_world *w = calloc(1, sizeof(*w));
    if (w == NULL)
        abort();
    w->rng.state = nof_rng_mix(seed + 0x5eed);
    struct nof_cluster_config cfg = {
        .seed = nof_rng_next(&w->rng), .trace = trace, .near_wrap = nof_wrap_of_seed(seed)};
    configure(&w->rng, &cfg);
    if (with_cores)
        configure_cores(seed, &cfg);
    w->codec_rng.state = nof_rng_mix(seed + 0xdfc3);
    configure_codec(&w->codec_rng, &cfg.nic);
    w->link = cfg.link;
    int status = nof_cluster_create(&cfg, &w->cluster);
    if (status != NOF_OK) {
        (void)snprintf(result_out->violation, sizeof(result_out->violation), "the cluster does not start: %s",
                       nof_strstatus(status));
        free(w);
        return;
    }
    set_features(w);
    set_prediction(w);
    set_clearance(w);
    nof_delta_plan(w);
    nof_lane_plan(w, seed);
    populate(w);
    run_phases(w);
    report(w, result_out);
    destroy(w);
}

void nof_sim_run(uint64_t seed, FILE *trace, struct nof_sim_result *result_out)
{
    run(seed, false, trace, result_out);
}

void nof_sim_run_cores(uint64_t seed, FILE *trace, struct nof_sim_result *result_out)
{
    run(seed, true, trace, result_out);
}

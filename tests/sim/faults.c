/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What goes wrong and when. Each seed draws at least two kinds; heal() undoes all of them. */
#include <string.h>

#include "world.h"

enum kind {
    LOSS,
    DUPLICATION,
    REORDERING,
    CORRUPTION,
    CLOG, /* a link is slow and its buffer small for a while */
    PARTITION_SHORT,
    PARTITION_LONG,
    STALL,
    RING_FULL, /* a host does not reap for a while */
    DMA_LATE,
    FAULTY_BUFFERS,
    RESTART,
    ENDPOINT_DEATH,
    UNPLUG,
    KINDS
};

#define MS 1000000ull
/* Healed within this, a fault must not be seen by anybody: less than our own link may be down. */
#define SHORT_MAX_NS (400 * MS)
#define LONG_MIN_NS (2500 * MS)
#define ABSENT_PERCENT 8u /* of the seeds */
#define ABSENT_MAX_NS (60000 * MS)
#define ABSENT_APART_NS (20 * MS)

static uint64_t some_time(struct nof_world *w)
{
    uint64_t now_ns = nof_cluster_now(w->cluster);
    return nof_rng_between(&w->rng, now_ns, w->traffic_until_ns);
}

static void extend(struct nof_world *w, uint64_t until_ns)
{
    if (until_ns > w->traffic_until_ns)
        w->traffic_until_ns = until_ns;
}

static void frame_faults(struct nof_world *w, enum kind kind)
{
    unsigned only = (unsigned)nof_rng_below(&w->rng, 2 * nof_cluster_nnics(w->cluster));
    uint32_t ppm = (uint32_t)nof_rng_between(&w->rng, 1000, 200000);
    for (unsigned i = 0; i < nof_cluster_nnics(w->cluster); i++) {
        if (only < nof_cluster_nnics(w->cluster) && i != only)
            continue;
        struct nof_fabric_link link = nof_fabric_link(nof_cluster_fabric(w->cluster), i);
        if (kind == LOSS)
            link.loss_ppm = ppm;
        else if (kind == DUPLICATION)
            link.duplicate_ppm = ppm;
        else if (kind == REORDERING)
            link.reorder_ppm = ppm;
        else
            link.corrupt_ppm = ppm / 2;
        link.reorder_ns = (uint32_t)nof_rng_between(&w->rng, 1000, 300000);
        (void)nof_fabric_set_link(nof_cluster_fabric(w->cluster), i, &link);
    }
}

static void unclog(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_world *w = user;
    struct nof_fabric_link link = nof_fabric_link(nof_cluster_fabric(c), (unsigned)arg);
    link.rate_bps = w->link.rate_bps;
    link.buffer_bytes = w->link.buffer_bytes;
    (void)nof_fabric_set_link(nof_cluster_fabric(c), (unsigned)arg, &link);
}

static void clog_link(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_world *w = user;
    struct nof_fabric_link link = nof_fabric_link(nof_cluster_fabric(c), (unsigned)arg);
    link.rate_bps = nof_rng_between(&w->rng, 20, 200) * 1000000;
    link.buffer_bytes = (uint32_t)nof_rng_between(&w->rng, 10000, 60000);
    (void)nof_fabric_set_link(nof_cluster_fabric(c), (unsigned)arg, &link);
    nof_cluster_trace(c, "nic%u FAULT link is clogged", (unsigned)arg);
    nof_cluster_at(c, nof_cluster_now(c) + nof_rng_below(&w->rng, 20 * MS), unclog, w, arg);
}

static void heal_groups(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_world *w = user;
    (void)arg;
    w->long_side = 0;
    for (unsigned i = 0; i < nof_cluster_nnics(c); i++)
        nof_fabric_set_group(nof_cluster_fabric(c), i, 0);
    nof_cluster_trace(c, "FAULT partition heals");
}

/* The NIC that has this core: nothing parts its cores. */
static unsigned nic_of(const struct nof_cluster *c, unsigned core)
{
    return core / nof_cluster_cores(c);
}

static unsigned nics(const struct nof_cluster *c)
{
    return nof_cluster_nnics(c) / nof_cluster_cores(c);
}

static void suspect_groups(struct nof_world *w, uint64_t side)
{
    for (unsigned a = 0; a < w->nranks; a++) {
        for (unsigned b = 0; b < w->nranks; b++) {
            if ((side >> nic_of(w->cluster, w->rank[a]->nic) & 1) !=
                (side >> nic_of(w->cluster, w->rank[b]->nic) & 1))
                w->suspect[a][b] = true;
        }
    }
}

/* arg: bit mask of the NICs on one side, bit 63: a long one */
static void partition(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_world *w = user;
    bool lasting = (arg >> 63) != 0;
    uint64_t for_ns = lasting ? LONG_MIN_NS : nof_rng_between(&w->rng, MS, SHORT_MAX_NS);
    w->partitions++;
    for (unsigned i = 0; i < nof_cluster_nnics(c); i++)
        nof_fabric_set_group(nof_cluster_fabric(c), i, (unsigned)(arg >> nic_of(c, i) & 1));
    if (lasting) {
        w->long_side = arg & ~(1ull << 63);
        suspect_groups(w, w->long_side);
    }
    nof_cluster_trace(c, "FAULT partition %llx for %.1f ms", (unsigned long long)arg, (double)for_ns / 1e6);
    nof_cluster_at(c, nof_cluster_now(c) + for_ns, heal_groups, w, 0);
}

static void plan_partition(struct nof_world *w, bool lasting)
{
    unsigned n = nics(w->cluster);
    uint64_t side = nof_rng_between(&w->rng, 1, (1ull << n) - 2);
    uint64_t at_ns = some_time(w);
    extend(w, at_ns + (lasting ? LONG_MIN_NS : SHORT_MAX_NS));
    nof_cluster_at(w->cluster, at_ns, partition, w, side | (lasting ? 1ull << 63 : 0));
}

static void plug(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_world *w = user;
    w->long_down &= ~(1ull << nic_of(c, (unsigned)arg));
    nof_cluster_set_link_up(c, (unsigned)arg, true);
}

/* arg: the NIC, bit 63: for long */
static void unplug(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_world *w = user;
    bool lasting = (arg >> 63) != 0;
    unsigned nic = (unsigned)(arg & 0xffff);
    uint64_t for_ns = lasting ? LONG_MIN_NS : nof_rng_between(&w->rng, MS, SHORT_MAX_NS);
    nof_cluster_set_link_up(c, nic, false);
    if (lasting) {
        w->long_down |= 1ull << nic_of(c, nic);
        suspect_groups(w, 1ull << nic_of(c, nic));
    }
    nof_cluster_at(c, nof_cluster_now(c) + for_ns, plug, w, nic);
}

static void plan_unplug(struct nof_world *w, uint64_t nic)
{
    bool lasting = nof_rng_chance(&w->rng, 30);
    uint64_t at_ns = some_time(w);
    extend(w, at_ns + (lasting ? LONG_MIN_NS : SHORT_MAX_NS));
    nof_cluster_at(w->cluster, at_ns, unplug, w, nic | (lasting ? 1ull << 63 : 0));
}

static void stall(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_world *w = user;
    nof_cluster_stall(c, (unsigned)arg, nof_rng_between(&w->rng, 10000, 300 * MS));
}

/* All stand still at once, as when their machine sleeps, and go on nearly together: nobody may take notice. */
static void stand_still(struct nof_cluster *c, void *user, uint64_t for_ns)
{
    (void)user;
    for (unsigned i = 0; i < nof_cluster_nnics(c); i++)
        nof_cluster_stall(c, i, for_ns + nof_rng_mix(for_ns + i) % ABSENT_APART_NS);
}

/* Drawn beside the world's own numbers. From 0.1 s on, short ones as often as long ones. */
static void plan_absence(struct nof_world *w)
{
    struct nof_rng aside = {.state = nof_rng_mix(w->rng.state ^ 0xab5e)};
    if (!nof_rng_chance(&aside, ABSENT_PERCENT))
        return;
    uint64_t at_ns = nof_rng_between(&aside, nof_cluster_now(w->cluster), w->traffic_until_ns);
    uint64_t most_ns = 200 * MS << nof_rng_below(&aside, 10);
    uint64_t for_ns = nof_rng_between(&aside, 100 * MS, most_ns < ABSENT_MAX_NS ? most_ns : ABSENT_MAX_NS);
    extend(w, at_ns + for_ns + ABSENT_APART_NS);
    nof_cluster_at(w->cluster, at_ns, stand_still, w, for_ns);
}

static void stop_reaping(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_world *w = user;
    struct nof_rank *r = w->rank[arg];
    r->clogged_until_ns = nof_cluster_now(c) + nof_rng_below(&w->rng, 30 * MS);
    nof_cluster_trace(c, "%s FAULT does not reap for a while", r->name);
}

static void die(struct nof_cluster *c, void *user, uint64_t arg)
{
    (void)c;
    struct nof_world *w = user;
    nof_rank_kill(w->rank[arg], nof_rng_chance(&w->rng, 50) ? NOF_EPEERDEAD : NOF_OK);
}

/* After a restart: a new job over all NICs, the new one included, must work. */
static void respawn(struct nof_world *w)
{
    unsigned n = nof_cluster_nnics(w->cluster);
    if (w->njobs == NOF_WORLD_JOBS_MAX || w->nranks + n > NOF_WORLD_RANKS_MAX || w->respawned)
        return;
    w->respawned = true;
    struct nof_job *job = nof_world_job(w);
    job->size = n;
    for (unsigned i = 0; i < n; i++)
        (void)nof_rank_create(w, job, (int32_t)i, i);
    suspect_groups(w, w->long_side);
    for (unsigned i = 0; i < n; i++)
        suspect_groups(w, w->long_down & 1ull << i);
    for (unsigned i = 0; i < 3 * n; i++) {
        struct nof_rank *a = job->rank[nof_rng_below(&w->rng, n)];
        struct nof_rank *b = job->rank[nof_rng_below(&w->rng, n)];
        (void)nof_rank_send(a, nof_world_message(w, a, b));
    }
}

static void restart(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_world *w = user;
    for (unsigned i = 0; i < w->nranks; i++) {
        if (w->rank[i]->nic == arg)
            nof_rank_lose(w->rank[i]);
    }
    nof_cluster_restart(c, (unsigned)arg);
    respawn(w);
}

static void plan_kind(struct nof_world *w, enum kind kind)
{
    struct nof_cluster *c = w->cluster;
    unsigned nic = (unsigned)nof_rng_below(&w->rng, nof_cluster_nnics(c));
    uint64_t rank = nof_rng_below(&w->rng, w->nranks);
    switch (kind) {
    case LOSS:
    case DUPLICATION:
    case REORDERING:
    case CORRUPTION:
        frame_faults(w, kind);
        break;
    case CLOG:
        for (unsigned i = 0; i < 3; i++)
            nof_cluster_at(c, some_time(w), clog_link, w, nof_rng_below(&w->rng, nof_cluster_nnics(c)));
        break;
    case PARTITION_SHORT:
        plan_partition(w, false);
        break;
    case PARTITION_LONG:
        plan_partition(w, true);
        break;
    case STALL:
        /* Of different NICs: one after the other they could be as long as death. */
        for (unsigned i = 0; i < 3; i++)
            nof_cluster_at(c, some_time(w), stall, w, (nic + i) % nof_cluster_nnics(c));
        break;
    case RING_FULL:
        for (unsigned i = 0; i < 3; i++)
            nof_cluster_at(c, some_time(w), stop_reaping, w, nof_rng_below(&w->rng, w->nranks));
        break;
    case DMA_LATE:
        w->dma_late_percent = (unsigned)nof_rng_between(&w->rng, 2, 30);
        break;
    case FAULTY_BUFFERS:
        w->faulty_percent = (unsigned)nof_rng_between(&w->rng, 1, 4);
        break;
    case RESTART:
        nof_cluster_at(c, some_time(w), restart, w, nic);
        break;
    case ENDPOINT_DEATH:
        nof_cluster_at(c, some_time(w), die, w, rank);
        break;
    case UNPLUG:
        plan_unplug(w, nic);
        break;
    case KINDS:
        break;
    }
}

void nof_faults_plan(struct nof_world *w)
{
    /* Percent of the seeds. */
    static const unsigned percent[KINDS] = {
        [LOSS] = 60,    [DUPLICATION] = 35,     [REORDERING] = 35,    [CORRUPTION] = 30, [CLOG] = 20,
        [STALL] = 25,   [PARTITION_SHORT] = 15, [PARTITION_LONG] = 8, [RING_FULL] = 25,  [DMA_LATE] = 30,
        [RESTART] = 10, [FAULTY_BUFFERS] = 10,  [ENDPOINT_DEATH] = 8, [UNPLUG] = 6};
    unsigned chosen = 0;
    plan_absence(w);
    while (w->fault_kinds < 2) {
        for (unsigned k = 0; k < KINDS; k++) {
            if ((chosen >> k & 1) != 0 || !nof_rng_chance(&w->rng, percent[k]))
                continue;
            chosen |= 1u << k;
            w->fault_kinds++;
            plan_kind(w, (enum kind)k);
        }
    }
}

void nof_faults_heal(struct nof_world *w)
{
    struct nof_cluster *c = w->cluster;
    nof_cluster_trace(c, "FAULT all healed");
    for (unsigned i = 0; i < nof_cluster_nnics(c); i++) {
        (void)nof_fabric_set_link(nof_cluster_fabric(c), i, &w->link);
        nof_fabric_set_group(nof_cluster_fabric(c), i, 0);
        if (!nof_fabric_is_up(nof_cluster_fabric(c), i))
            nof_cluster_set_link_up(c, i, true);
    }
    w->dma_late_percent = 0;
}

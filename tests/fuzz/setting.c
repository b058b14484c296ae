/* SPDX-License-Identifier: BSD-3-Clause */
#include "setting.h"

#include "nic.h"
#include "transport/state.h"

#define WRAP_OBJECTS 24u /* of each pool that have been used so often */

struct world_config setting_config(struct guard *g, uint8_t which, unsigned nics)
{
    static const size_t staging[] = {16384, SIZE_MAX};
    static const uint64_t netmem[] = {9 * 65536, 3 * 65536}; /* the second: there is never any to lend */
    return (struct world_config){.nics = nics,
                                 .mtu = 1500,
                                 .dma_inline = which % 3 != 0,
                                 .dma_read_late = which % 3 == 2,
                                 .seed = 3,
                                 .staging_bytes = staging[which / 3 % 2],
                                 .delta = 1,
                                 .arena_bytes = GUARD_ARENA,
                                 .area_bytes = GUARD_AREA,
                                 .watch = &guard_watch,
                                 .ctx = g,
                                 .nic = {.max_endpoints = 3,
                                         .max_paths = 8,
                                         .max_peers = 16,
                                         .max_jobs = 2,
                                         .max_sends = 32,
                                         .max_posted = 24,
                                         .max_envelopes = 64,
                                         .max_layouts = 8,
                                         .max_schedules = 4,
                                         .max_groups = 4,
                                         .window_frames = 32,
                                         .sent_frames = 128,
                                         .reorder_frames = 16,
                                         .predict_calls = 16,
                                         .netmem_bytes = netmem[which / 3 % 2]}};
}

int setting_wraps(uint8_t which)
{
    return which / 6 % 2;
}

static void wrap_pool(struct nof_pool *pool)
{
    uint32_t n = 0;
    uint32_t taken[WRAP_OBJECTS];
    while (n < WRAP_OBJECTS && (taken[n] = nof_pool_take(pool)) != NOF_NIL)
        n++;
    while (n > 0) {
        nof_pool_obj(pool, taken[--n])->gen = NOF_GEN_MAX - 2;
        nof_pool_give(pool, taken[n]);
    }
}

static void wrap_flow(struct nof_peer *p, uint32_t by)
{
    p->rx_seq += by;
    p->rx_msgs_announced += by;
    p->rx_msgs_freed += by;
    p->tx_seq += by;
    p->tx_msgs_allowed += by;
    p->rx_blocks_used += by;
    p->rx_blocks_announced += by;
    p->rx_blocks_freed += by;
    p->tx_blocks_used += by;
    p->tx_blocks_allowed += by;
}

void setting_wrap(struct nof_nic *nic, uint32_t by)
{
    wrap_pool(&nic->sends);
    wrap_pool(&nic->recvs);
    wrap_pool(&nic->envs);
    wrap_pool(&nic->reads);
    wrap_pool(&nic->writes);
    wrap_pool(&nic->mcast.groups);
    nic->netmem.gen = NOF_GEN_MAX - 2;
    nic->grants.epoch = UINT16_MAX - 1;
    for (uint32_t i = 0; i < nic->peers.high; i++)
        if (nof_peer_at(nic, i)->used)
            wrap_flow(nof_peer_at(nic, i), by);
}

static uint64_t value_of(unsigned which, uint8_t v)
{
    static const uint64_t bytes[] = {0, 64, 1024, 8192, 16384, 65536, 262144, 1048576};
    static const uint64_t least[] = {1024, 64, 512, 4096};
    switch (which) {
    case SETTING_EAGER_MAX:
        return v == 0 ? 16384 : bytes[v % 6];
    case SETTING_STAGE_MAX:
        return v == 0 ? 8192 : bytes[v % 5];
    case SETTING_MIN:
        return least[v % 4];
    case SETTING_DEFERRED:
    case SETTING_EARLY:
        return v == 0 ? 262144 : bytes[v % 8];
    case SETTING_LOOKAHEAD:
        return v == 0 ? 8 : 1 + v % 64;
    case SETTING_PREDICTION:
        return v % 6;
    case SETTING_COMPRESSION:
    case SETTING_DECODE:
        return v % 3;
    default:
        return v % 2;
    }
}

/* Of the same byte as congestion, whose lowest bit that takes. */
static void set_clearance(struct guard *g, uint8_t value)
{
    static const uint64_t bytes[] = {28672, 1, 5000, 0};
    for (unsigned i = 0; i < g->nics; i++)
        if (nof_nic_feature_set(world_nic(g->w, i), NOF_F_GRANT_BYTES, bytes[value / 2 % 4]) != NOF_OK ||
            nof_nic_feature_set(world_nic(g->w, i), NOF_F_GRANT_US, value / 8 % 2 ? 0 : 50) != NOF_OK)
            guard_fail("clearance cannot be set");
}

void setting_change(struct guard *g, uint8_t which, uint8_t value)
{
    static const int feature[] = {[SETTING_PREDICTION] = NOF_F_PREDICTION,
                                  [SETTING_COMPRESSION] = NOF_F_COMPRESSION,
                                  [SETTING_DECODE] = NOF_F_DECODE,
                                  [SETTING_EAGER_MAX] = NOF_F_EAGER_MAX,
                                  [SETTING_STAGE_MAX] = NOF_F_STAGE_MAX,
                                  [SETTING_RING] = -1,
                                  [SETTING_READS] = -1,
                                  [SETTING_WRITES] = -1,
                                  [SETTING_LOOKAHEAD] = NOF_F_LOOKAHEAD,
                                  [SETTING_POLICY] = NOF_F_STAGE_POLICY,
                                  [SETTING_MIN] = NOF_F_COMPRESSION_MIN,
                                  [SETTING_DEFERRED] = NOF_F_DEFERRED_BYTES,
                                  [SETTING_EARLY] = NOF_F_EARLY_BYTES,
                                  [SETTING_CONGESTION] = NOF_F_CONGESTION};
    which = (uint8_t)(1 + which % SETTING_CONGESTION);
    if (which == SETTING_CONGESTION)
        set_clearance(g, value);
    if (feature[which] >= 0) {
        for (unsigned i = 0; i < g->nics; i++)
            if (nof_nic_feature_set(world_nic(g->w, i), (enum nof_feature)feature[which],
                                    value_of(which, value)) != NOF_OK)
                guard_fail("feature %d cannot be set", feature[which]);
        return;
    }
    if (which == SETTING_READS || which == SETTING_WRITES) {
        g->dma[which == SETTING_WRITES] = value;
        return;
    }
    for (unsigned i = 0; i < WORLD_RANKS; i++)
        if (g->rank[i].used && g->rank[i].job == GUARD_JOB_A)
            world_rank(g->w, i)->ring_slots = value == 0 ? 0 : 4u + value;
}

void setting_apply(struct guard *g, const uint8_t *rec)
{
    for (uint8_t i = 1; i <= SETTING_CONGESTION; i++)
        setting_change(g, (uint8_t)(i - 1), rec[i]);
    for (unsigned i = 0; i < g->nics; i++)
        if (nof_nic_feature_set(world_nic(g->w, i), NOF_F_MULTICAST, 1) != NOF_OK)
            guard_fail("multicast cannot be set");
}

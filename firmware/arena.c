/* SPDX-License-Identifier: BSD-3-Clause */
#include "arena.h"

#include "coll/reduce.h"
#include "flow/credit.h"
#include "match/recv_watch.h"
#include "payload/reserve.h"

#define ALIGN 64u
#define TRANSFERS_PER_EP 8u /* receives that an endpoint may have under way beside the posted ones */
#define TRANSFERS_LEAST 512u

/* Sizes that follow from the configuration. */
struct sizes {
    uint32_t sends, recvs, transfers, envs, ctls, reads, blocks, dma_blocks, locals;
    uint32_t flow_msgs, flow_blocks;
};

static bool pick(uint32_t value, uint32_t initial, uint32_t least, uint32_t most, uint32_t *out)
{
    *out = value == 0 ? initial : value;
    return *out >= least && *out <= most;
}

int nof_arena_check(const struct nof_nic_config *in, struct nof_nic_config *out)
{
    *out = *in;
    if (in->udp_port == 0)
        out->udp_port = NOF_WIRE_UDP_PORT;
    if (in->group_port == 0)
        out->group_port = out->udp_port;
    if (in->netmem_bytes == 0)
        out->netmem_bytes = (uint64_t)16 << 20;
    bool ok = in->nic_id != 0;
    ok &= pick(in->mtu_bytes, 1500, 576, 9216, &out->mtu_bytes);
    ok &= pick(in->max_endpoints, 16, 1, 1024, &out->max_endpoints);
    ok &= pick(in->max_paths, NOF_PATHS_DEFAULT, 1, 65536, &out->max_paths);
    ok &= pick(in->max_peers, 4096, 1, 1u << 22, &out->max_peers);
    ok &= pick(in->max_jobs, 16, 1, 1024, &out->max_jobs);
    ok &= pick(in->max_sends, 4096, 1, 1u << 22, &out->max_sends);
    ok &= pick(in->max_posted, 16384, 1, 1u << 22, &out->max_posted);
    ok &= pick(in->max_envelopes, 8192, 1, 1u << 22, &out->max_envelopes);
    ok &= pick(in->max_layouts, 256, 1, 65536, &out->max_layouts);
    ok &= pick(in->max_schedules, 256, 1, 65536, &out->max_schedules);
    ok &= pick(in->max_groups, 16, 1, 4096, &out->max_groups);
    ok &= pick(in->window_frames, 256, 32, 1024, &out->window_frames);
    ok &= (out->window_frames & (out->window_frames - 1)) == 0;
    ok &= pick(in->sent_frames, 8192, 32, 1u << 22, &out->sent_frames);
    ok &= pick(in->reorder_frames, 1024, 1, 1u << 22, &out->reorder_frames);
    ok &= pick(in->predict_calls, 1024, 16, 32768, &out->predict_calls);
    ok &= (out->predict_calls & (out->predict_calls - 1)) == 0;
    ok &= pick(in->predictor_log2, NOF_DFCM_TABLE_LOG2, NOF_DFCM_TABLE_LOG2_MIN, NOF_DFCM_TABLE_LOG2_MAX,
               &out->predictor_log2);
    ok &= pick(in->max_predictors, 16, 1, NOF_PREDICTORS_MAX, &out->max_predictors);
    if (in->predictor_idle_ns == 0)
        out->predictor_idle_ns = 100000000u;
    /* Every endpoint must be able to reserve the least that a rendezvous needs. */
    ok &= out->netmem_bytes >= (uint64_t)out->max_endpoints * 65536 && out->netmem_bytes <= (uint64_t)1 << 36;
    return ok ? NOF_OK : NOF_EINVAL;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static struct sizes sizes_of(const struct nof_nic_config *cfg)
{
    struct sizes z;
    z.sends = larger(cfg->max_sends, 4 * cfg->max_endpoints);
    z.transfers = larger(TRANSFERS_LEAST, TRANSFERS_PER_EP * cfg->max_endpoints);
    z.recvs = cfg->max_posted + z.transfers;
    /* One for every flow, and as many again to lend as may be expected to be in use. */
    z.envs = larger(cfg->max_envelopes, cfg->max_peers + cfg->max_envelopes / 2);
    /* Of each predictor an ASK or GRANT, and a REVOKE or END; refusals; a COLL_ABORT of each link. */
    z.ctls = z.envs + z.sends + z.recvs + 4 * cfg->max_paths + cfg->max_endpoints + 4 * cfg->max_predictors;
    z.reads = NOF_READS_PER_EP * cfg->max_endpoints;
    z.locals = NOF_LOCAL_FRAMES + NOF_LOCAL_HELD * cfg->max_endpoints;
    z.blocks = (uint32_t)(cfg->netmem_bytes / NOF_NETMEM_BLOCK);
    z.dma_blocks = z.blocks / 4;
    z.flow_msgs = larger(1, z.envs / 2 / cfg->max_peers);
    z.flow_blocks = (z.blocks - z.dma_blocks) / 2 / cfg->max_peers;
    if (z.flow_msgs > NOF_FLOW_MSGS_MAX)
        z.flow_msgs = NOF_FLOW_MSGS_MAX;
    if (z.flow_blocks > NOF_FLOW_BLOCKS_MAX)
        z.flow_blocks = NOF_FLOW_BLOCKS_MAX;
    return z;
}

void nof_arena_credit(const struct nof_nic_config *cfg, uint32_t *flow_msgs_out, uint32_t *flow_blocks_out)
{
    struct sizes z = sizes_of(cfg);
    *flow_msgs_out = z.flow_msgs;
    *flow_blocks_out = z.flow_blocks;
}

struct carver {
    unsigned char *mem; /* NULL: only count */
    size_t used;
};

static void *carve(struct carver *c, size_t count, size_t bytes)
{
    size_t at = c->used;
    c->used += (count * bytes + ALIGN - 1) / ALIGN * ALIGN;
    return c->mem != NULL ? c->mem + at : NULL;
}

static void carve_pool(struct carver *c, struct nof_pool *pool, uint32_t count, size_t bytes)
{
    nof_pool_init(pool, carve(c, count, bytes), bytes, count);
}

/* Hash buckets: a power of two, at least `count`. */
static uint32_t *carve_buckets(struct carver *c, uint32_t count, uint32_t *mask_out)
{
    uint32_t n = 16;
    /* bound: doublings up to a table's size; paid by set-up */
    while (n < count)
        n <<= 1;
    uint32_t *bucket = carve(c, n, sizeof *bucket);
    *mask_out = n - 1;
    if (bucket != NULL)
        memset(bucket, 0xff, n * sizeof *bucket);
    return bucket;
}

static void carve_tables(struct carver *c, struct nof_nic *nic, const struct nof_nic_config *cfg,
                         const struct sizes *z)
{
    nic->peer_by_rank = carve_buckets(c, cfg->max_peers, &nic->peer_mask);
    nic->peer_by_flow = carve_buckets(c, cfg->max_peers, &nic->peer_mask);
    nic->match.posted.bucket = carve_buckets(c, cfg->max_posted, &nic->match.posted.mask);
    nic->match.probes.bucket = carve_buckets(c, cfg->max_posted / 16, &nic->match.probes.mask);
    nic->match.cookies.bucket = carve_buckets(c, cfg->max_posted, &nic->match.cookies.mask);
    nic->match.unexpected.bucket = carve_buckets(c, NOF_MATCH_KINDS * z->envs, &nic->match.unexpected.mask);
    nic->send_cookies = carve_buckets(c, z->sends, &nic->send_cookies_mask);
    nic->layouts.bucket = carve_buckets(c, cfg->max_layouts, &nic->layouts.mask);
    nic->layouts.used = carve(c, cfg->max_endpoints, sizeof *nic->layouts.used);
    nic->colls.bucket = carve_buckets(c, cfg->max_schedules, &nic->colls.mask);
    nic->colls.used = carve(c, cfg->max_endpoints, sizeof *nic->colls.used);
    nic->drives = carve(c, cfg->max_schedules, sizeof *nic->drives);
    nic->aborts.running = carve_buckets(c, cfg->max_schedules, &nic->aborts.mask);
    nic->aborts.told = carve(c, cfg->max_peers, sizeof *nic->aborts.told);
    nic->aborts.heard = carve(c, cfg->max_endpoints, sizeof *nic->aborts.heard);
    nic->delta_ep = carve(c, cfg->max_endpoints, sizeof *nic->delta_ep);
}

static void carve_pools(struct carver *c, struct nof_nic *nic, const struct nof_nic_config *cfg,
                        const struct sizes *z)
{
    carve_pool(c, &nic->sends, z->sends, sizeof(struct nof_send));
    carve_pool(c, &nic->recvs, z->recvs, sizeof(struct nof_recv));
    carve_pool(c, &nic->envs, z->envs, sizeof(struct nof_env));
    carve_pool(c, &nic->peers, cfg->max_peers, sizeof(struct nof_peer));
    carve_pool(c, &nic->ctls, z->ctls, sizeof(struct nof_ctl));
    carve_pool(c, &nic->reads, z->reads, sizeof(struct nof_read));
    carve_pool(c, &nic->writes, z->blocks, sizeof(struct nof_write));
    carve_pool(c, &nic->locals, z->locals, sizeof(struct nof_local_frame));
    carve_pool(c, &nic->layouts.pool, cfg->max_layouts, sizeof(struct nof_layout));
    /* Two chunks each on average, and one layout of the largest size always fits. */
    carve_pool(c, &nic->layouts.chunks, 2 * cfg->max_layouts + NOF_LAYOUT_CHUNKS_MAX,
               sizeof(struct nof_layout_chunk));
    carve_pool(c, &nic->colls.pool, cfg->max_schedules, sizeof(struct nof_coll_program));
    uint32_t combines = NOF_COMBINES_PER_EP * cfg->max_endpoints;
    carve_pool(c, &nic->combines, combines, sizeof(struct nof_combine));
    nic->combine_mem = carve(c, combines, (size_t)2 * NOF_REDUCE_PIECE_BYTES);
    carve_pool(c, &nic->mcast.groups, cfg->max_groups, sizeof(struct nof_mcast_group));
    nic->mcast.room = carve(c, (size_t)cfg->max_groups * NOF_MCAST_OPS, NOF_MCAST_ROOM_BYTES);
    carve_pool(c, &nic->colls.chunks, 2 * cfg->max_schedules + NOF_COLL_CHUNKS_MAX,
               sizeof(struct nof_coll_chunk));
}

static void carve_grants(struct carver *c, struct nof_nic *nic)
{
    uint32_t n = nic->cfg.max_predictors;
    size_t each = (nof_dfcm_mem_size(nic->cfg.predictor_log2) + ALIGN - 1) / ALIGN * ALIGN;
    struct nof_grants *ch = &nic->grants;
    ch->count = n;
    ch->kernel = c->mem != NULL ? nof_dfcm_kernel_of(NOF_DFCM_ISA_AUTO) : NULL;
    ch->tx = carve(c, n, sizeof *ch->tx);
    ch->rx = carve(c, n, sizeof *ch->rx);
    carve_pool(c, &ch->raws, NOF_READS_PER_FLOW * n, sizeof(struct nof_obj));
    ch->raw = carve(c, (size_t)NOF_READS_PER_FLOW * n, NOF_DMA_BLOCK_BYTES);
    ch->plain = carve(c, 1, NOF_PLAIN_BYTES);
    ch->packed = carve(c, NOF_CHAIN_BUFS_MAX, NOF_NETMEM_BLOCK);
    ch->refused = carve(c, NOF_REFUSALS, sizeof *ch->refused);
    ch->tx_index = carve(c, NOF_PREDICTORS_MAX, sizeof *ch->tx_index);
    ch->rx_index = carve(c, NOF_PREDICTORS_MAX, sizeof *ch->rx_index);
    uint8_t *tables = carve(c, 2 * (size_t)n, each);
    if (tables == NULL)
        return;
    memset(ch->refused, 0, NOF_REFUSALS * sizeof *ch->refused);
    memset(ch->tx_index, 0, NOF_PREDICTORS_MAX * sizeof *ch->tx_index);
    memset(ch->rx_index, 0, NOF_PREDICTORS_MAX * sizeof *ch->rx_index);
    memset(ch->tx, 0, n * sizeof *ch->tx);
    memset(ch->rx, 0, n * sizeof *ch->rx);
    /* bound: objects of a pool; paid by set-up */
    for (uint32_t i = 0; i < n; i++) {
        ch->tx[i].mem = tables + i * each;
        ch->rx[i].mem = tables + (n + i) * each;
    }
}

static void carve_clearance(struct carver *c, struct nof_nic *nic)
{
    struct nof_clearance *clear = &nic->clearance;
    clear->flow = carve(c, nic->cfg.max_peers, sizeof *clear->flow);
    clear->on_link = carve(c, nic->nlinks, sizeof *clear->on_link);
    /* bound: NOF_CLEAR_CLASSES, 2; paid by set-up */
    for (unsigned k = 0; k < NOF_CLEAR_CLASSES; k++)
        clear->turns[k] = carve(c, nic->cfg.max_endpoints, sizeof *clear->turns[k]);
    if (clear->flow == NULL)
        return;
    memset(clear->flow, 0xff, nic->cfg.max_peers * sizeof *clear->flow);
    memset(clear->on_link, 0, nic->nlinks * sizeof *clear->on_link);
    /* bound: NOF_CLEAR_SPANS, 2; paid by set-up */
    for (unsigned k = 0; k < NOF_CLEAR_SPANS; k++)
        clear->span[k].out = NOF_NIL;
    /* bound: NOF_CLEAR_CLASSES, 2; paid by set-up */
    for (unsigned k = 0; k < NOF_CLEAR_CLASSES; k++) {
        clear->eps[k] = NOF_NIL;
        /* bound: endpoints; paid by set-up */
        for (uint32_t i = 0; i < nic->cfg.max_endpoints; i++)
            clear->turns[k][i] = (struct nof_clear_turns){.recvs = NOF_NIL};
    }
}

/* Every local frame gets its body, for good. */
static void set_bodies(struct nof_nic *nic, uint8_t *bodies, uint32_t n)
{
    struct nof_local_frame *frame = nic->locals.base;
    memset(frame, 0, n * sizeof *frame);
    /* bound: objects of a pool; paid by set-up */
    for (uint32_t i = 0; i < n; i++) {
        frame[i].obj.gen = 1;
        frame[i].body = bodies + (size_t)i * NOF_LOCAL_BODY;
        frame[i].frame = (struct nof_frame){.data = frame[i].body, .cap_bytes = NOF_LOCAL_BODY};
        frame[i].obj.next = i + 1 < n ? i + 1 : NOF_NIL;
    }
    nic->locals.high = n;
    nic->locals.head = 0;
}

static void set_shares(struct nof_nic *nic, const struct sizes *z)
{
    uint32_t eps = nic->cfg.max_endpoints;
    nic->sends_min = z->sends / (2 * eps);
    nic->mcast.most = larger(1, nic->cfg.max_groups / 2);
    nic->mcast.due_ns = NOF_NO_DEADLINE;
    nic->recvs_min = z->transfers / (2 * eps);
    nic->posted_min = nic->cfg.max_posted / (2 * eps);
    nof_share_init(&nic->peers_share, nic->cfg.max_peers, eps);
    nof_share_init(&nic->paths_share, nic->cfg.max_paths, nic->cfg.max_jobs);
    nof_layout_shares(&nic->layouts, eps);
    nof_coll_shares(&nic->colls, eps);
    memset(nic->aborts.told, 0, nic->cfg.max_peers * sizeof *nic->aborts.told);
    nic->posted_limit = nic->cfg.max_posted - eps * nic->posted_min;
    nic->dma_total = z->dma_blocks;
    nic->dma_free = z->dma_blocks;
    nic->dma_min = z->dma_blocks / (2 * eps);
    if (nic->dma_min < NOF_RESERVE_LEAST)
        nic->dma_min = NOF_RESERVE_LEAST;
    nic->flow_msgs = z->flow_msgs;
    nic->flow_blocks = z->flow_blocks;
    nic->msgs_free = z->envs - z->flow_msgs * nic->cfg.max_peers;
    nic->blocks_free = z->blocks - z->dma_blocks - z->flow_blocks * nic->cfg.max_peers;
    nic->half_msgs = nof_credit_most(nic->flow_msgs, nic->msgs_free, NOF_FLOW_MSGS_MAX) / 2;
    nic->half_blocks = nof_credit_most(nic->flow_blocks, nic->blocks_free, NOF_FLOW_BLOCKS_MAX) / 2;
}

size_t nof_arena_carve(const struct nof_nic_config *cfg, void *mem, struct nof_nic **nic_out)
{
    struct sizes z = sizes_of(cfg);
    struct carver c = {.mem = mem};
    struct nof_nic scratch;
    struct nof_nic *nic = carve(&c, 1, sizeof *nic);
    if (nic == NULL)
        nic = &scratch;
    memset(nic, 0, sizeof *nic);
    nic->cfg = *cfg;
    nic->nlinks = cfg->max_paths + cfg->max_jobs;
    nic->eps = carve(&c, cfg->max_endpoints, sizeof *nic->eps);
    nic->watches = carve(&c, cfg->max_endpoints, nof_watch_mem_size(cfg->predict_calls));
    nic->jobs = carve(&c, cfg->max_jobs, sizeof *nic->jobs);
    nic->links = carve(&c, nic->nlinks, sizeof *nic->links);
    nic->no_counters = carve(&c, NOF_COUNTER_COUNT, sizeof *nic->no_counters);
    nic->scratch = carve(&c, 1, sizeof *nic->scratch);
    nic->segs = carve(&c, NOF_DMA_SEGMENTS_MAX, sizeof *nic->segs);
    nic->bufs = carve(&c, NOF_DMA_SEGMENTS_MAX, sizeof *nic->bufs);
    nic->gather.buf = carve(&c, NOF_DMA_SEGMENTS_MAX, sizeof *nic->gather.buf);
    carve_pools(&c, nic, cfg, &z);
    carve_tables(&c, nic, cfg, &z);
    uint32_t *next = carve(&c, z.blocks, sizeof *next);
    uint32_t *held = carve(&c, z.blocks, sizeof *held);
    uint8_t *bodies = carve(&c, z.locals, NOF_LOCAL_BODY);
    carve_grants(&c, nic);
    carve_clearance(&c, nic);
    void *data = carve(&c, z.blocks, NOF_NETMEM_BLOCK);
    if (mem == NULL)
        return c.used;
    memset(nic->gather.buf, 0, NOF_DMA_SEGMENTS_MAX * sizeof *nic->gather.buf); /* no sums */
    memset(nic->eps, 0, cfg->max_endpoints * sizeof *nic->eps);
    /* bound: endpoints; paid by set-up */
    for (uint32_t i = 0; i < cfg->max_endpoints; i++)
        nic->eps[i].index = i;
    memset(nic->no_counters, 0, NOF_COUNTER_COUNT * sizeof *nic->no_counters);
    memset(nic->jobs, 0, cfg->max_jobs * sizeof *nic->jobs);
    memset(nic->links, 0, nic->nlinks * sizeof *nic->links);
    nof_netmem_init(&nic->netmem, data, next, held, z.blocks);
    memset(nic->drives, 0,
           cfg->max_schedules * sizeof *nic->drives); /* a program that is refused leaves its index used */
    set_bodies(nic, bodies, z.locals);
    set_shares(nic, &z);
    *nic_out = nic;
    return c.used;
}

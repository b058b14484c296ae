/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The facade (nof/core.h): every entry point notes the time, does its part, runs what that has made
 * possible, and lets the transport send. */
#include "nic.h"

#include "ahead/early.h"
#include "arena.h"
#include "close.h"
#include "coll/abort.h"
#include "coll/drive.h"
#include "coll/patience.h"
#include "coll/reduce.h"
#include "coll/in_turn.h"
#include "compress/chunk.h"
#include "compress/grant.h"
#include "compress/pack.h"
#include "descriptors.h"
#include "dispatch.h"
#include "flow/clearance.h"
#include "flow/job.h"
#include "flow/link.h"
#include "flow/peer.h"
#include "flow/scheduler.h"
#include "flows.h"
#include "life.h"
#include "mcast/mcast.h"
#include "msg/deliver.h"
#include "msg/delta_slots.h"
#include "msg/direct_rx.h"
#include "payload/gather.h"
#include "msg/recv.h"
#include "match/recv_watch.h"
#include "msg/rendezvous.h"
#include "msg/send.h"
#include "msg/taps.h"

#define RUN_FRAMES 256u /* sent in one call that is not poll; the rest waits for poll */
#define LOCAL_ROUNDS 16u

/* Of a path that has no link yet, or of none. */
static int first_frame(struct nof_nic *nic, struct nof_path *path, const struct nof_wire_view *view,
                       bool lent)
{
    if (path == NULL) {
        nof_mcast_datagram(nic, view->payload, view->payload_bytes);
        return NOF_OK;
    }
    struct nof_link *link = nof_link_of_path(nic, path);
    return link != NULL ? nof_dispatch_frame(nic, link, view, lent) : NOF_EPROTO;
}

static int on_frame(void *up, struct nof_path *path, const struct nof_wire_view *view, bool lent)
{
    struct nof_nic *nic = up;
    struct nof_link *link = view->user;
    if (link == NULL)
        return first_frame(nic, path, view, lent);
    if (view->type == NOF_WIRE_MSG && nof_direct_rx(nic, link, view))
        return NOF_OK;
    return nof_dispatch_frame(nic, link, view, lent);
}

static void on_up(void *up, struct nof_path *path)
{
    struct nof_nic *nic = up;
    struct nof_link *link = nof_link_of_path(nic, path);
    if (link == NULL) {
        nof_path_reset(path, NOF_ENOMEM);
        return;
    }
    link->up = 1;
    nof_flows_look(nic, link->job);
    nof_link_ready(nic, link);
}

static void on_ready(void *up, struct nof_path *path)
{
    struct nof_nic *nic = up;
    struct nof_link *link = nof_path_user(path);
    if (link != NULL)
        nof_link_ready(nic, link);
}

static void on_dead(void *up, struct nof_path *path, int reason)
{
    struct nof_nic *nic = up;
    struct nof_link *link = nof_path_user(path);
    if (link == NULL)
        return;
    nof_path_set_user(path, NULL);
    nof_flows_look(nic, link->job);
    nof_link_gone(nic, link, reason < NOF_OK ? reason : NOF_EPEERDEAD);
    if (nof_link_left(nic, link))
        nof_job_link_gone(nic, link->job);
}

static const uint8_t *job_key(void *up, uint64_t job_id)
{
    return nof_job_key(up, job_id);
}

static const struct nof_transport_ops transport_ops = {
    .on_frame = on_frame, .on_up = on_up, .on_ready = on_ready, .on_dead = on_dead, .job_key = job_key};

/* Where compression, prediction and schedules have their say about a message. */
static const struct nof_taps taps = {.begins = nof_early_store,
                                     .waits = nof_early_arrived,
                                     .joins = nof_drive_arrived,
                                     .announces = nof_grant_announced,
                                     .reads = nof_pack_start,
                                     .emits = nof_pack_emit,
                                     .step_news = nof_drive_news,
                                     .decodes = nof_chunk_decode};

static struct nof_transport_config transport_config(const struct nof_nic_config *cfg, struct nof_nic *nic)
{
    struct nof_transport_config t = {.nic = cfg, .ops = &transport_ops, .up = nic};
    uint32_t blocks;
    nof_arena_credit(cfg, &t.flow_msgs, &blocks);
    t.flow_bytes = blocks * NOF_NETMEM_BLOCK;
    return t;
}

size_t nof_nic_mem_size(const struct nof_nic_config *cfg)
{
    struct nof_nic_config checked;
    if (nof_arena_check(cfg, &checked) != NOF_OK)
        return 0;
    struct nof_transport_config t = transport_config(&checked, NULL);
    size_t transport = nof_transport_mem_size(&t);
    return transport == 0 ? 0 : nof_arena_carve(&checked, NULL, NULL) + transport;
}

int nof_nic_init(void *mem, size_t mem_bytes, const struct nof_nic_config *cfg,
                 const struct nof_port_ops *port_ops, void *port, const struct nof_host_ops *host_ops,
                 void *host, uint64_t now_ns, struct nof_nic **nic_out)
{
    struct nof_nic_config checked;
    size_t need = nof_nic_mem_size(cfg);
    if (need == 0 || mem_bytes < need || mem == NULL)
        return NOF_EINVAL;
    nof_arena_check(cfg, &checked);
    struct nof_nic *nic;
    size_t own = nof_arena_carve(&checked, mem, &nic);
    nic->port_ops = port_ops;
    nic->port = port;
    nic->host_ops = host_ops;
    nic->host = host;
    nic->taps = &taps;
    nic->now_ns = now_ns;
    memcpy(&nic->seed, checked.seed, sizeof nic->seed);
    /* bound: features; paid by set-up */
    for (unsigned i = 0; i < NOF_FEATURE_COUNT; i++)
        nic->features[i] = nof_feature_info[i].initial;
    nof_grants_set(nic);
    nof_clearance_set(nic);
    nof_patience_set(nic);
    nof_in_turn_set(nic);
    nic->ring[NOF_SCHED_WIRE] = nic->ring[NOF_SCHED_LOOP] = NOF_NIL;
    nic->busy_flows = NOF_NIL;
    nic->later_flows = NOF_NIL;
    nic->local_queue = NOF_NIL;
    nic->write_retry = NOF_NIL;
    nic->write_later = NOF_NIL;
    nic->combine_retry = NOF_NIL;
    nic->combine_later = NOF_NIL;
    nic->chores = NOF_NIL;
    nic->stale_ctls = NOF_NIL;
    nof_gather_clear(&nic->gather);
    struct nof_transport_config t = transport_config(&nic->cfg, nic);
    t.port_ops = port_ops;
    t.port = port;
    t.host_ops = host_ops;
    t.host = host;
    t.counters = nic->counters;
    t.features = nic->features;
    int rc = nof_transport_init((unsigned char *)mem + own, mem_bytes - own, &t, now_ns, &nic->transport);
    if (rc != NOF_OK)
        return rc;
    nic->counters[NOF_C_MEM_BYTES] = need;
    nic->counters[NOF_C_MEM_ENDPOINT_BYTES] =
        sizeof(struct nof_endpoint) + nof_watch_mem_size(nic->cfg.predict_calls) +
        NOF_COMBINES_PER_EP * (sizeof(struct nof_combine) + 2 * NOF_REDUCE_PIECE_BYTES);
    nic->counters[NOF_C_MEM_PEER_BYTES] = nof_transport_path_bytes(nic->transport) + sizeof(struct nof_link) +
                                          sizeof(struct nof_peer) +
                                          2 * (nic->peer_mask + 1ul) * sizeof(uint32_t) / nic->cfg.max_peers;
    *nic_out = nic;
    return NOF_OK;
}

void nof_nic_fini(struct nof_nic *nic)
{
    /* bound: reads; paid by the end of the NIC */
    for (uint32_t i = 0; i < nic->reads.high; i++) {
        struct nof_read *r = nof_read_at(nic, i);
        /* bound: frames of a read; paid by the end of the NIC */
        for (; !r->local && r->gone < r->nframes; r->gone++)
            nic->port_ops->frame_free(nic->port, r->frame[r->gone]);
    }
    nof_mcast_fini(nic);
    nof_transport_fini(nic->transport);
}

static void begin(struct nof_nic *nic, uint64_t now_ns)
{
    nic->now_ns = now_ns;
    nof_transport_tick(nic->transport, now_ns);
}

/* What found no room a moment ago. */
static void retry(struct nof_nic *nic)
{
    if (nic->retry_ns == 0 || nic->now_ns < nic->retry_ns)
        return;
    nic->retry_ns = 0;
    nof_life_completions_run(nic);
    nof_deliver_retry(nic, &nic->write_retry);
    nof_drive_retry(nic, &nic->combine_retry);
    nof_rndv_again(nic);
    nof_link_retry(nic);
    nof_scheduler_retry(nic);
    nof_abort_retry(nic);
}

/* Send what may be sent, deliver what loops back, and see to what was waiting for either. */
static void run(struct nof_nic *nic, unsigned budget)
{
    unsigned sent = 0;
    retry(nic);
    if (nic->clearance.waiting > 0)
        nof_rndv_clear(nic);
    nof_mcast_run(nic);
    for (unsigned round = 0; round < LOCAL_ROUNDS; round++) {
        if (nic->dma_released)
            nof_rndv_blocks(nic);
        if (sent < budget && nof_scheduler_flows(nic))
            sent += nof_send_run(nic, budget - sent);
        if (nic->local_queue == NOF_NIL)
            break;
        nof_dispatch_local(nic);
    }
    if (nic->closing > 0)
        nof_ep_closing_run(nic);
    if (nic->flushing > 0)
        nof_life_flush_run(nic);
    if (nic->draining > 0)
        nof_job_drain(nic);
    else
        nic->drain_late = 0;
    nic->counters[NOF_C_CLEAR_BYTES] = nic->clearance.out_bytes;
    nic->counters[NOF_C_NETMEM_BYTES] = (uint64_t)nic->netmem.used * NOF_NETMEM_BLOCK;
    nic->counters[NOF_C_NETMEM_PEAK_BYTES] = (uint64_t)nic->netmem.peak * NOF_NETMEM_BLOCK;
    nof_transport_flush(nic->transport);
    if (nic->reads_pending > 0)
        nof_transport_await(nic->transport);
}

void nof_nic_rx(struct nof_nic *nic, uint64_t now_ns, struct nof_frame *const *frames, unsigned n)
{
    begin(nic, now_ns);
    nof_transport_rx(nic->transport, now_ns, frames, n);
    nof_deliver_flush(nic);
    nof_grant_burst_end(&nic->grants);
    run(nic, RUN_FRAMES);
}

unsigned nof_nic_host_room(const struct nof_nic *nic, uint32_t endpoint)
{
    if (endpoint >= nic->cfg.max_endpoints)
        return 0;
    const struct nof_endpoint *ep = &nic->eps[endpoint];
    if (ep->state != NOF_EP_OPEN || ep->comp_head != NOF_NIL)
        return 0;
    uint32_t room = nof_send_room(nic, ep);
    uint32_t recvs = nof_recv_room(nic, ep);
    if (recvs < room)
        room = recvs;
    return room < NOF_ROOM_MOST ? room : NOF_ROOM_MOST;
}

void nof_nic_host(struct nof_nic *nic, uint64_t now_ns, uint32_t endpoint, const struct nof_desc *descs,
                  unsigned n)
{
    begin(nic, now_ns);
    if (endpoint < nic->cfg.max_endpoints)
        nof_descriptors_take(nic, &nic->eps[endpoint], descs, n);
    run(nic, RUN_FRAMES);
}

void nof_nic_dma_done(struct nof_nic *nic, uint64_t now_ns, uint64_t token, int status)
{
    const struct nof_pool *pool = token & NOF_TOKEN_WRITE     ? &nic->writes
                                  : token & NOF_TOKEN_COMBINE ? &nic->combines
                                  : token & NOF_TOKEN_MCAST   ? &nic->mcast.groups
                                                              : &nic->reads;
    uint32_t i = token & NOF_TOKEN_MCAST && !(token & NOF_TOKEN_WRITE) && !(token & NOF_TOKEN_COMBINE)
                     ? nof_mcast_token_group((uint32_t)token)
                     : (uint32_t)token;
    begin(nic, now_ns);
    if (i < pool->high && nof_pool_obj(pool, i)->gen == (token >> 32 & NOF_GEN_MAX)) {
        if (token & NOF_TOKEN_WRITE)
            nof_deliver_done(nic, i, status);
        else if (token & NOF_TOKEN_COMBINE)
            nof_drive_dma_done(nic, i, status);
        else if (token & NOF_TOKEN_MCAST)
            nof_mcast_dma_done(nic, (uint32_t)token, status);
        else
            nof_send_dma_done(nic, i, status);
    }
    run(nic, RUN_FRAMES);
}

static bool more_to_do(const struct nof_nic *nic)
{
    return nof_scheduler_ready(nic) ||
           (nic->local_queue & nic->write_later & nic->combine_later & nic->later_flows & nic->chores &
            nic->stale_ctls) != NOF_NIL ||
           (nic->dma_released | nic->drain_late | nic->rung_late) != 0 || nof_clearance_ready(nic);
}

bool nof_nic_poll(struct nof_nic *nic, uint64_t now_ns, unsigned budget_frames)
{
    begin(nic, now_ns);
    nic->turn++;
    unsigned sent = nof_transport_poll(nic->transport, now_ns, budget_frames);
    nof_life_chores_run(nic);
    nof_send_rung(nic);
    if (nic->stale_ctls != NOF_NIL)
        nof_link_sweep(nic);
    if (nic->write_later != NOF_NIL)
        nof_deliver_retry(nic, &nic->write_later);
    if (nic->combine_later != NOF_NIL)
        nof_drive_retry(nic, &nic->combine_later);
    if (nic->later_flows != NOF_NIL)
        nof_scheduler_turn(nic);
    if (nic->stalled_comps > 0)
        nof_life_completions_run(nic);
    if (nic->now_ns >= nic->patience_at_ns)
        nof_patience_run(nic);
    run(nic, sent < budget_frames ? budget_frames - sent : 0);
    return more_to_do(nic);
}

uint64_t nof_nic_next_deadline(const struct nof_nic *nic)
{
    uint64_t at = nof_transport_next_deadline(nic->transport);
    if (nic->retry_ns != 0 && nic->retry_ns < at)
        at = nic->retry_ns;
    uint64_t lapses = nof_clearance_deadline(nic);
    if (lapses < at)
        at = lapses;
    if (nic->patience_at_ns < at)
        at = nic->patience_at_ns;
    uint64_t groups = nof_mcast_deadline(nic);
    if (groups < at)
        at = groups;
    if (more_to_do(nic))
        at = nic->now_ns;
    return at;
}

bool nof_nic_rung(const struct nof_nic *nic)
{
    return nof_delta_rung(nic);
}

int nof_nic_endpoint_open(struct nof_nic *nic, uint64_t now_ns, const struct nof_endpoint_params *params,
                          uint32_t *endpoint_out, struct nof_card *card_out)
{
    begin(nic, now_ns);
    return nof_life_open(nic, params, endpoint_out, card_out);
}

void nof_nic_endpoint_close(struct nof_nic *nic, uint64_t now_ns, uint32_t endpoint, int reason)
{
    begin(nic, now_ns);
    if (endpoint < nic->cfg.max_endpoints)
        nof_ep_close(nic, &nic->eps[endpoint], reason);
    run(nic, RUN_FRAMES);
}

/* Beside the core that writes them: two words, each as it was at some moment. ThreadSanitizer need not be told twice. */
__attribute__((no_sanitize("thread"))) void nof_nic_endpoint_queues(const struct nof_nic *nic,
                                                                    uint32_t endpoint, uint32_t *posted_out,
                                                                    uint32_t *unexpected_out)
{
    const struct nof_endpoint *ep = &nic->eps[endpoint < nic->cfg.max_endpoints ? endpoint : 0];
    *posted_out = *(const volatile uint32_t *)&ep->posted_total;
    *unexpected_out = *(const volatile uint32_t *)&ep->stored;
}

void nof_nic_link(struct nof_nic *nic, uint64_t now_ns, bool up)
{
    begin(nic, now_ns);
    nof_transport_link(nic->transport, now_ns, up);
    run(nic, RUN_FRAMES);
}

void nof_nic_rate(struct nof_nic *nic, uint64_t now_ns, uint64_t rate_bps)
{
    nic->cfg.link_rate_bps = rate_bps;
    nof_transport_rate(nic->transport, now_ns);
    nof_grants_set(nic);
    nof_clearance_set(nic);
}

void nof_nic_stalled(struct nof_nic *nic, uint64_t now_ns, uint64_t stalled_ns)
{
    begin(nic, now_ns);
    nof_patience_stalled(nic, stalled_ns);
    nof_grants_stalled(nic, stalled_ns);
    nof_transport_stalled(nic->transport, now_ns, stalled_ns);
    nof_transport_flush(nic->transport);
}

void nof_nic_late(struct nof_nic *nic, uint64_t now_ns)
{
    nof_transport_late(nic->transport, now_ns);
}

int nof_nic_feature_set(struct nof_nic *nic, enum nof_feature feature, uint64_t value)
{
    if ((unsigned)feature >= NOF_FEATURE_COUNT)
        return NOF_ENOENT;
    if (value < nof_feature_info[feature].min || value > nof_feature_info[feature].max)
        return NOF_EINVAL;
    nic->features[feature] = value;
    /* bound: endpoints; paid by who sets the feature */
    for (uint32_t i = 0; feature == NOF_F_PREDICTION && i < nic->cfg.max_endpoints; i++)
        if (nic->eps[i].state == NOF_EP_OPEN)
            nof_watch_set(nic, &nic->eps[i]);
    nof_grants_set(nic);
    nof_clearance_set(nic);
    if (feature == NOF_F_COLL_PATIENCE)
        nof_patience_set(nic);
    return NOF_OK;
}

uint64_t nof_nic_feature(const struct nof_nic *nic, enum nof_feature feature)
{
    return (unsigned)feature < NOF_FEATURE_COUNT ? nic->features[feature] : 0;
}

const uint64_t *nof_nic_counters(const struct nof_nic *nic)
{
    return nic->counters;
}

bool nof_nic_quiet(const struct nof_nic *nic)
{
    return nic->sends_live == 0 && nic->recvs.used == nic->posted_total + nic->early_whole &&
           nic->ctls.used == 0 && (nic->local_queue & nic->chores) == NOF_NIL && nic->stalled_comps == 0 &&
           nic->closing == 0 && nic->draining == 0 && nic->reads.used == 0 && nic->writes.used == 0 &&
           !nof_scheduler_flows(nic) && nof_mcast_deadline(nic) == NOF_NO_DEADLINE &&
           nof_transport_quiet(nic->transport);
}

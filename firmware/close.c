/* SPDX-License-Identifier: BSD-3-Clause */
#include "close.h"

#include "coll/drive.h"
#include "flow/chores.h"
#include "flow/completion.h"
#include "flows.h"
#include "flow/job.h"
#include "flow/link.h"
#include "op_kind.h"
#include "flow/peer.h"
#include "mcast/mcast.h"
#include "msg/recv_claim.h"
#include "msg/recv.h"
#include "msg/unexpected.h"

#define FLOW_STEPS 16u /* to take a flow out of its tables, beside what is counted there */

/* Each returns 1 when nothing of its kind is left, 0 when the steps are used up. */
typedef bool (*close_fn)(struct nof_nic *nic, struct nof_endpoint *ep);

static bool may(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t steps)
{
    if (nof_steps_left(nic, ep) == 0)
        return false;
    nof_steps_spend(ep, steps);
    return true;
}

static bool close_completions(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: completions that wait, as far as the steps of a turn reach; paid by the endpoint's steps */
    while (ep->comp_head != NOF_NIL) {
        if (!may(nic, ep, 4))
            return false;
        nof_op_release(nic, nof_completion_forget(nic, ep));
    }
    return true;
}

static bool close_flows(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: flows and their operations, as far as the steps reach; paid by the endpoint's steps */
    while (ep->close_at != NOF_NIL) {
        struct nof_peer *peer = nof_peer_at(nic, ep->close_at);
        if (!may(nic, ep, FLOW_STEPS))
            return false;
        if (nof_flows_end_one(nic, peer, NOF_ECANCELED))
            continue;
        nof_flows_close(nic, peer);
        ep->close_at = peer->ep_next;
    }
    return true;
}

/* Receives that no peer's end has ended: posted ones, and those whose writes are under way. */
static bool close_receives(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: the pool of receives, as far as the steps reach; paid by the endpoint's steps */
    for (; ep->recvs_used > 0 && ep->close_at < nic->recvs.high; ep->close_at++) {
        struct nof_recv *r = nof_recv_at(nic, ep->close_at);
        if (!may(nic, ep, 1))
            return false;
        if (r->state == NOF_RECV_FREE || r->ep != ep->index)
            continue;
        nof_steps_spend(ep, FLOW_STEPS);
        if (r->state == NOF_RECV_POSTED)
            nof_recv_unpost(nic, r);
        if (r->state == NOF_RECV_TAKEN)
            nof_claim_end(nic, r);
        if (r->state == NOF_RECV_FLUSH || r->state == NOF_RECV_SEEK || r->state == NOF_RECV_SCHED)
            nof_recv_free(nic, r);
        else
            nof_recv_end(nic, r, NOF_ECANCELED);
    }
    return true;
}

static bool close_unexpected(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: the pool of envelopes, as far as the steps reach; paid by the endpoint's steps */
    for (; (ep->stored | ep->mprobed) > 0 && ep->close_at < nic->envs.high; ep->close_at++) {
        if (!may(nic, ep, 1))
            return false;
        if (nof_unexpected_close(nic, ep, ep->close_at))
            nof_steps_spend(ep, FLOW_STEPS);
    }
    return true;
}

static bool close_held(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: blocks of network memory, as far as the steps reach; paid by the endpoint's steps */
    for (; ep->held > 0 && ep->close_at < nic->netmem.high; ep->close_at++) {
        if (!may(nic, ep, 1))
            return false;
        nof_unexpected_close_held(nic, ep, ep->close_at);
    }
    return true;
}

static bool close_layouts(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: buckets of layouts, as far as the steps reach; paid by the endpoint's steps */
    for (; nic->layouts.used[ep->index].layouts > 0 && ep->close_at <= nic->layouts.mask; ep->close_at++) {
        if (!may(nic, ep, 1))
            return false;
        nof_steps_spend(ep, nof_layout_close_bucket(&nic->layouts, ep->close_at, ep->index));
    }
    return true;
}

/* Is nobody else at work for it any more? */
static bool is_idle(const struct nof_nic *nic, const struct nof_endpoint *ep)
{
    return ep->told == nic->nlinks && ep->dma_pending == 0 && ep->combines == 0 && ep->sends_used == 0 &&
           ep->recvs_used == 0;
}

static bool free_flows(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: flows, as far as the steps reach; paid by the endpoint's steps */
    while (ep->peers != NOF_NIL) {
        struct nof_peer *peer = nof_peer_at(nic, ep->peers);
        if (!may(nic, ep, 1))
            return false;
        ep->peers = peer->ep_next;
        nof_peer_free(nic, peer);
    }
    return true;
}

/* Nothing of them is under way any more. */
static bool free_programs(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: buckets of programs, as far as the steps reach; paid by the endpoint's steps */
    for (; nic->colls.used[ep->index].programs > 0 && ep->close_at <= nic->colls.mask; ep->close_at++) {
        if (!may(nic, ep, 1))
            return false;
        nof_steps_spend(ep, nof_drive_close_bucket(nic, ep, ep->close_at));
    }
    return true;
}

static const close_fn pieces[] = {close_completions, close_flows, close_receives,
                                  close_unexpected,  close_held,  close_layouts};
#define PIECES (sizeof pieces / sizeof pieces[0])

void nof_close_run(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: kinds of things; paid by the endpoint's steps */
    while (ep->close_piece < PIECES) {
        if (!pieces[ep->close_piece](nic, ep)) {
            nof_chore(nic, ep);
            return;
        }
        ep->close_piece++;
        ep->close_at = ep->close_piece == 1 ? ep->peers : 0;
    }
    if (!is_idle(nic, ep))
        return;
    if (!free_flows(nic, ep) || !free_programs(nic, ep)) {
        nof_chore(nic, ep);
        return;
    }
    ep->state = NOF_EP_FREE;
    nic->closing--;
    nof_job_link_gone(nic, ep->job);
}

/* True when every link of the job has been told (or has it in its queue). */
static bool tell_peers(struct nof_nic *nic, struct nof_endpoint *ep)
{
    uint8_t fields[NOF_WIRE_EP_DOWN_BYTES];
    nof_put32(fields + NOF_WIRE_EP_DOWN_RANK, ep->rank);
    nof_put32(fields + NOF_WIRE_EP_DOWN_STATUS, (uint32_t)ep->reason);
    /* bound: links, once for an endpoint; paid by the endpoint that closes */
    for (; ep->told < nic->nlinks; ep->told++) {
        struct nof_link *link = &nic->links[ep->told];
        if (!link->used || !link->up || link->job != ep->job)
            continue;
        if (nof_pool_free(&nic->ctls) == 0)
            return false;
        nof_link_ctl(nic, link, NOF_WIRE_EP_DOWN, 0, (uint16_t)ep->index, 0, fields, sizeof fields);
    }
    return true;
}

void nof_ep_close(struct nof_nic *nic, struct nof_endpoint *ep, int reason)
{
    if (ep->state == NOF_EP_FREE || ep->state == NOF_EP_CLOSING)
        return;
    ep->state = NOF_EP_CLOSING;
    ep->reason = reason;
    ep->told = 0;
    ep->close_piece = 0;
    ep->recv_wait = NOF_NIL; /* in no order any more */
    if (ep->flushes != NOF_NIL)
        nic->flushing--;
    ep->flushes = NOF_NIL;
    ep->seeks = NOF_NIL;
    ep->tells = NOF_NIL;
    ep->drives = NOF_NIL;
    ep->works = NOF_NIL;
    ep->dying = NOF_NIL;
    ep->look = NOF_NIL;
    nof_mcast_ep_close(nic, ep);
    nic->closing++;
    nic->counters[NOF_C_ENDPOINTS]--;
    if (reason != NOF_OK)
        nic->counters[NOF_C_ENDPOINTS_DEAD]++;
    ep->counters = nic->no_counters; /* the BAR goes away after this call */
    ep->delta_host = NULL;
    ep->delta_nic = NULL;
    nof_job_leave(nic, ep->job);
    nof_close_run(nic, ep);
}

void nof_ep_closing_run(struct nof_nic *nic)
{
    /* bound: endpoints, while one is closing; paid by all */
    for (uint32_t i = 0; nic->closing > 0 && i < nic->cfg.max_endpoints; i++) {
        struct nof_endpoint *ep = &nic->eps[i];
        if (ep->state != NOF_EP_CLOSING)
            continue;
        if (!tell_peers(nic, ep))
            nof_retry(nic);
        else if (ep->close_piece == PIECES && is_idle(nic, ep))
            nof_close_run(nic, ep);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/rendezvous.h"

#include "flow/link.h"
#include "msg/delta_slots.h"
#include "msg/question.h"
#include "msg/recv.h"
#include "payload/reserve.h"
#include "payload/recv_wait.h"

#define RESERVE_MOST 320u /* blocks: two requests of 64 KiB, so that one fills while one is written */
#define AGAIN_STEPS 16u /* to repeat a frame */
#define CLEARS 64u /* at once */

static void send_cts(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_peer *peer = nof_peer_at(nic, r->peer);
    if (!(peer->flags & NOF_PEER_F_DEAD)) /* else r is about to end */
        nof_link_cts(nic, &nic->links[peer->link], peer, r);
}

/* What the sender may have sent by now. */
static uint64_t reach(const struct nof_recv *r)
{
    uint64_t end = r->written + nof_reserve_bytes(r);
    return end < r->wanted ? end : r->wanted;
}

/* How far it could go, if nobody else were there. */
static uint64_t goal(const struct nof_recv *r)
{
    return r->reserved_blocks > 0 && !r->early ? reach(r) : r->wanted;
}

static void allow(struct nof_nic *nic, struct nof_recv *r, uint64_t to)
{
    if (to <= r->allowed && r->wanted > 0)
        return;
    r->allowed = to;
    send_cts(nic, r);
}

/* It could begin. A parked send is called back first. */
static void let_begin(struct nof_nic *nic, struct nof_recv *r)
{
    if (r->parked)
        send_cts(nic, r);
    else
        allow(nic, r, nof_clearance_ask(nic, r, goal(r)));
}

/* Blocks for the first bytes; false: there are none now. */
static bool reserve(struct nof_nic *nic, struct nof_recv *r, bool ahead)
{
    uint64_t need = nof_reserve_need(r, r->wanted);
    uint32_t want = need < RESERVE_MOST ? (uint32_t)need : RESERVE_MOST;
    uint32_t least = want < NOF_RESERVE_LEAST ? want : NOF_RESERVE_LEAST;
    return (ahead ? nof_reserve_ahead(nic, r, want, least) : nof_reserve_take(nic, r, want, least)) > 0;
}

/* Reserves blocks for its first bytes, if it needs any and has none. False: it waits for some, or others do before it. */
static bool take_room(struct nof_nic *nic, struct nof_recv *r, bool ahead)
{
    bool needs_blocks = !nof_recv_is_direct(nic, r) && r->wanted > 0;
    return !needs_blocks || r->reserved_blocks > 0 ||
           (nic->eps[r->ep].recv_wait == NOF_NIL && reserve(nic, r, ahead));
}

/* Let the sender begin: now, or when there are blocks for its payload. A parked send, too, is called
 * back only when it can go on, lest it take up room at its NIC in vain; but see nof_rndv_begin(). */
static void grant(struct nof_nic *nic, struct nof_recv *r)
{
    if (take_room(nic, r, false))
        let_begin(nic, r);
    else
        nof_recv_wait_for_blocks(nic, r);
}

/* Of a delta send, whose program may have others received before it goes on with this one: blocks that it holds would be missing
 * there. Without a share of those for such sends it comes back when it has ended. */
static void grant_ahead(struct nof_nic *nic, struct nof_recv *r)
{
    if (take_room(nic, r, true)) {
        let_begin(nic, r);
        return;
    }
    r->unended = NOF_RECV_LATER;
    send_cts(nic, r);
}

void nof_rndv_begin(struct nof_nic *nic, struct nof_recv *r, uint64_t handle, uint8_t flags,
                    uint32_t unit_log2)
{
    nof_recv_rendezvous(r, handle, (flags & NOF_ENV_F_PARKED) != 0);
    nof_recv_list(nic, r);
    nof_recv_units(r, unit_log2);
    if (r->delta)
        nof_delta_recv_matched(nic, r, unit_log2);
    if (r->reserved_blocks > 0) /* a step's, for a small message: this one gets as many as there are */
        nof_reserve_give(nic, r);
    /* Its program may have others received first: blocks that waited for it would be missing there. Its host knows when it has
     * ended, and brings it back; is there no room then, it is parked as any other. */
    if (flags & NOF_ENV_F_UNENDED)
        let_begin(nic, r);
    else if (unit_log2 != 0)
        grant_ahead(nic, r);
    else
        grant(nic, r);
}

void nof_rndv_early(struct nof_nic *nic, struct nof_recv *r, uint64_t handle)
{
    nof_recv_rendezvous(r, handle, false);
    nof_recv_list(nic, r);
    let_begin(nic, r);
}

void nof_rndv_window(struct nof_nic *nic, struct nof_recv *r)
{
    uint64_t end = goal(r);
    if (r->allowed >= end)
        return;
    uint64_t half = nof_reserve_bytes(r) / 2;
    if (end < r->wanted && end - r->allowed < half)
        return;
    allow(nic, r, nof_clearance_ask(nic, r, end));
}

void nof_rndv_clear(struct nof_nic *nic)
{
    struct nof_recv *r;
    for (unsigned n = 0; n < CLEARS && (r = nof_clearance_next(nic)) != NULL; n++)
        allow(nic, r, nof_clearance_give(nic, r, goal(r)));
}

static void serve_waiting(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: receives that the released blocks are enough for; paid by the endpoint, by its share of the blocks */
    for (struct nof_recv *r; (r = nof_recv_wait_first(nic, ep)) != NULL && reserve(nic, r, false);) {
        nof_recv_wait_leave(nic, r);
        let_begin(nic, r);
    }
}

void nof_rndv_blocks(struct nof_nic *nic)
{
    nic->dma_released = 0;
    /* bound: endpoints, while a receive waits for blocks; paid by all */
    for (uint32_t i = 0; nic->recvs_waiting > 0 && i < nic->cfg.max_endpoints; i++)
        if (nic->eps[i].state == NOF_EP_OPEN)
            serve_waiting(nic, &nic->eps[i]);
}

static void ask_again(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: receives whose sender's host was full, as far as the steps reach; paid by the endpoint's steps */
    while (ep->again != NOF_NIL && nof_steps_left(nic, ep) > 0) {
        struct nof_recv *r = nof_recv_wait_over(nic, ep);
        nof_steps_spend(ep, AGAIN_STEPS);
        if (r->state == NOF_RECV_CANCEL)
            nof_question_ask(nic, r);
        else
            send_cts(nic, r);
    }
}

void nof_rndv_again(struct nof_nic *nic)
{
    /* bound: endpoints, while a sender's host is full; paid by all */
    for (uint32_t i = 0; nic->again > 0 && i < nic->cfg.max_endpoints; i++)
        if (nic->eps[i].state == NOF_EP_OPEN)
            ask_again(nic, &nic->eps[i]);
    if (nic->again > 0)
        nof_retry(nic);
}

int nof_rndv_resume_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view)
{
    uint64_t handle = nof_get64(view->fields + NOF_WIRE_MSG_HANDLE);
    if (handle & NOF_HANDLE_KINDS)
        return NOF_EPROTO;
    struct nof_recv *r = nof_recv_by_handle(nic, peer, nof_get64(view->fields + NOF_WIRE_MSG_SEQ));
    bool later = r != NULL && r->unended == NOF_RECV_LATER && r->remote == handle;
    if (r == NULL || (!r->parked && !later) || r->waiting || r->again) { /* nobody was told to come back */
        nof_recv_tell_aborted(nic, peer, handle, NOF_ENOENT);
        return NOF_OK;
    }
    uint64_t len = nof_get64(view->fields + NOF_WIRE_MSG_LEN);
    if (len < r->len)
        nof_recv_shorter(r, len);
    if (later) {
        r->unended = NOF_RECV_BACK;
        grant(nic, r);
        return NOF_OK;
    }
    if (!take_room(nic, r, false)) {
        nof_recv_tell_aborted(nic, peer, handle, NOF_EAGAIN);
        nof_recv_wait_for_blocks(nic, r);
        return NOF_OK;
    }
    nof_recv_rendezvous(r, handle, false);
    let_begin(nic, r);
    return NOF_OK;
}

void nof_rndv_abort_rx(struct nof_nic *nic, struct nof_peer *peer, uint64_t handle, int status)
{
    struct nof_recv *r = nof_recv_by_handle(nic, peer, handle);
    /* A late grant finds that the send has ended: the rest of its data is here or on its way. */
    if (r == NULL || r->arrived || (status == NOF_ENOENT && r->received > 0))
        return;
    if (status != NOF_EAGAIN) {
        nof_recv_end(nic, r, status);
    } else if (r->parked && !r->again && !r->waiting) {
        nof_recv_wait_a_while(nic, r); /* one that WAITS was not granted: its links are those of the wait */
    }
}

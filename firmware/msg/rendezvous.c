/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/rendezvous.h"

#include "ahead/early.h"
#include "flow/link.h"
#include "msg/question.h"
#include "msg/recv.h"
#include "msg/write.h"

#define RESERVE_MOST 320u /* blocks: two requests of 64 KiB, so that one fills while one is written */
#define RESERVE_LEAST 16u
#define AGAIN_PREV offsetof(struct nof_recv, again_prev)
#define AGAIN_STEPS 16u /* to repeat a frame */

static void send_cts(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_peer *peer = nof_peer_at(nic, r->peer);
    uint8_t fields[NOF_WIRE_CTS_BYTES];
    if (peer->flags & NOF_PEER_F_DEAD)
        return; /* r is about to end */
    nof_put64(fields + NOF_WIRE_CTS_SENDER, r->remote);
    nof_put64(fields + NOF_WIRE_CTS_RECEIVER, nof_handle(nof_recv_index(nic, r), r->obj.gen));
    nof_put64(fields + NOF_WIRE_CTS_WANTED, r->wanted);
    nof_put64(fields + NOF_WIRE_CTS_ALLOWED, r->allowed);
    nof_link_ctl(nic, &nic->links[peer->link], NOF_WIRE_CTS,
                 r->flags & NOF_RECV_F_PARKED ? NOF_WIRE_RTS_F_PARKED : 0, peer->ep, peer->remote_ep, fields,
                 sizeof fields);
}

/* What the sender may have sent by now. */
static uint64_t reach(const struct nof_recv *r)
{
    uint64_t end = r->written + (uint64_t)r->reserved_blocks * NOF_WRITE_BYTES_PER_BLOCK;
    return end < r->wanted ? end : r->wanted;
}

/* Those that wait for blocks, oldest first. Nothing of them has come, and so what write.c would hold of them is free to
 * link them both ways: thousands that end in any order do not look for each other. */
static void join_wait(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r)
{
    uint32_t i = nof_recv_index(nic, r);
    r->flags |= NOF_RECV_F_WAITING;
    nic->recvs_waiting++;
    r->hold_chain = i;
    r->hold_tail = i;
    if (ep->recv_wait == NOF_NIL) {
        ep->recv_wait = i;
        return;
    }
    struct nof_recv *first = nof_recv_at(nic, ep->recv_wait);
    r->hold_chain = ep->recv_wait;
    r->hold_tail = first->hold_tail;
    nof_recv_at(nic, first->hold_tail)->hold_chain = i;
    first->hold_tail = i;
}

static void leave_wait(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r)
{
    uint32_t i = nof_recv_index(nic, r);
    nic->recvs_waiting--;
    if (ep->state == NOF_EP_CLOSING)
        return; /* the queue is no more */
    nof_recv_at(nic, r->hold_tail)->hold_chain = r->hold_chain;
    nof_recv_at(nic, r->hold_chain)->hold_tail = r->hold_tail;
    if (ep->recv_wait == i)
        ep->recv_wait = r->hold_chain == i ? NOF_NIL : r->hold_chain;
}

/* Blocks for the first bytes: 1, or 0 if there are none now. */
static int reserve(struct nof_nic *nic, struct nof_recv *r)
{
    uint64_t need = r->wanted / NOF_WRITE_BYTES_PER_BLOCK + 2;
    uint32_t want = need < RESERVE_MOST ? (uint32_t)need : RESERVE_MOST;
    uint32_t least = want < RESERVE_LEAST ? want : RESERVE_LEAST;
    return nof_write_reserve(nic, r, want, least) > 0;
}

/* Let the sender begin: now, or when there are blocks for its payload. A parked send, too, is called
 * back only when it can go on, lest it take up room at its NIC in vain. */
static void grant(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    int needs_blocks = !nof_recv_is_direct(nic, r) && r->wanted > 0;
    if (needs_blocks && r->reserved_blocks == 0 && (ep->recv_wait != NOF_NIL || !reserve(nic, r))) {
        join_wait(nic, ep, r);
        return;
    }
    r->allowed = needs_blocks ? reach(r) : r->wanted;
    send_cts(nic, r);
}

void nof_rndv_begin(struct nof_nic *nic, struct nof_recv *r, uint64_t handle, int parked)
{
    r->state = NOF_RECV_RNDV;
    nof_recv_list(nic, r);
    r->remote = handle;
    if (parked)
        r->flags |= NOF_RECV_F_PARKED;
    grant(nic, r);
}

void nof_rndv_early(struct nof_nic *nic, struct nof_recv *r, uint64_t handle)
{
    r->state = NOF_RECV_RNDV;
    nof_recv_list(nic, r);
    r->remote = handle;
    r->allowed = r->wanted;
    send_cts(nic, r);
}

void nof_rndv_window(struct nof_nic *nic, struct nof_recv *r)
{
    uint64_t end = reach(r);
    if (r->reserved_blocks == 0 || r->allowed >= end)
        return;
    uint64_t half = (uint64_t)r->reserved_blocks * NOF_WRITE_BYTES_PER_BLOCK / 2;
    if (end - r->allowed < half && end < r->wanted)
        return;
    r->allowed = end;
    send_cts(nic, r);
}

static void serve_waiting(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: receives that the released blocks are enough for; paid by the endpoint, by its share of the blocks */
    while (ep->recv_wait != NOF_NIL) {
        struct nof_recv *r = nof_recv_at(nic, ep->recv_wait);
        if (!reserve(nic, r))
            return;
        nof_rndv_no_wait(nic, r);
        r->allowed = reach(r);
        send_cts(nic, r);
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

void nof_rndv_later(struct nof_nic *nic, struct nof_recv *r)
{
    r->flags |= NOF_RECV_F_AGAIN;
    nof_ring_push(&nic->recvs, &nic->eps[r->ep].again, nof_recv_index(nic, r), AGAIN_PREV);
    nic->again++;
    nof_retry(nic);
}

static void leave_again(struct nof_nic *nic, struct nof_recv *r)
{
    r->flags &= (uint8_t)~NOF_RECV_F_AGAIN;
    nof_ring_remove(&nic->recvs, &nic->eps[r->ep].again, nof_recv_index(nic, r), AGAIN_PREV);
    nic->again--;
}

static void ask_again(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: receives whose sender's host was full, as far as the steps reach; paid by the endpoint's steps */
    while (ep->again != NOF_NIL && nof_steps_left(nic, ep) > 0) {
        struct nof_recv *r = nof_recv_at(nic, nof_queue_head(&nic->recvs, ep->again));
        leave_again(nic, r);
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

void nof_rndv_no_wait(struct nof_nic *nic, struct nof_recv *r)
{
    if (r->flags & NOF_RECV_F_AGAIN)
        leave_again(nic, r);
    if (r->flags & NOF_RECV_F_WAITING)
        leave_wait(nic, &nic->eps[r->ep], r);
    r->flags &= (uint8_t)~NOF_RECV_F_WAITING;
}

int nof_rndv_resume_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view)
{
    uint64_t handle = nof_get64(view->fields + NOF_WIRE_MSG_HANDLE);
    if (handle & NOF_HANDLE_KINDS)
        return NOF_EPROTO;
    struct nof_recv *r = nof_recv_by_handle(nic, peer, nof_get64(view->fields + NOF_WIRE_MSG_SEQ));
    if (r == NULL || !(r->flags & NOF_RECV_F_PARKED)) {
        uint8_t fields[NOF_WIRE_ABORT_BYTES];
        nof_put64(fields + NOF_WIRE_ABORT_HANDLE, handle);
        nof_put32(fields + NOF_WIRE_ABORT_STATUS, (uint32_t)NOF_ENOENT);
        nof_put32(fields + NOF_WIRE_ABORT_SIDE, NOF_WIRE_ABORT_SEND);
        nof_link_ctl(nic, &nic->links[peer->link], NOF_WIRE_ABORT, 0, peer->ep, peer->remote_ep, fields,
                     sizeof fields);
        return NOF_OK;
    }
    nof_rndv_no_wait(nic, r);
    r->flags &= (uint8_t)~NOF_RECV_F_PARKED;
    r->remote = handle;
    grant(nic, r);
    return NOF_OK;
}

int nof_rndv_data_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view, int lent)
{
    int last = (view->flags & NOF_WIRE_DATA_F_LAST) != 0;
    int failed = (view->flags & NOF_WIRE_F_FAILED) != 0;
    int fits = view->fields_bytes == (last ? NOF_WIRE_DATA_LAST_BYTES : NOF_WIRE_DATA_BYTES);
    if (!fits && !(failed && view->fields_bytes == NOF_WIRE_DATA_LAST_BYTES))
        return NOF_EPROTO;
    struct nof_recv *r = nof_recv_by_handle(nic, peer, nof_get64(view->fields + NOF_WIRE_DATA_RECEIVER));
    if (r == NULL || (r->flags & NOF_RECV_F_ARRIVED))
        return NOF_OK; /* it has ended here, and the sender has been told */
    if (failed) {
        nof_recv_end(nic, r, NOF_EFAULT);
        return NOF_OK;
    }
    uint32_t n = view->payload_bytes;
    uint64_t offset = nof_get64(view->fields + NOF_WIRE_DATA_OFFSET);
    uint64_t len = last ? nof_get64(view->fields + NOF_WIRE_DATA_LEN) : r->len;
    int parked = (r->flags & NOF_RECV_F_PARKED) != 0; /* its sender has not come back for the grant */
    if (parked || offset != r->received || n > r->allowed - r->received || len != r->len ||
        (last && r->received + n != r->wanted)) {
        nof_count(nic, &nic->eps[peer->ep], NOF_C_MSGS_BROKEN, 1);
        nof_recv_abort(nic, r, NOF_EPROTO);
        return NOF_OK;
    }
    r->received += n;
    if (last)
        r->flags |= NOF_RECV_F_ARRIVED;
    if (r->flags & NOF_RECV_F_EARLY)
        nof_early_data(nic, r, offset, view->payload, n);
    else if (n > 0)
        nof_gather_add(nic, r, offset, view->payload, n, lent);
    else
        nof_write_rest(nic, r);
    return NOF_OK;
}

int nof_rndv_broken_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view)
{
    if (view->fields_bytes < NOF_WIRE_DATA_BYTES)
        return NOF_EPROTO;
    struct nof_recv *r = nof_recv_by_handle(nic, peer, nof_get64(view->fields + NOF_WIRE_DATA_RECEIVER));
    if (r != NULL && !(r->flags & NOF_RECV_F_ARRIVED))
        nof_recv_abort(nic, r, NOF_EPROTO);
    return NOF_OK;
}

void nof_rndv_abort_rx(struct nof_nic *nic, struct nof_peer *peer, uint64_t handle, int status)
{
    struct nof_recv *r = nof_recv_by_handle(nic, peer, handle);
    /* A late grant finds that the send has ended: the rest of its data is here or on its way. */
    if (r == NULL || (r->flags & NOF_RECV_F_ARRIVED) || (status == NOF_ENOENT && r->received > 0))
        return;
    if (status != NOF_EAGAIN) {
        nof_recv_end(nic, r, status);
    } else if ((r->flags & (NOF_RECV_F_PARKED | NOF_RECV_F_AGAIN | NOF_RECV_F_WAITING)) ==
               NOF_RECV_F_PARKED) {
        nof_rndv_later(nic, r); /* one that WAITS was not granted: its links are those of the wait */
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends. Budget of a short one: no allocation after warm-up, no system call unless the NIC sleeps;
 * the payload travels in the descriptor or the bounce arena, so the request ends at once. */
#include <string.h>

#include "chan/nic/chan_nic.h"
#include "comm/comm.h"
#include "delta/delta_count.h"
#include "delta/delta_out.h"
#include "base/error.h"
#include "type/type_layout.h"
#include "base/wait.h"

static struct nof_chan_nic_peer *peer_of(const struct nof_request *req)
{
    return &nof_chan_nic.peers[nof_comm_peer_world(req->comm, req->peer)];
}

/* Small sends are mostly taken by the peer's NIC without the receiver's doing, so they come back
 * soon. A large or synchronous send waits for its receive as long as the program likes, a delta send for
 * the program: they never hold a place. */
static bool windowed(const struct nof_request *req)
{
    return req->mode != NOF_SEND_SYNC && req->delta == 0 && req->meets == 0 &&
           req->bytes <= nof_chan_nic.identity->bounce_max_bytes;
}

static void place_payload(struct nof_desc *desc, struct nof_chan_nic_op *op, const struct nof_request *req)
{
    if (req->delta != 0) {
        nof_chan_nic_place(desc, req);
        nof_chan_nic_place_delta(desc, req);
        return;
    }
    if (req->bytes <= NOF_INLINE_BYTES) {
        desc->flags |= NOF_DESC_F_INLINE;
        if (req->bytes > 0)
            memcpy(desc->inline_data, req->data, req->bytes);
        return;
    }
    if (windowed(req)) {
        void *bounce = nof_pmd_bounce_alloc(nof_chan_nic.pmd, req->bytes, &op->bounce);
        if (bounce != NULL) {
            memcpy(bounce, req->data, req->bytes);
            op->bounced = true;
            desc->flags |= NOF_DESC_F_BOUNCE;
            desc->addr = op->bounce;
            return;
        }
    }
    nof_chan_nic_place(desc, req);
    if (req->meets > 0) {
        desc->flags |= NOF_DESC_F_ANNOUNCED;
        desc->handle = req->meets;
    }
}

static void hand_over(struct nof_request *req)
{
    int world_rank = nof_comm_peer_world(req->comm, req->peer);
    int rc = nof_chan_nic_peer_open(world_rank);
    struct nof_chan_nic_op *op = rc == MPI_SUCCESS ? nof_chan_nic_op_new(NOF_OP_SEND, req) : NULL;
    if (op == NULL) {
        nof_request_fail(req, rc != MPI_SUCCESS ? rc : nof_error(MPI_ERR_NO_MEM, "no memory for a send"));
        return;
    }
    struct nof_desc desc = {
        .opcode = NOF_DESC_SEND,
        .flags = req->mode == NOF_SEND_SYNC ? NOF_DESC_F_SYNC : 0,
        .elem = nof_type_elem(req->type),
        .agreed = req->agreed,
        .ctx = req->ctx,
        .cookie = nof_chan_nic_cookie(op),
        .peer = world_rank,
        .tag = req->tag,
        .len = req->bytes,
    };
    op->peer = world_rank;
    op->ctx = req->ctx;
    op->tag = req->tag;
    op->len = req->bytes;
    op->windowed = windowed(req);
    if (op->windowed)
        nof_chan_nic.peers[world_rank].in_window++;
    place_payload(&desc, op, req);
    nof_chan_nic_submit(&desc);
    bool copied = (desc.flags & (NOF_DESC_F_INLINE | NOF_DESC_F_BOUNCE)) != 0;
    if (copied && req->mode != NOF_SEND_SYNC) {
        op->req = NULL;
        req->channel_op = NULL;
        nof_request_done(req, world_rank, req->tag, req->bytes);
    }
}

static bool may_go(const struct nof_chan_nic_peer *peer, const struct nof_request *req)
{
    uint32_t window = peer->window > NOF_CHAN_NIC_WINDOW ? peer->window : NOF_CHAN_NIC_WINDOW;
    return !windowed(req) || peer->in_window < window;
}

void nof_chan_nic_send(struct nof_request *req)
{
    struct nof_chan_nic_peer *peer = peer_of(req);
    if (nof_chan_nic.nic_dead) {
        nof_request_fail(req, nof_chan_nic.nic_dead_code);
        return;
    }
    if (peer->dead) {
        nof_request_fail(req, nof_chan_nic_dead_code(nof_comm_peer_world(req->comm, req->peer)));
        return;
    }
    nof_chan_count(NOF_CHAN_COUNT_NIC_SENDS, 1);
    nof_chan_count(NOF_CHAN_COUNT_NIC_BYTES, req->bytes);
    if (peer->first == NULL && may_go(peer, req)) {
        hand_over(req);
        return;
    }
    req->next = NULL;
    if (peer->last == NULL)
        peer->first = req;
    else
        peer->last->next = req;
    peer->last = req;
    if (!peer->blocked) {
        peer->blocked = true;
        peer->stalled_ns = nof_lib_now_ns();
        peer->next_blocked = nof_chan_nic.blocked;
        nof_chan_nic.blocked = peer;
    }
}

static void widen_if_stalled(struct nof_chan_nic_peer *peer, uint64_t now_ns)
{
    if (now_ns - peer->stalled_ns < NOF_CHAN_NIC_WINDOW_STALL_NS)
        return;
    peer->stalled_ns = now_ns;
    peer->window = 2 * (peer->in_window > NOF_CHAN_NIC_WINDOW ? peer->in_window : NOF_CHAN_NIC_WINDOW);
}

void nof_chan_nic_send_pump(void)
{
    struct nof_chan_nic_peer **at = &nof_chan_nic.blocked;
    uint64_t now_ns = *at == NULL ? 0 : nof_lib_now_ns();
    while (*at != NULL) {
        struct nof_chan_nic_peer *peer = *at;
        widen_if_stalled(peer, now_ns);
        while (peer->first != NULL && may_go(peer, peer->first)) {
            struct nof_request *req = peer->first;
            peer->first = req->next;
            if (peer->first == NULL)
                peer->last = NULL;
            hand_over(req);
        }
        if (peer->first != NULL) {
            at = &peer->next_blocked;
            continue;
        }
        peer->blocked = false;
        *at = peer->next_blocked;
    }
}

void nof_chan_nic_send_fail_waiting(struct nof_chan_nic_peer *peer, int code)
{
    while (peer->first != NULL) {
        struct nof_request *req = peer->first;
        peer->first = req->next;
        if (peer->first == NULL)
            peer->last = NULL;
        nof_request_fail(req, code);
    }
}

/* Out of the queue of those that were not handed over; false: it is not there. */
static bool take_waiting(struct nof_chan_nic_peer *peer, const struct nof_request *req)
{
    struct nof_request *before = NULL;
    for (struct nof_request *at = peer->first; at != NULL; before = at, at = at->next) {
        if (at != req)
            continue;
        if (before == NULL)
            peer->first = req->next;
        else
            before->next = req->next;
        if (peer->last == req)
            peer->last = before;
        return true;
    }
    return false;
}

static void cancelled(struct nof_request *req)
{
    req->cancelled = true;
    nof_request_done(req, 0, req->tag, 0);
}

/* What the NIC has, or has parked, it takes back if no receive has matched it; else the send ends soon. */
static void ask_cancel(struct nof_chan_nic_op *op)
{
    if (op->cancel_asked)
        return;
    op->cancel_asked = true;
    struct nof_desc desc = {.opcode = NOF_DESC_SEND_CANCEL,
                            .ctx = op->ctx,
                            .cookie = nof_chan_nic_cookie(op),
                            .peer = op->peer,
                            .tag = op->tag};
    nof_chan_nic_submit(&desc);
}

void nof_chan_nic_send_cancel(struct nof_request *req)
{
    struct nof_chan_nic_op *op = req->channel_op;
    if (take_waiting(peer_of(req), req))
        cancelled(req);
    else if (op != NULL)
        ask_cancel(op);
}

/* The barrier of MPI_Finalize has ended here, but its messages may still be on their way to those who wait there. */
void nof_chan_nic_send_withdraw(void)
{
    uint32_t ours = nof_comm_coll_ctx(nof_comm_world());
    for (struct nof_chan_nic_op *op = nof_chan_nic.active; op != NULL; op = op->next_active)
        if (op->phase == NOF_OP_SEND && (op->ctx != ours || op->tag >= (int32_t)NOF_COMM_COLL_TAGS))
            ask_cancel(op);
}

/* The operation ends; its request (NULL: the program does not wait for it) is the caller's. */
static struct nof_request *end(struct nof_chan_nic_op *op)
{
    struct nof_request *req = op->req;
    if (op->windowed) {
        struct nof_chan_nic_peer *p = &nof_chan_nic.peers[op->peer];
        p->in_window--;
        if (p->blocked)
            p->stalled_ns = nof_lib_now_ns();
        if (p->in_window < NOF_CHAN_NIC_WINDOW)
            p->window = NOF_CHAN_NIC_WINDOW;
    }
    nof_chan_nic_op_free(op);
    return req;
}

void nof_chan_nic_send_cancelled(struct nof_chan_nic_op *op, int status)
{
    op->cancel_asked = false;
    if (status != NOF_OK || op->granted) { /* a peer NIC that says both: nobody but the host knows */
        nof_wait_signal(); /* too late: it ends as if nothing was said; but who cancelled may wait for that */
        return;
    }
    struct nof_request *req = end(op);
    if (req != NULL)
        cancelled(req);
}

/* Not for the first time, if there is no room at the receiver for one that it has granted: it will grant it again. */
void nof_chan_nic_send_parked(struct nof_chan_nic_op *op)
{
    bool first = !op->granted;
    op->parked = true;
    op->granted = false;
    struct nof_delta_out *out = op->req == NULL ? NULL : op->req->delta_out;
    if (out != NULL && first) {
        nof_delta_out_parked(out);
        nof_delta_count(NOF_DELTA_COUNT_SENDS_PLAIN, out->looked_at); /* else it is counted */
    }
    if (nof_chan_nic.peers[op->peer].dead)
        nof_chan_nic_send_lost(op, nof_chan_nic_dead_code(op->peer));
}

void nof_chan_nic_send_lost(struct nof_chan_nic_op *op, int code)
{
    struct nof_request *req = end(op);
    if (req != NULL)
        nof_request_fail(req, code);
}

void nof_chan_nic_send_done(struct nof_chan_nic_op *op, const struct nof_comp *comp)
{
    int32_t peer = op->peer;
    struct nof_request *req = end(op);
    if (req == NULL)
        return;
    if (comp->status == NOF_OK || comp->status == NOF_ETRUNC)
        nof_request_done(req, peer, req->tag, req->bytes);
    else
        nof_request_fail(req, nof_chan_nic_status_code(comp->status, peer));
}

/* A parked send is wanted after all: the same send again, with the grant. Its bytes are in the bounce arena or
 * still the program's: only a synchronous send is parked that went INLINE (nof/desc.h, "Park"). */
static void submit_granted(struct nof_chan_nic_op *op)
{
    struct nof_request *req = op->req;
    op->parked = false;
    struct nof_desc desc = {
        .opcode = NOF_DESC_SEND,
        .flags = NOF_DESC_F_GRANTED,
        .ctx = op->ctx,
        .cookie = nof_chan_nic_cookie(op),
        .peer = op->peer,
        .tag = op->tag,
        .len = op->len,
    };
    if (req != NULL) {
        desc.elem = nof_type_elem(req->type);
        if (req->mode == NOF_SEND_SYNC)
            desc.flags |= NOF_DESC_F_SYNC;
        nof_chan_nic_place(&desc, req);
    }
    if (op->bounced) {
        desc.flags |= NOF_DESC_F_BOUNCE;
        desc.addr = op->bounce;
    }
    desc.handle = op->handle;
    desc.callsite = op->granted_len;
    nof_chan_nic_submit(&desc);
}

/* False: it is a delta send that has not ended. */
static bool may_submit(struct nof_chan_nic_op *op)
{
    size_t bytes = 0;
    if (op->req == NULL || op->req->delta_out == NULL)
        return true;
    if (!nof_delta_out_over(op->req->delta_out, &bytes))
        return false;
    op->len = bytes;
    return true;
}

void nof_chan_nic_send_granted(struct nof_chan_nic_op *op, const struct nof_comp *comp)
{
    if (op->granted)
        return; /* a peer NIC that says it twice */
    op->granted = true;
    op->handle = comp->handle;
    op->granted_len = comp->granted_len;
    if (may_submit(op))
        submit_granted(op);
}

void nof_chan_nic_send_ended(void)
{
    for (struct nof_chan_nic_op *op = nof_chan_nic.active; op != NULL; op = op->next_active)
        if (op->phase == NOF_OP_SEND && op->parked && op->granted && may_submit(op))
            submit_granted(op);
}

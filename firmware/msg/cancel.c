/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/cancel.h"

#include "msg/answer.h"
#include "flow/link.h"
#include "flow/peer.h"
#include "msg/recv.h"
#include "msg/rendezvous.h"
#include "msg/send.h"
#include "msg/spill.h"
#include "msg/unexpected.h"

/* --- cookies -------------------------------------------------------------------------------------- */

static uint32_t *bucket_of(struct nof_nic *nic, uint32_t ep, uint64_t cookie)
{
    return &nic->send_cookies[nof_cookie_hash(nic->seed, ep, cookie) & nic->send_cookies_mask];
}

void nof_cancel_index(struct nof_nic *nic, struct nof_send *s)
{
    uint32_t i = nof_send_index(nic, s);
    uint32_t *bucket = bucket_of(nic, s->ep, s->cookie);
    s->marks |= NOF_SEND_M_INDEXED;
    s->cookie_prev = NOF_NIL;
    s->cookie_next = *bucket;
    if (*bucket != NOF_NIL)
        nof_send_at(nic, *bucket)->cookie_prev = i;
    *bucket = i;
}

void nof_cancel_unindex(struct nof_nic *nic, struct nof_send *s)
{
    s->marks &= (uint8_t)~NOF_SEND_M_INDEXED;
    if (s->cookie_prev == NOF_NIL)
        *bucket_of(nic, s->ep, s->cookie) = s->cookie_next;
    else
        nof_send_at(nic, s->cookie_prev)->cookie_next = s->cookie_next;
    if (s->cookie_next != NOF_NIL)
        nof_send_at(nic, s->cookie_next)->cookie_prev = s->cookie_prev;
}

static struct nof_send *find_send(struct nof_nic *nic, struct nof_endpoint *ep, uint64_t cookie)
{
    uint32_t i = *bucket_of(nic, ep->index, cookie);
    /* bound: sends of one hash, whose seed is secret; paid by the SEND_CANCEL */
    while (i != NOF_NIL) {
        struct nof_send *s = nof_send_at(nic, i);
        if (s->ep == ep->index && s->cookie == cookie)
            return s;
        i = s->cookie_next;
    }
    return NULL;
}

/* --- asking --------------------------------------------------------------------------------------- */

/* The question that a handle names, or NULL: it has been answered. */
static struct nof_recv *question(const struct nof_nic *nic, uint64_t handle, uint32_t peer)
{
    uint32_t i = (uint32_t)handle;
    if (i >= nic->recvs.high)
        return NULL;
    struct nof_recv *r = nof_recv_at(nic, i);
    return r->state == NOF_RECV_CANCEL && r->obj.gen == handle >> 32 && r->peer == peer ? r : NULL;
}

static void ask(struct nof_nic *nic, struct nof_recv *r)
{
    const struct nof_peer *peer = nof_peer_at(nic, r->peer);
    uint8_t fields[NOF_WIRE_CANCEL_BYTES];
    if (peer->flags & NOF_PEER_F_DEAD)
        return; /* r is about to end */
    r->flags |= NOF_RECV_F_ASKED;
    nof_put64(fields + NOF_WIRE_CANCEL_ASKER, nof_handle(nof_recv_index(nic, r), r->obj.gen));
    nof_put64(fields + NOF_WIRE_CANCEL_SENDER, r->remote);
    nof_put32(fields + NOF_WIRE_CANCEL_CTX, r->key.ctx);
    nof_put32(fields + NOF_WIRE_CANCEL_TAG, (uint32_t)r->key.tag);
    nof_link_ctl(nic, &nic->links[peer->link], NOF_WIRE_CANCEL,
                 r->flags & NOF_RECV_F_PARKED ? NOF_WIRE_RTS_F_PARKED : 0, peer->ep, peer->remote_ep, fields,
                 sizeof fields);
}

void nof_cancel_again(struct nof_nic *nic, struct nof_recv *r)
{
    ask(nic, r);
}

static struct nof_recv *make_question(struct nof_nic *nic, struct nof_endpoint *ep,
                                      const struct nof_peer *peer, const struct nof_desc *desc)
{
    struct nof_recv *r = nof_recv_take(nic, ep, NOF_COMP_SEND_CANCEL);
    if (r == NULL)
        return NULL;
    r->state = NOF_RECV_CANCEL;
    r->key = (struct nof_match_key){
        .ep = ep->index, .ctx = desc->ctx, .source = (int32_t)peer->rank, .tag = desc->tag};
    r->cookie = desc->cookie;
    r->capacity = 0;
    r->peer = nof_peer_index(nic, peer);
    nof_recv_list(nic, r);
    return r;
}

/* Is the receiver to be asked about this send? Else it has been granted, or will complete by itself. */
static int undecided(const struct nof_send *s)
{
    if (s->status != NOF_OK || (s->marks & (NOF_SEND_M_MATCHED | NOF_SEND_M_CANCEL)))
        return 0;
    if (s->state == NOF_SEND_CTS_WAIT)
        return (s->flags & NOF_DESC_F_GRANTED) == 0;
    return (s->flags & NOF_DESC_F_SYNC) && (s->state == NOF_SEND_MATCH_WAIT || s->state == NOF_SEND_QUEUED);
}

static void ask_for(struct nof_nic *nic, struct nof_send *s, struct nof_recv *r)
{
    uint64_t handle = nof_handle(nof_send_index(nic, s), s->obj.gen);
    s->marks |= NOF_SEND_M_CANCEL;
    s->question = nof_handle(nof_recv_index(nic, r), r->obj.gen);
    r->key.ctx = s->ctx;
    r->key.tag = s->tag;
    r->remote = s->state == NOF_SEND_CTS_WAIT ? handle : handle | NOF_HANDLE_SYNC;
    if (s->state == NOF_SEND_CTS_WAIT)
        ask(nic, r);
    else
        nof_cancel_step(nic, s);
}

void nof_cancel_submit(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    struct nof_send *s = find_send(nic, ep, desc->cookie);
    if (s != NULL && s->state == NOF_SEND_QUEUED && s->sent == 0 && !(s->marks & NOF_SEND_M_ISSUED)) {
        nof_send_forget(nic, s);
        nof_count(nic, ep, NOF_C_SENDS_CANCELLED, 1);
        nof_answer_desc(nic, ep, desc, NOF_OK);
        return;
    }
    struct nof_peer *peer = nof_peer_of_desc(nic, ep, (uint32_t)desc->peer);
    if (s != NULL)
        peer = nof_peer_at(nic, s->peer);
    int alive = peer != NULL && !(peer->flags & NOF_PEER_F_DEAD);
    /* One that we know nothing of may be parked: then the host has it, and the receiver its envelope. */
    int parked = s == NULL && alive && peer->parked > 0 && (desc->cookie & NOF_HANDLE_PARKED) == 0;
    struct nof_recv *r = NULL;
    if (parked || (alive && s != NULL && undecided(s)))
        r = make_question(nic, ep, peer, desc);
    if (r == NULL) {
        nof_answer_desc(nic, ep, desc, NOF_ENOMATCH);
    } else if (s != NULL) {
        ask_for(nic, s, r);
    } else {
        r->remote = desc->cookie;
        r->flags |= NOF_RECV_F_PARKED;
        ask(nic, r);
    }
}

void nof_cancel_step(struct nof_nic *nic, struct nof_send *s)
{
    uint32_t self = nof_send_index(nic, s);
    struct nof_recv *r = question(nic, s->question, s->peer);
    if (s->state != NOF_SEND_MATCH_WAIT || r == NULL || (r->flags & NOF_RECV_F_ASKED))
        return;
    uint32_t tail = nof_peer_at(nic, s->peer)->readq;
    /* bound: reads under way of one flow, NOF_READS_PER_FLOW; paid by the SEND_CANCEL */
    for (uint32_t i = nof_queue_head(&nic->reads, tail); i != NOF_NIL;
         i = i == tail ? NOF_NIL : nof_read_at(nic, i)->obj.next)
        if (nof_read_at(nic, i)->send == self)
            return; /* control frames would overtake it */
    ask(nic, r);
}

void nof_cancel_send_ended(struct nof_nic *nic, const struct nof_send *s)
{
    struct nof_recv *r = question(nic, s->question, s->peer);
    if (r != NULL)
        nof_recv_end(nic, r, NOF_ENOMATCH);
}

/* The receiver has forgotten the message: so do we. NOF_ENOMATCH: its send has ended another way. */
static int forget(struct nof_nic *nic, struct nof_peer *peer, const struct nof_recv *r)
{
    if (r->flags & NOF_RECV_F_PARKED) {
        if (peer->parked == 0)
            return NOF_ENOMATCH;
        peer->parked--;
        nof_peer_expect(nic, peer, -1);
        return NOF_OK;
    }
    struct nof_send *s = nof_send_by_handle(nic, peer, r->remote & ~NOF_HANDLE_SYNC);
    if (s == NULL || (s->state != NOF_SEND_CTS_WAIT && s->state != NOF_SEND_MATCH_WAIT))
        return NOF_ENOMATCH;
    nof_send_forget(nic, s);
    return NOF_OK;
}

int nof_cancel_answer_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view)
{
    if (view->fields_bytes != NOF_WIRE_CANCELLED_BYTES)
        return NOF_EPROTO;
    struct nof_recv *r =
        question(nic, nof_get64(view->fields + NOF_WIRE_CANCELLED_ASKER), nof_peer_index(nic, peer));
    int status = (int)(int32_t)nof_get32(view->fields + NOF_WIRE_CANCELLED_STATUS);
    if (r == NULL || (r->flags & (NOF_RECV_F_ASKED | NOF_RECV_F_AGAIN)) != NOF_RECV_F_ASKED)
        return NOF_OK;
    if (status == NOF_EAGAIN) {
        nof_rndv_later(nic, r);
        return NOF_OK;
    }
    if (status == NOF_OK)
        status = forget(nic, peer, r);
    if (status == NOF_OK)
        nof_count(nic, &nic->eps[r->ep], NOF_C_SENDS_CANCELLED, 1);
    nof_recv_end(nic, r, status == NOF_OK ? NOF_OK : NOF_ENOMATCH);
    return NOF_OK;
}

/* --- answering ------------------------------------------------------------------------------------ */

static void answer(struct nof_nic *nic, const struct nof_peer *peer, uint64_t handle, int status)
{
    uint8_t fields[NOF_WIRE_CANCELLED_BYTES];
    nof_put64(fields + NOF_WIRE_CANCELLED_ASKER, handle);
    nof_put32(fields + NOF_WIRE_CANCELLED_STATUS, (uint32_t)status);
    nof_put32(fields + NOF_WIRE_CANCELLED_PAD, 0);
    nof_link_ctl(nic, &nic->links[peer->link], NOF_WIRE_CANCELLED, 0, peer->ep, peer->remote_ep, fields,
                 sizeof fields);
}

int nof_cancel_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view)
{
    if (view->fields_bytes != NOF_WIRE_CANCEL_BYTES ||
        (int32_t)nof_get32(view->fields + NOF_WIRE_CANCEL_TAG) < 0)
        return NOF_EPROTO;
    struct nof_endpoint *ep = &nic->eps[peer->ep];
    uint8_t parked = view->flags & NOF_WIRE_RTS_F_PARKED ? NOF_ENV_F_PARKED : 0;
    uint64_t asker = nof_get64(view->fields + NOF_WIRE_CANCEL_ASKER);
    uint64_t handle = nof_get64(view->fields + NOF_WIRE_CANCEL_SENDER);
    struct nof_match_key key = {.ep = peer->ep,
                                .ctx = nof_get32(view->fields + NOF_WIRE_CANCEL_CTX),
                                .source = (int32_t)peer->rank,
                                .tag = (int32_t)nof_get32(view->fields + NOF_WIRE_CANCEL_TAG)};
    struct nof_env *e = nof_match_find_handle(nic, &key, handle, parked);
    int status = e != NULL ? NOF_OK : NOF_ENOMATCH;
    if (e != NULL && e->early != NOF_NIL) {
        status = NOF_ENOMATCH; /* the grant is on its way and counts */
    } else if (e != NULL) {
        nof_unexpected_withdraw(nic, e);
    } else if (ep->spilling) {
        struct nof_comp comp = {.opcode = NOF_COMP_REVOKE,
                                .ctx = key.ctx,
                                .cookie = asker,
                                .peer = key.source,
                                .tag = key.tag,
                                .handle = handle | (parked ? NOF_HANDLE_PARKED : 0)};
        status = nof_answer(nic, ep, &comp);
        if (status == NOF_OK) {
            ep->revokes++;
            return NOF_OK;
        }
    }
    answer(nic, peer, asker, status);
    return NOF_OK;
}

int nof_cancel_revoked(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    struct nof_peer *peer = nof_peer_of_desc(nic, ep, (uint32_t)desc->peer);
    if (ep->revokes == 0)
        return NOF_EINVAL;
    ep->revokes--;
    if (peer == NULL)
        return NOF_OK;
    if (desc->flags & NOF_DESC_F_GONE)
        nof_spill_forget(nic, ep, peer, desc->handle);
    if (!(peer->flags & NOF_PEER_F_DEAD))
        answer(nic, peer, desc->cookie, desc->flags & NOF_DESC_F_GONE ? NOF_OK : NOF_ENOMATCH);
    return NOF_OK;
}

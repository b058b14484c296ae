/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/cancel.h"

#include "msg/answer.h"
#include "flow/link.h"
#include "flow/peer.h"
#include "msg/question.h"
#include "msg/recv.h"
#include "msg/send.h"
#include "msg/spill.h"
#include "msg/unexpected.h"
#include "payload/recv_wait.h"

static struct nof_recv *make_question(struct nof_nic *nic, struct nof_endpoint *ep,
                                      const struct nof_peer *peer, const struct nof_desc *desc)
{
    struct nof_recv *r = nof_recv_take(nic, ep, NOF_COMP_SEND_CANCEL);
    if (r == NULL)
        return NULL;
    struct nof_match_key key = {
        .ep = ep->index, .ctx = desc->ctx, .source = (int32_t)peer->rank, .tag = desc->tag};
    nof_recv_call(r, &key, desc->cookie, 0, 0, NOF_NIL);
    nof_recv_question(r, nof_peer_index(nic, peer));
    nof_recv_list(nic, r);
    return r;
}

/* Is the receiver to be asked about this send? Else it has been granted, or will complete by itself. */
static bool undecided(const struct nof_send *s)
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
    nof_send_asked(s, nof_handle(nof_recv_index(nic, r), r->obj.gen));
    nof_recv_question_about(r, s->ctx, s->tag,
                            s->state == NOF_SEND_CTS_WAIT ? handle : handle | NOF_HANDLE_SYNC, false);
    if (s->state == NOF_SEND_CTS_WAIT)
        nof_question_ask(nic, r);
    else
        nof_question_step(nic, s);
}

void nof_cancel_submit(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    struct nof_send *s = nof_send_by_cookie(nic, ep, desc->cookie);
    if (s != NULL && s->state == NOF_SEND_QUEUED && s->sent == 0 && !(s->marks & NOF_SEND_M_ISSUED)) {
        nof_send_forget(nic, s);
        nof_count(nic, ep, NOF_C_SENDS_CANCELLED, 1);
        nof_answer_desc(nic, ep, desc, NOF_OK);
        return;
    }
    struct nof_peer *peer = nof_peer_of_desc(nic, ep, (uint32_t)desc->peer);
    if (s != NULL)
        peer = nof_peer_at(nic, s->peer);
    bool alive = peer != NULL && !(peer->flags & NOF_PEER_F_DEAD);
    /* One that we know nothing of may be parked: then the host has it, and the receiver its envelope. */
    bool parked = s == NULL && alive && peer->parked > 0 && (desc->cookie & NOF_HANDLE_PARKED) == 0;
    struct nof_recv *r = NULL;
    if (parked || (alive && s != NULL && undecided(s)))
        r = make_question(nic, ep, peer, desc);
    if (r == NULL) {
        nof_answer_desc(nic, ep, desc, NOF_ENOMATCH);
    } else if (s != NULL) {
        ask_for(nic, s, r);
    } else {
        nof_recv_question_about(r, desc->ctx, desc->tag, desc->cookie, true);
        nof_question_ask(nic, r);
    }
}

/* The receiver has forgotten the message: so do we. NOF_ENOMATCH: its send has ended another way. */
static int forget(struct nof_nic *nic, struct nof_peer *peer, const struct nof_recv *r)
{
    if (r->parked) {
        if (peer->parked == 0)
            return NOF_ENOMATCH;
        nof_send_unparked(nic, peer);
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
        nof_question_find(nic, nof_get64(view->fields + NOF_WIRE_CANCELLED_ASKER), nof_peer_index(nic, peer));
    int status = (int)(int32_t)nof_get32(view->fields + NOF_WIRE_CANCELLED_STATUS);
    if (r == NULL || !r->asked || r->again)
        return NOF_OK;
    if (status == NOF_EAGAIN) {
        nof_recv_wait_a_while(nic, r);
        return NOF_OK;
    }
    if (status == NOF_OK)
        status = forget(nic, peer, r);
    if (status == NOF_OK)
        nof_count(nic, &nic->eps[r->ep], NOF_C_SENDS_CANCELLED, 1);
    nof_recv_end(nic, r, status == NOF_OK ? NOF_OK : NOF_ENOMATCH);
    return NOF_OK;
}

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

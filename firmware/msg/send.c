/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hot path: one send and one frame per small message; no allocation beyond the pools. */
#include "msg/send.h"

#include "msg/answer.h"
#include "flow/credit.h"
#include "flow/clearance.h"
#include "msg/delta_slots.h"
#include "msg/direct.h"
#include "flow/completion.h"
#include "base/invariant.h"
#include "flow/link.h"
#include "flow/peer.h"
#include "msg/question.h"
#include "msg/read.h"
#include "flow/scheduler.h"
#include "msg/taps.h"
#include "nof_private/fence.h"

#define DATA_PREV offsetof(struct nof_send, data_prev)
#define RUNG_STEPS 8u /* to look for what is ready in a board */

static uint32_t *bucket_of(struct nof_nic *nic, uint32_t ep, uint64_t cookie)
{
    return &nic->send_cookies[nof_cookie_hash(nic->seed, ep, cookie) & nic->send_cookies_mask];
}

static void index_cookie(struct nof_nic *nic, struct nof_send *s)
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

static void unindex_cookie(struct nof_nic *nic, struct nof_send *s)
{
    s->marks &= (uint8_t)~NOF_SEND_M_INDEXED;
    if (s->cookie_prev == NOF_NIL)
        *bucket_of(nic, s->ep, s->cookie) = s->cookie_next;
    else
        nof_send_at(nic, s->cookie_prev)->cookie_next = s->cookie_next;
    if (s->cookie_next != NOF_NIL)
        nof_send_at(nic, s->cookie_next)->cookie_prev = s->cookie_prev;
}

static struct nof_send *by_cookie(struct nof_nic *nic, const struct nof_endpoint *ep, uint64_t cookie,
                                  unsigned step)
{
    uint32_t i = *bucket_of(nic, ep->index, cookie);
    /* bound: sends of one hash, whose seed is secret; paid by the SEND_CANCEL, or the step */
    while (i != NOF_NIL) {
        struct nof_send *s = nof_send_at(nic, i);
        if (s->ep == ep->index && s->cookie == cookie && (s->flags & NOF_SEND_F_STEP) == step)
            return s;
        i = s->cookie_next;
    }
    return NULL;
}

struct nof_send *nof_send_by_cookie(struct nof_nic *nic, const struct nof_endpoint *ep, uint64_t cookie)
{
    return by_cookie(nic, ep, cookie, 0);
}

struct nof_send *nof_send_by_step(struct nof_nic *nic, const struct nof_endpoint *ep, uint64_t cookie)
{
    return by_cookie(nic, ep, cookie, NOF_SEND_F_STEP);
}

uint32_t nof_send_room(const struct nof_nic *nic, const struct nof_endpoint *ep)
{
    uint32_t spare = nof_send_spare(nic);
    if (spare > 0)
        return spare;
    uint32_t busy = ep->sends_used - ep->driven_sends - ep->delta_extra;
    return busy < nic->sends_min ? nic->sends_min - busy : 0;
}

static struct nof_send *send_take(struct nof_nic *nic, struct nof_endpoint *ep)
{
    uint32_t i = nof_pool_take(&nic->sends);
    if (i == NOF_NIL)
        return NULL;
    struct nof_send *s = nof_send_at(nic, i);
    memset((unsigned char *)s + sizeof s->obj, 0, sizeof *s - sizeof s->obj);
    s->ep = (uint16_t)ep->index;
    s->order = ep->send_order++;
    s->ep_next = NOF_NIL;
    s->ep_prev = ep->sends_tail;
    if (ep->sends_tail == NOF_NIL)
        ep->sends_head = i;
    else
        nof_send_at(nic, ep->sends_tail)->ep_next = i;
    ep->sends_tail = i;
    ep->sends_used++;
    nic->sends_live++;
    return s;
}

void nof_send_free(struct nof_nic *nic, struct nof_send *s)
{
    s->state = NOF_SEND_FREE;
    nic->eps[s->ep].sends_used--;
    nof_pool_give(&nic->sends, nof_send_index(nic, s));
}

static void leave_endpoint(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_send *s)
{
    if (s->marks & NOF_SEND_M_INDEXED)
        unindex_cookie(nic, s);
    if (s->ep_prev == NOF_NIL)
        ep->sends_head = s->ep_next;
    else
        nof_send_at(nic, s->ep_prev)->ep_next = s->ep_next;
    if (s->ep_next == NOF_NIL)
        ep->sends_tail = s->ep_prev;
    else
        nof_send_at(nic, s->ep_next)->ep_prev = s->ep_prev;
    nic->sends_live--;
}

/* The send waits for its match, or does so no longer. */
static void set_asking(struct nof_nic *nic, struct nof_send *s, bool asking)
{
    struct nof_endpoint *ep = &nic->eps[s->ep];
    if (asking == ((s->marks & NOF_SEND_M_ASKING) != 0) || (s->marks & NOF_SEND_M_EXTRA) != 0)
        return;
    s->marks ^= NOF_SEND_M_ASKING;
    ep->sends_asking = asking ? ep->sends_asking + 1 : ep->sends_asking - 1;
}

/* Out of everything but a queue of its peer. */
static void leave(struct nof_nic *nic, struct nof_send *s)
{
    if (s->layout != NOF_NIL)
        nof_layout_drop(&nic->layouts, s->layout);
    if (s->delta)
        nof_delta_send_leave(nic, s);
    set_asking(nic, s, false);
    leave_endpoint(nic, &nic->eps[s->ep], s);
}

/* The last word about this send. */
static void complete(struct nof_nic *nic, struct nof_send *s, uint8_t opcode)
{
    struct nof_endpoint *ep = &nic->eps[s->ep];
    struct nof_comp comp = {.opcode = opcode,
                            .status = (int16_t)s->status,
                            .ctx = s->ctx,
                            .cookie = s->cookie,
                            .peer = (int32_t)nof_peer_at(nic, s->peer)->rank,
                            .tag = s->tag,
                            .len = s->len};
    if (s->marks & NOF_SEND_M_CANCEL)
        nof_question_send_ended(nic, s);
    leave(nic, s);
    s->state = NOF_SEND_DONE;
    if (s->flags & NOF_SEND_F_STEP) {
        nof_send_free(nic, s);
        nic->taps->step_news(nic, ep, comp.cookie, NOF_STEP_NEWS_ENDED, comp.status, comp.len);
    } else if (nof_completion_say(nic, ep, &comp))
        nof_send_free(nic, s);
    else
        nof_completion_keep(nic, ep, &comp, NOF_REF(NOF_REF_SEND, nof_send_index(nic, s)));
}

static void unlist(struct nof_nic *nic, struct nof_send *s)
{
    if (!(s->marks & NOF_SEND_M_LISTED))
        return;
    s->marks &= (uint8_t)~NOF_SEND_M_LISTED;
    nof_peer_unlist(nic, nof_peer_at(nic, s->peer), &s->wait);
}

static void list(struct nof_nic *nic, struct nof_send *s)
{
    if (s->marks & NOF_SEND_M_LISTED)
        return;
    s->marks |= NOF_SEND_M_LISTED;
    nof_peer_list(nic, nof_peer_at(nic, s->peer), NOF_REF(NOF_REF_SEND, nof_send_index(nic, s)), &s->wait);
}

/* Complete the send if every byte is in a frame and nobody need answer. */
static void settle(struct nof_nic *nic, struct nof_send *s)
{
    if (!(s->marks & NOF_SEND_M_ISSUED) || s->reads > 0)
        return;
    if (s->state == NOF_SEND_QUEUED && (s->flags & NOF_DESC_F_SYNC) && !(s->marks & NOF_SEND_M_MATCHED) &&
        s->status == NOF_OK)
        s->state = NOF_SEND_MATCH_WAIT;
    if (s->state == NOF_SEND_MATCH_WAIT && !(s->marks & NOF_SEND_M_MATCHED)) {
        if (s->marks & NOF_SEND_M_CANCEL)
            nof_question_step(nic, s);
        return;
    }
    unlist(nic, s);
    complete(nic, s, NOF_COMP_SEND);
}

void nof_send_end(struct nof_nic *nic, struct nof_send *s, int status)
{
    struct nof_peer *peer = nof_peer_at(nic, s->peer);
    if (s->state == NOF_SEND_GONE) {
        nof_send_free(nic, s);
        return;
    }
    unlist(nic, s);
    if (s->marks & NOF_SEND_M_IN_DATAQ) {
        s->marks &= (uint8_t)~NOF_SEND_M_IN_DATAQ;
        nof_ring_remove(&nic->sends, &peer->dataq, nof_send_index(nic, s), DATA_PREV);
    }
    s->marks |= NOF_SEND_M_ISSUED;
    s->status = status;
    s->state = NOF_SEND_ENDING;
    settle(nic, s);
}

/* The flow waits for envelope credit no longer, if it did. */
static bool unstall(struct nof_nic *nic, struct nof_peer *peer)
{
    if (!peer->stalled)
        return false;
    peer->stalled = 0;
    nof_peer_expect(nic, peer, -1);
    return true;
}

/* Those at the head of sendq that were cancelled. A flow with nothing to send does not wait for credit. */
static void drop_gone(struct nof_nic *nic, struct nof_peer *peer)
{
    uint32_t i;
    /* bound: sends that were cancelled, each once; paid by the SEND_CANCEL */
    while ((i = nof_queue_head(&nic->sends, peer->sendq)) != NOF_NIL &&
           nof_send_at(nic, i)->state == NOF_SEND_GONE) {
        nof_queue_pop(&nic->sends, &peer->sendq);
        nof_send_free(nic, nof_send_at(nic, i));
    }
    if (peer->sendq == NOF_NIL)
        unstall(nic, peer);
}

bool nof_send_end_first(struct nof_nic *nic, struct nof_peer *peer, int status)
{
    uint32_t i = nof_queue_pop(&nic->sends, &peer->sendq);
    if (i == NOF_NIL)
        return false;
    nof_send_end(nic, nof_send_at(nic, i), status);
    return true;
}

void nof_send_forget(struct nof_nic *nic, struct nof_send *s)
{
    bool queued = s->state == NOF_SEND_QUEUED;
    unlist(nic, s);
    leave(nic, s);
    if (!queued) {
        nof_send_free(nic, s);
        return;
    }
    s->state = NOF_SEND_GONE;
    drop_gone(nic, nof_peer_at(nic, s->peer));
}

void nof_send_dma_done(struct nof_nic *nic, uint32_t index, int status)
{
    struct nof_send *s = nof_send_at(nic, nof_read_at(nic, index)->send);
    struct nof_peer *peer = nof_peer_at(nic, s->peer);
    nof_read_done(nic, index, status);
    s->reads--;
    if (status == NOF_OK && (s->marks & NOF_SEND_M_LISTED) && (peer->flags & NOF_PEER_F_DEAD))
        status = peer->status; /* it is about to end, and its frames were thrown away */
    if (status != NOF_OK && s->status == NOF_OK && s->state != NOF_SEND_ENDING) {
        if (s->state == NOF_SEND_QUEUED &&
            !(s->marks & NOF_SEND_M_ISSUED)) /* it has begun: none is before it */
            nof_invariant(nof_queue_pop(&nic->sends, &peer->sendq) == nof_send_index(nic, s));
        nof_send_end(nic, s, status);
        return;
    }
    settle(nic, s);
}

/* A send that was parked, or was to come later, is back: tell the receiver where to grant. */
static void resume(struct nof_nic *nic, struct nof_peer *peer, struct nof_send *s, uint64_t remote)
{
    uint8_t fields[NOF_WIRE_MSG_BYTES];
    nof_put32(fields + NOF_WIRE_MSG_CTX, s->ctx);
    nof_put32(fields + NOF_WIRE_MSG_TAG, (uint32_t)s->tag);
    nof_put64(fields + NOF_WIRE_MSG_LEN, s->len);
    nof_put64(fields + NOF_WIRE_MSG_SEQ, remote);
    nof_put64(fields + NOF_WIRE_MSG_HANDLE, nof_handle(nof_send_index(nic, s), s->obj.gen));
    s->state = NOF_SEND_CTS_WAIT;
    set_asking(nic, s, true);
    list(nic, s);
    nof_link_ctl(nic, &nic->links[peer->link], NOF_WIRE_RTS, NOF_WIRE_RTS_F_RESUME, peer->ep, peer->remote_ep,
                 fields, sizeof fields);
}

void nof_send_submit(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc,
                     uint32_t layout, bool parks)
{
    struct nof_peer *peer = nof_peer_of_desc(nic, ep, (uint32_t)desc->peer);
    if (peer != NULL && nof_direct_send(nic, ep, peer, desc) == NOF_OK)
        return;
    struct nof_send *s = peer != NULL ? send_take(nic, ep) : NULL;
    if (s == NULL) {
        int status = peer == NULL ? NOF_ENOENT : NOF_ENOMEM;
        if (desc->flags & NOF_SEND_F_STEP)
            nic->taps->step_news(nic, ep, desc->cookie, NOF_STEP_NEWS_ENDED, status, 0);
        else
            nof_answer_desc(nic, ep, desc, status);
        return;
    }
    s->state = NOF_SEND_QUEUED;
    s->flags = desc->flags;
    s->elem = desc->elem;
    s->agreed = desc->agreed;
    s->peer = nof_peer_index(nic, peer);
    s->ctx = desc->ctx;
    s->tag = desc->tag;
    s->cookie = desc->cookie;
    s->len = desc->len;
    s->layout = layout;
    if ((desc->flags & (NOF_DESC_F_ANNOUNCED | NOF_DESC_F_GRANTED | NOF_DESC_F_DELTA)) ==
        NOF_DESC_F_ANNOUNCED)
        s->meets = desc->handle;
    if (layout != NOF_NIL)
        nof_layout_hold(&nic->layouts, layout);
    if (desc->flags & NOF_DESC_F_INLINE)
        memcpy(s->inline_data, desc->inline_data, NOF_INLINE_BYTES);
    else
        s->addr = desc->addr;
    if ((desc->flags & NOF_DESC_F_DELTA) && !parks)
        nof_delta_send_begin(nic, s, desc->handle);
    index_cookie(nic, s);
    if (peer->flags & NOF_PEER_F_DEAD) {
        nof_send_end(nic, s, peer->status);
        return;
    }
    if (!(peer->flags & NOF_PEER_F_TX))
        nof_peer_want(nic, peer);
    if (desc->flags & NOF_DESC_F_GRANTED) {
        resume(nic, peer, s, desc->handle);
        return;
    }
    nof_queue_push(&nic->sends, &peer->sendq, nof_send_index(nic, s));
    nof_scheduler_activate(nic, peer);
}

/* So many wait for their match that, if it never comes, the endpoint's guaranteed share would be used
 * up by them: its host keeps this one for us. The cookie must leave room for our mark. Delta sends with a slot, of which there
 * are few, go on without their host, those without a slot never do. */
static bool must_park(const struct nof_nic *nic, const struct nof_send *s)
{
    if (s->flags & NOF_DESC_F_DELTA)
        return !s->delta;
    return nic->eps[s->ep].sends_asking >= nic->sends_min / 2 && (s->cookie & NOF_HANDLE_PARKED) == 0;
}

/* Park it: its host has it until the receiver wants it. */
static void hand_back(struct nof_nic *nic, struct nof_peer *peer, struct nof_send *s)
{
    unlist(nic, s);
    complete(nic, s, NOF_COMP_PARKED);
    peer->parked++;
    nof_peer_expect(nic, peer, 1); /* the host learns of the peer's death from us alone */
}

/* One of many to one, which the way may not hold. An empty one is its envelope. */
static bool may_meet(const struct nof_nic *nic, const struct nof_peer *peer, const struct nof_send *s)
{
    return (s->flags & NOF_DESC_F_ANNOUNCED) && s->len > 0 &&
           !nof_clearance_holds(nic, &nic->links[peer->link], s->meets);
}

static bool eager_now(const struct nof_nic *nic, const struct nof_peer *peer, const struct nof_send *s)
{
    bool sync = (s->flags & NOF_DESC_F_SYNC) != 0;
    uint32_t blocks = nof_netmem_charge(s->len, sync);
    /* What came in the descriptor is with us alone and fits the envelope: it never asks, whatever
     * eager_max_bytes is, and so never waits for its match and never has to be parked. */
    if ((s->flags & NOF_DESC_F_INLINE) && !sync)
        return true;
    return s->len <= nic->features[NOF_F_EAGER_MAX] && !may_meet(nic, peer, s) &&
           !(s->flags & NOF_DESC_F_DELTA) && blocks <= peer->tx_blocks_allowed - peer->tx_blocks_used &&
           !(sync && must_park(nic, s));
}

static enum nof_pump send_rts(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                              struct nof_send *s, uint32_t *bytes, unsigned *frames)
{
    uint8_t *body;
    struct nof_frame *frame = nof_link_frame(nic, link, NOF_WIRE_MSG_BYTES, &body);
    if (frame == NULL)
        return NOF_PUMP_BUSY;
    if (s->len >= nic->grants.min_bytes && link->path != NULL)
        nic->taps->announces(nic, link, peer, s);
    int park = must_park(nic, s);
    uint64_t handle = park ? s->cookie : nof_handle(nof_send_index(nic, s), s->obj.gen);
    nof_put32(body + NOF_WIRE_MSG_CTX, s->ctx);
    nof_put32(body + NOF_WIRE_MSG_TAG, (uint32_t)s->tag);
    nof_put64(body + NOF_WIRE_MSG_LEN, s->len);
    nof_put32(body + NOF_WIRE_MSG_SEQ, nof_credit_use(peer, 0));
    nof_put32(body + NOF_WIRE_MSG_ELEM,
              s->elem | (uint32_t)s->agreed << 8 | (uint32_t)(s->delta ? s->unit_log2 : 0) << 16);
    nof_put64(body + NOF_WIRE_MSG_HANDLE, handle);
    uint8_t flags = park ? NOF_WIRE_RTS_F_PARKED : 0;
    flags |= s->flags & NOF_DESC_F_DELTA ? NOF_WIRE_RTS_F_DELTA : 0;
    if (s->flags & NOF_DESC_F_SYNC)
        flags |= NOF_WIRE_RTS_F_SYNC;
    nof_link_send(nic, link, frame, NOF_WIRE_RTS, flags, peer->ep, peer->remote_ep, NOF_WIRE_MSG_BYTES,
                  NOF_WIRE_MSG_BYTES, 0);
    *bytes += NOF_WIRE_MSG_BYTES;
    (*frames)++;
    nof_queue_pop(&nic->sends, &peer->sendq);
    nof_count(nic, &nic->eps[s->ep], park ? NOF_C_PARKED : NOF_C_RENDEZVOUS_TX, 1);
    if (park) {
        hand_back(nic, peer, s);
    } else {
        s->state = NOF_SEND_CTS_WAIT;
        set_asking(nic, s, true);
        list(nic, s);
    }
    return NOF_PUMP_IDLE;
}

/* The next bytes of s: IDLE if they are read, or on their way; else why not. */
static enum nof_pump read_some(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                               struct nof_send *s, unsigned window, uint32_t *bytes, unsigned *frames)
{
    enum nof_pump packing;
    if (s->layout != NOF_NIL && nof_steps_left(nic, &nic->eps[s->ep]) == 0)
        return NOF_PUMP_LATER;
    if (nic->taps->reads(nic, link, peer, s, bytes, &packing))
        return packing;
    return nof_read_start(nic, link, peer, s, window, bytes, frames);
}

/* The head of sendq: an envelope, or more of an eager message that has begun. */
static enum nof_pump pump_envelope(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                                   unsigned window, uint32_t *bytes, unsigned *frames)
{
    struct nof_send *s = nof_send_at(nic, nof_queue_head(&nic->sends, peer->sendq));
    struct nof_endpoint *ep = &nic->eps[s->ep];
    bool begins = s->sent == 0;
    if (begins && !eager_now(nic, peer, s))
        return send_rts(nic, link, peer, s, bytes, frames);
    s->seq = begins ? peer->tx_seq : s->seq;
    enum nof_pump rc = read_some(nic, link, peer, s, window, bytes, frames);
    if (rc != NOF_PUMP_IDLE)
        return rc;
    if (begins) {
        nof_credit_use(peer, nof_netmem_charge(s->len, (s->flags & NOF_DESC_F_SYNC) != 0));
        nof_count(nic, ep, NOF_C_EAGER_TX, 1);
        nof_count(nic, ep, NOF_C_MSGS_TX, 1);
        nof_count(nic, ep, NOF_C_MSG_BYTES_TX, s->len);
        if (s->flags & NOF_DESC_F_SYNC) {
            set_asking(nic, s, true);
            list(nic, s);
        }
    }
    if (s->sent == s->len)
        s->marks |= NOF_SEND_M_ISSUED;
    if (s->marks & NOF_SEND_M_ISSUED) {
        nof_queue_pop(&nic->sends, &peer->sendq);
        settle(nic, s);
    }
    return NOF_PUMP_IDLE;
}

/* May more of its granted bytes be sent, or its end? */
static bool more_data(struct nof_nic *nic, struct nof_send *s)
{
    return s->delta ? nof_delta_advance(nic, s) : s->sent < s->allowed;
}

/* The head of dataq: granted bytes. */
static enum nof_pump pump_data(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                               unsigned window, uint32_t *bytes, unsigned *frames)
{
    struct nof_send *s = nof_send_at(nic, nof_queue_head(&nic->sends, peer->dataq));
    enum nof_pump rc = read_some(nic, link, peer, s, window, bytes, frames);
    if (rc != NOF_PUMP_IDLE)
        return rc;
    if (s->flags & NOF_SEND_F_STEP)
        nic->taps->step_news(nic, &nic->eps[s->ep], s->cookie, NOF_STEP_NEWS_LEFT, NOF_OK,
                             s->wanted - s->sent);
    nof_ring_pop(&nic->sends, &peer->dataq, DATA_PREV);
    if (!(s->marks & NOF_SEND_M_ISSUED) && more_data(nic, s)) {
        nof_ring_push(&nic->sends, &peer->dataq, nof_send_index(nic, s), DATA_PREV);
        return NOF_PUMP_IDLE;
    }
    s->marks &= (uint8_t)~NOF_SEND_M_IN_DATAQ;
    if (s->marks & NOF_SEND_M_ISSUED) {
        nof_count(nic, &nic->eps[s->ep], NOF_C_MSGS_TX, 1);
        nof_count(nic, &nic->eps[s->ep], NOF_C_MSG_BYTES_TX, s->sent);
    }
    settle(nic, s);
    return NOF_PUMP_IDLE;
}

static bool needs_dma(const struct nof_send *s)
{
    return s->len > 0 && (!s->delta || s->at < s->run_end) &&
           (s->flags & (NOF_DESC_F_INLINE | NOF_DESC_F_BOUNCE)) == 0;
}

enum next { NEXT_NOTHING, NEXT_ENVELOPE, NEXT_DATA };

/* What comes next. With reads under way only what needs another one may begin: everything else would leave before
 * them. */
static enum next choose(struct nof_nic *nic, struct nof_peer *peer)
{
    bool reading = peer->readq != NOF_NIL;
    bool data = peer->dataq != NOF_NIL;
    bool envelope = false;
    if (peer->sendq != NOF_NIL)
        drop_gone(nic, peer);
    if (peer->sendq != NOF_NIL) {
        const struct nof_send *s = nof_send_at(nic, nof_queue_head(&nic->sends, peer->sendq));
        envelope = s->sent > 0 || peer->tx_msgs_allowed != peer->tx_seq;
        if (!envelope && !peer->stalled) {
            peer->stalled = 1;
            nof_peer_expect(nic, peer, 1); /* all is acknowledged, and only the peer can go on */
            nof_count(nic, &nic->eps[peer->ep], NOF_C_CREDIT_STALLS, 1);
        }
        if (reading && (!needs_dma(s) || (s->sent == 0 && !eager_now(nic, peer, s))))
            envelope = false;
    }
    if (data && reading) {
        const struct nof_send *s = nof_send_at(nic, nof_queue_head(&nic->sends, peer->dataq));
        data = needs_dma(s) && s->wanted > 0;
    }
    if (envelope && data) {
        peer->data_turn ^= 1;
        return peer->data_turn ? NEXT_DATA : NEXT_ENVELOPE;
    }
    if (envelope)
        return NEXT_ENVELOPE;
    return data ? NEXT_DATA : NEXT_NOTHING;
}

/* Send frames of the flow's oldest read, which is done. */
static enum nof_pump emit_read(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                               unsigned budget, unsigned *frames)
{
    struct nof_read *r = nof_read_at(nic, nof_queue_head(&nic->reads, peer->readq));
    struct nof_send *s = nof_send_at(nic, r->send);
    enum nof_pump rc = NOF_PUMP_IDLE;
    if (r->raw != NOF_NIL)
        rc = nic->taps->emits(nic, link, peer, r, budget, frames);
    if (rc == NOF_PUMP_IDLE)
        rc = nof_read_emit(nic, link, peer, budget, frames);
    if (rc == NOF_PUMP_IDLE && (s->marks & NOF_SEND_M_CANCEL))
        nof_question_step(nic, s);
    return rc;
}

/* Reads first: frames leave in the order in which they were filled. */
static enum nof_pump pump_reads(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                                unsigned budget, unsigned *frames)
{
    unsigned sent = 0;
    enum nof_pump rc = NOF_PUMP_IDLE;
    /* bound: reads that are done, NOF_READS_PER_FLOW; paid by the flow's share of the link */
    while (rc == NOF_PUMP_IDLE && peer->readq != NOF_NIL &&
           nof_read_at(nic, nof_queue_head(&nic->reads, peer->readq))->done)
        rc = emit_read(nic, link, peer, budget - sent, &sent);
    *frames += sent;
    return rc;
}

/* What the flow has, up to its deficit and `budget` frames. */
static enum nof_pump pump(struct nof_nic *nic, struct nof_peer *peer, unsigned budget, uint32_t *bytes,
                          unsigned *frames)
{
    struct nof_link *link = &nic->links[peer->link];
    unsigned limit = *frames + budget;
    if (!(peer->flags & NOF_PEER_F_TX))
        return NOF_PUMP_IDLE;
    /* bound: drr_quantum_bytes; paid by the flow's share of the link */
    while (peer->deficit > (int32_t)*bytes && *frames < limit) {
        if (link->ctl != NOF_NIL)
            return NOF_PUMP_BLOCKED; /* control frames first: a FLOW_OPEN may be among them */
        enum nof_pump rc = pump_reads(nic, link, peer, limit - *frames, frames);
        if (rc != NOF_PUMP_IDLE)
            return rc;
        uint32_t oldest = nof_queue_head(&nic->reads, peer->readq);
        if (oldest != NOF_NIL && nof_queue_head(&nic->reads, oldest) != peer->readq)
            return NOF_PUMP_IDLE; /* NOF_READS_PER_FLOW are under way */
        enum next next = choose(nic, peer);
        if (next == NEXT_NOTHING)
            return NOF_PUMP_IDLE;
        unsigned window = nof_link_window(nic, link, false);
        if (window == 0)
            return NOF_PUMP_BLOCKED;
        /* The frames of a read that is under way leave in a later turn: a whole block is read at once. */
        if (window > limit - *frames && nic->eps[peer->ep].dma_read_inline)
            window = limit - *frames;
        rc = next == NEXT_ENVELOPE ? pump_envelope(nic, link, peer, window, bytes, frames)
                                   : pump_data(nic, link, peer, window, bytes, frames);
        if (rc != NOF_PUMP_IDLE)
            return rc;
    }
    return NOF_PUMP_MORE;
}

unsigned nof_send_run(struct nof_nic *nic, unsigned budget)
{
    struct nof_scheduler_run run = {.way = nic->turn % NOF_SCHED_WAYS};
    bool both = nic->ring[NOF_SCHED_WIRE] != NOF_NIL && nic->ring[NOF_SCHED_LOOP] != NOF_NIL;
    unsigned first = both ? (budget + 1) / 2 : budget; /* frames of one way; the rest is the other's */
    struct nof_peer *peer;
    unsigned sent = 0;
    /* bound: frames of one turn, and the scheduler's looks; paid by each endpoint's share of the link */
    while (sent < budget && (peer = nof_scheduler_next(nic, &run)) != NULL) {
        uint32_t bytes = 0;
        unsigned before = sent;
        enum nof_pump state = pump(nic, peer, (run.second ? budget : first) - sent, &bytes, &sent);
        nof_scheduler_served(nic, &run, peer, state, bytes, sent - before);
        if (!run.second && sent >= first)
            nof_scheduler_other_way(nic, &run);
    }
    nof_scheduler_end(nic, &run);
    return sent;
}

struct nof_send *nof_send_by_handle(struct nof_nic *nic, const struct nof_peer *peer, uint64_t handle)
{
    uint32_t i = (uint32_t)handle;
    if (i >= nic->sends.high)
        return NULL;
    struct nof_send *s = nof_send_at(nic, i);
    if (s->state == NOF_SEND_FREE || s->state == NOF_SEND_DONE || s->state == NOF_SEND_GONE ||
        s->obj.gen != handle >> 32 || s->peer != nof_peer_index(nic, peer))
        return NULL;
    return s;
}

/* The receiver's operation ends: its grant found nothing here. */
static void refuse(struct nof_nic *nic, struct nof_link *link, const struct nof_peer *peer, uint64_t remote,
                   int status)
{
    uint8_t fields[NOF_WIRE_ABORT_BYTES];
    nof_put64(fields + NOF_WIRE_ABORT_HANDLE, remote);
    nof_put32(fields + NOF_WIRE_ABORT_STATUS, (uint32_t)status);
    nof_put32(fields + NOF_WIRE_ABORT_SIDE, NOF_WIRE_ABORT_RECV);
    nof_link_ctl(nic, link, NOF_WIRE_ABORT, 0, peer->ep, peer->remote_ep, fields, sizeof fields);
}

void nof_send_unparked(struct nof_nic *nic, struct nof_peer *peer)
{
    peer->parked--;
    nof_peer_expect(nic, peer, -1);
}

static void enter_dataq(struct nof_nic *nic, struct nof_peer *peer, struct nof_send *s)
{
    if ((s->marks & (NOF_SEND_M_IN_DATAQ | NOF_SEND_M_ISSUED)) || (s->delta && !nof_delta_advance(nic, s)))
        return;
    s->marks |= NOF_SEND_M_IN_DATAQ;
    nof_ring_push(&nic->sends, &peer->dataq, nof_send_index(nic, s), DATA_PREV);
    nof_scheduler_activate(nic, peer);
}

/* The receiver has no room for it before it has ended. */
static void come_back(struct nof_nic *nic, struct nof_send *s)
{
    struct nof_peer *peer = nof_peer_at(nic, s->peer);
    if (nof_delta_send_ended(nic, s) && !(peer->flags & NOF_PEER_F_DEAD))
        resume(nic, peer, s, s->remote);
}

static void look_at_rung(struct nof_nic *nic, struct nof_endpoint *ep)
{
    uint64_t *rung = &ep->delta_host->rung;
    if (__atomic_load_n(rung, __ATOMIC_RELAXED) == 0)
        return;
    uint64_t slots = __atomic_exchange_n(rung, 0, __ATOMIC_ACQUIRE);
    nof_fence_full(); /* who found its bit still set has set what the slots' boards are read for below */
    /* bound: NOF_DELTA_SLOTS, 64; paid by the endpoint's steps */
    for (; slots != 0 && nof_steps_left(nic, ep) > 0; slots &= slots - 1) {
        uint32_t send = ep->delta_send[__builtin_ctzll(slots)];
        struct nof_send *s = send != 0 ? nof_send_at(nic, send - 1) : NULL;
        nof_steps_spend(ep, RUNG_STEPS);
        if (s != NULL && s->state == NOF_SEND_DATA)
            enter_dataq(nic, nof_peer_at(nic, s->peer), s);
        else if (s != NULL && s->state == NOF_SEND_LATER)
            come_back(nic, s);
    }
    if (slots != 0) {
        (void)__atomic_fetch_or(rung, slots, __ATOMIC_RELAXED);
        nic->rung_late = 1;
    }
}

void nof_send_rung(struct nof_nic *nic)
{
    nic->rung_late = 0;
    /* bound: endpoints that have a delta send; paid by all */
    for (uint32_t i = 0; i < nic->delta_eps; i++)
        if (nic->eps[nic->delta_ep[i]].state == NOF_EP_OPEN)
            look_at_rung(nic, &nic->eps[nic->delta_ep[i]]);
}

int nof_send_cts_rx(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                    const struct nof_wire_view *view)
{
    if (view->fields_bytes != NOF_WIRE_CTS_BYTES)
        return NOF_EPROTO;
    uint64_t handle = nof_get64(view->fields + NOF_WIRE_CTS_SENDER);
    uint64_t remote = nof_get64(view->fields + NOF_WIRE_CTS_RECEIVER);
    uint64_t wanted = nof_get64(view->fields + NOF_WIRE_CTS_WANTED);
    uint64_t allowed = nof_get64(view->fields + NOF_WIRE_CTS_ALLOWED);
    if ((view->flags & NOF_WIRE_RTS_F_PARKED) && peer->parked == 0) {
        refuse(nic, link, peer, remote, NOF_ENOENT); /* our host keeps nothing for this peer */
        return NOF_OK;
    }
    if (view->flags & NOF_WIRE_RTS_F_PARKED) {
        struct nof_comp comp = {.opcode = NOF_COMP_GRANT,
                                .cookie = handle,
                                .peer = (int32_t)peer->rank,
                                .handle = remote,
                                .granted_len = wanted};
        if (nof_answer(nic, &nic->eps[peer->ep], &comp) != NOF_OK) {
            refuse(nic, link, peer, remote, NOF_EAGAIN);
        } else {
            nof_send_unparked(nic, peer);
        }
        return NOF_OK;
    }
    struct nof_send *s = nof_send_by_handle(nic, peer, handle);
    if (s == NULL || (s->state != NOF_SEND_CTS_WAIT && s->state != NOF_SEND_DATA)) {
        if (s == NULL || s->state != NOF_SEND_ENDING)
            refuse(nic, link, peer, remote, NOF_ENOENT);
        return NOF_OK;
    }
    bool first = s->state == NOF_SEND_CTS_WAIT;
    if (view->flags & NOF_WIRE_CTS_F_LATER) {
        if (!first || !s->delta || s->remote != 0)
            return NOF_EPROTO;
        s->state = NOF_SEND_LATER;
        s->remote = remote;
        set_asking(nic, s, false);
        come_back(nic, s);
        return NOF_OK;
    }
    if (first) {
        s->state = NOF_SEND_DATA;
        set_asking(nic, s, false);
        s->remote = remote;
        s->wanted = wanted < s->len ? wanted : s->len;
        s->sent = 0;
    }
    if (allowed > s->wanted)
        allowed = s->wanted;
    if (allowed > s->allowed)
        s->allowed = allowed;
    if ((s->wanted == 0 && first) || s->allowed > s->sent || s->delta)
        enter_dataq(nic, peer, s);
    return NOF_OK;
}

int nof_send_credit_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view)
{
    int rc = nof_credit_rx(peer, view);
    if (rc == NOF_OK && unstall(nic, peer))
        nof_scheduler_activate(nic, peer);
    return rc;
}

int nof_send_matched_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view)
{
    if (view->fields_bytes != NOF_WIRE_MATCHED_BYTES)
        return NOF_EPROTO;
    uint64_t handle = nof_get64(view->fields + NOF_WIRE_MATCHED_SENDER);
    struct nof_send *s = nof_send_by_handle(nic, peer, handle & ~NOF_HANDLE_SYNC);
    if (s == NULL || !(s->flags & NOF_DESC_F_SYNC) ||
        (s->state != NOF_SEND_QUEUED && s->state != NOF_SEND_MATCH_WAIT))
        return NOF_OK;
    s->marks |= NOF_SEND_M_MATCHED;
    set_asking(nic, s, false);
    settle(nic, s);
    return NOF_OK;
}

void nof_send_abort_rx(struct nof_nic *nic, struct nof_peer *peer, uint64_t handle, int status)
{
    struct nof_send *s = nof_send_by_handle(nic, peer, handle & ~NOF_HANDLE_SYNC);
    if (s != NULL && s->state == NOF_SEND_CTS_WAIT && status == NOF_EAGAIN && (s->flags & NOF_DESC_F_GRANTED))
        hand_back(nic, peer, s);
    else if (s != NULL && (s->state == NOF_SEND_CTS_WAIT || s->state == NOF_SEND_LATER ||
                           s->state == NOF_SEND_DATA || s->state == NOF_SEND_MATCH_WAIT))
        nof_send_end(nic, s, status);
}

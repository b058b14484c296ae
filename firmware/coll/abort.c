/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/abort.h"

#include "flow/chores.h"
#include "flow/completion.h"
#include "flow/link.h"
#include "flow/peer.h"
#include "match/match.h"
#include "msg/answer.h"
#include "msg/recv.h"

#define TELL_STEPS 16u /* of a turn, to tell one */

static bool same(const struct nof_coll_run *a, const struct nof_coll_run *b)
{
    return a->ctx == b->ctx && a->tag == b->tag && a->number == b->number;
}

static uint32_t *bucket_of(const struct nof_nic *nic, uint32_t ep, uint32_t ctx, int32_t tag)
{
    uint32_t h = (ctx * 2654435761u) ^ ((uint32_t)tag * 2246822519u) ^ (ep * 3266489917u);
    return &nic->aborts.running[(h ^ h >> 15) & nic->aborts.mask];
}

void nof_abort_enter(struct nof_nic *nic, uint32_t drive, uint32_t ep)
{
    struct nof_drive *d = &nic->drives[drive];
    uint32_t *bucket = bucket_of(nic, ep, d->run.ctx, d->run.tag);
    d->run_next = *bucket;
    *bucket = drive;
}

void nof_abort_leave(struct nof_nic *nic, uint32_t drive, uint32_t ep)
{
    const struct nof_coll_run *run = &nic->drives[drive].run;
    uint32_t *at = bucket_of(nic, ep, run->ctx, run->tag);
    /* bound: runs of one bucket, of max_schedules; paid by the run that ends */
    while (*at != drive)
        at = &nic->drives[*at].run_next;
    *at = nic->drives[drive].run_next;
}

uint32_t nof_abort_find(const struct nof_nic *nic, uint32_t ep, const struct nof_coll_run *run)
{
    uint32_t i = *bucket_of(nic, ep, run->ctx, run->tag);
    /* bound: runs of one bucket, of max_schedules; paid by the COLL_ABORT */
    while (i != NOF_NIL && (nof_coll_at(&nic->colls, i)->ep != ep || !same(&nic->drives[i].run, run)))
        i = nic->drives[i].run_next;
    return i;
}

uint32_t nof_abort_find_tag(const struct nof_nic *nic, uint32_t ep, uint32_t ctx, int32_t tag)
{
    uint32_t i = *bucket_of(nic, ep, ctx, tag);
    /* bound: runs of one bucket, of max_schedules; paid by the message */
    while (i != NOF_NIL && (nof_coll_at(&nic->colls, i)->ep != ep || nic->drives[i].run.ctx != ctx ||
                            nic->drives[i].run.tag != tag))
        i = nic->drives[i].run_next;
    return i;
}

int nof_abort_parse(const struct nof_wire_view *view, uint32_t size, struct nof_coll_abort *abort_out)
{
    const uint8_t *f = view->fields;
    if (view->fields_bytes != NOF_WIRE_COLL_ABORT_BYTES)
        return NOF_EPROTO;
    struct nof_coll_abort a = {.run = {.ctx = nof_get32(f + NOF_WIRE_COLL_ABORT_CTX),
                                       .tag = (int32_t)nof_get32(f + NOF_WIRE_COLL_ABORT_TAG),
                                       .number = nof_get32(f + NOF_WIRE_COLL_ABORT_RUN)},
                               .rank = nof_get32(f + NOF_WIRE_COLL_ABORT_RANK),
                               .status = (int32_t)nof_get32(f + NOF_WIRE_COLL_ABORT_STATUS)};
    uint32_t agreed = nof_get32(f + NOF_WIRE_COLL_ABORT_AGREED);
    if (a.run.tag < 0 || a.rank >= size || a.status >= NOF_OK || a.status < INT16_MIN || agreed > UINT8_MAX)
        return NOF_EPROTO;
    a.agreed = (uint8_t)agreed;
    *abort_out = a;
    return NOF_OK;
}

const struct nof_coll_abort *nof_abort_heard(const struct nof_nic *nic, const struct nof_endpoint *ep,
                                             const struct nof_coll_run *run)
{
    const struct nof_abort_ring *ring = &nic->aborts.heard[ep->index];
    uint32_t n = ring->count < NOF_ABORTS_HEARD ? ring->count : NOF_ABORTS_HEARD;
    /* bound: NOF_ABORTS_HEARD, 16; paid by the START, or the COLL_ABORT */
    for (uint32_t i = 0; i < n; i++)
        if (same(&ring->abort[i].run, run))
            return &ring->abort[i];
    return NULL;
}

void nof_abort_keep(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_coll_abort *abort)
{
    struct nof_abort_ring *ring = &nic->aborts.heard[ep->index];
    if (nof_abort_heard(nic, ep, &abort->run) != NULL)
        return;
    ring->abort[ring->count++ % NOF_ABORTS_HEARD] = *abort;
    if (ring->count == 2 * NOF_ABORTS_HEARD)
        ring->count = NOF_ABORTS_HEARD;
    struct nof_comp comp = {.opcode = NOF_COMP_COLL_ABORT,
                            .status = (int16_t)abort->status,
                            .ctx = abort->run.ctx,
                            .peer = (int32_t)abort->rank,
                            .tag = abort->run.tag,
                            .len = abort->run.number};
    (void)nof_answer(nic, ep,
                     &comp); /* without room it is lost: of a death a host hears another way as well */
}

void nof_abort_ask(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_coll_abort *question)
{
    struct nof_match_key key = {.ep = ep->index,
                                .ctx = question->run.ctx,
                                .source = (int32_t)question->rank,
                                .tag = question->run.tag};
    uint64_t unread = nof_match_find(nic, &key) != NULL ? NOF_COLL_UNREAD : 0;
    struct nof_comp comp = {.opcode = NOF_COMP_COLL_ABORT,
                            .status = NOF_EAGAIN,
                            .ctx = question->run.ctx,
                            .peer = (int32_t)question->rank,
                            .tag = question->run.tag,
                            .len = question->run.number,
                            .handle = question->agreed | unread};
    if (ep->comp_head == NOF_NIL)
        (void)nof_completion_give(nic, ep, &comp);
}

void nof_abort_forget_all(struct nof_nic *nic, const struct nof_endpoint *ep)
{
    nic->aborts.heard[ep->index].count = 0;
}

uint32_t nof_abort_flood(struct nof_nic *nic)
{
    if (++nic->aborts.floods == 0)
        nic->aborts.floods = 1;
    return nic->aborts.floods;
}

static void send(struct nof_nic *nic, struct nof_link *link, const struct nof_peer *peer,
                 const struct nof_coll_abort *abort)
{
    /* Whose own link is down has lost the others: to them he is the one who is gone. */
    bool apart = abort->status == NOF_ELINKDOWN;
    uint8_t fields[NOF_WIRE_COLL_ABORT_BYTES];
    nof_put32(fields + NOF_WIRE_COLL_ABORT_CTX, abort->run.ctx);
    nof_put32(fields + NOF_WIRE_COLL_ABORT_TAG, (uint32_t)abort->run.tag);
    nof_put32(fields + NOF_WIRE_COLL_ABORT_RUN, abort->run.number);
    nof_put32(fields + NOF_WIRE_COLL_ABORT_RANK, abort->rank);
    nof_put32(fields + NOF_WIRE_COLL_ABORT_STATUS, (uint32_t)(apart ? NOF_EPEERDEAD : abort->status));
    nof_put32(fields + NOF_WIRE_COLL_ABORT_AGREED, abort->agreed);
    nof_link_ctl(nic, link, NOF_WIRE_COLL_ABORT, 0, peer->ep, peer->remote_ep, fields, sizeof fields);
}

enum told { TOLD, WHEN_IT_OPENS, WHEN_THERE_IS_ROOM };

static enum told tell(struct nof_nic *nic, struct nof_peer *peer, const struct nof_coll_abort *abort)
{
    if (peer == NULL || (peer->flags & NOF_PEER_F_DEAD) || nic->links[peer->link].gone)
        return TOLD;
    struct nof_link *link = &nic->links[peer->link];
    if (!(peer->flags & NOF_PEER_F_TX))
        nof_peer_want(nic, peer);
    if (!(peer->flags & NOF_PEER_F_TX))
        return WHEN_IT_OPENS;
    if (link->ctl != NOF_NIL || nof_link_window(nic, link, true) == 0)
        return WHEN_THERE_IS_ROOM; /* at most one for each link waits in the pool: for a frame */
    send(nic, link, peer, abort);
    return TOLD;
}

static void look_later(struct nof_nic *nic)
{
    nic->aborts.later = true;
    nof_retry(nic);
}

void nof_abort_retry(struct nof_nic *nic)
{
    if (!nic->aborts.later)
        return;
    nic->aborts.later = false;
    /* bound: endpoints, while a COLL_ABORT waits for a window; paid by all */
    for (uint32_t i = 0; i < nic->cfg.max_endpoints; i++)
        if (nic->eps[i].state == NOF_EP_OPEN && nic->eps[i].tells != NOF_NIL)
            nof_chore(nic, &nic->eps[i]);
}

static void put_off(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_coll_abort *abort,
                    uint32_t to)
{
    struct nof_recv *r =
        nof_recv_spare(nic) > ep->admitted ? nof_recv_take(nic, ep, NOF_DESC_COLL_ABORT) : NULL;
    if (r == NULL)
        return; /* it is lost: of a death that rank hears another way as well */
    nof_recv_scheduled(r);
    struct nof_match_key key = {
        .ep = ep->index, .ctx = abort->run.ctx, .source = (int32_t)to, .tag = abort->run.tag};
    nof_recv_call(r, &key, abort->run.number, abort->rank, (uint64_t)(int64_t)abort->status, NOF_NIL);
    nof_queue_push(&nic->recvs, &ep->tells, nof_recv_index(nic, r));
}

void nof_abort_tell(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_coll_abort *abort,
                    uint32_t to, uint32_t flood)
{
    struct nof_peer *peer = nof_peer_by_rank(nic, ep->index, to);
    if (peer == NULL || nic->aborts.told[nof_peer_index(nic, peer)] == flood)
        return;
    nic->aborts.told[nof_peer_index(nic, peer)] = flood;
    if (nof_steps_left(nic, ep) > 0)
        nof_steps_spend(ep, TELL_STEPS);
    enum told now = tell(nic, peer, abort);
    if (abort->status == NOF_EAGAIN)
        return; /* it will be asked again */
    if (now != TOLD)
        put_off(nic, ep, abort, to);
    if (now == WHEN_THERE_IS_ROOM)
        look_later(nic);
}

void nof_abort_run(struct nof_nic *nic, struct nof_endpoint *ep)
{
    uint32_t last = ep->tells;
    /* bound: COLL_ABORTs that were put off, each once, as far as the steps reach; paid by the endpoint's steps */
    while (ep->tells != NOF_NIL) {
        if (nof_steps_left(nic, ep) == 0) {
            nof_chore(nic, ep);
            return;
        }
        uint32_t i = nof_queue_pop(&nic->recvs, &ep->tells);
        struct nof_recv *r = nof_recv_at(nic, i);
        struct nof_coll_abort abort = {
            .run = {.ctx = r->key.ctx, .tag = r->key.tag, .number = (uint32_t)r->cookie},
            .rank = (uint32_t)r->addr,
            .status = (int32_t)r->capacity};
        nof_steps_spend(ep, TELL_STEPS);
        enum told now = tell(nic, nof_peer_by_rank(nic, ep->index, (uint32_t)r->key.source), &abort);
        if (now == TOLD)
            nof_recv_free(nic, r);
        else
            nof_queue_push(&nic->recvs, &ep->tells, i);
        if (now == WHEN_THERE_IS_ROOM)
            look_later(nic); /* a flow that opens has chores for its endpoint anyway (flows.h) */
        if (i == last)
            return;
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/walk.h"

#include "flow/chores.h"
#include "flow/peer.h"
#include "msg/recv_claim.h"
#include "msg/delta_slots.h"
#include "msg/recv.h"
#include "payload/reserve.h"

static bool walks(const struct nof_endpoint *ep)
{
    return ep->state == NOF_EP_OPEN && ((ep->walk_left > 0 && ep->unmet > 0) || ep->unindexed > 0);
}

bool nof_walk_indexed(struct nof_endpoint *ep)
{
    if (!ep->cookies_indexed) {
        ep->cookies_indexed = 1;
        ep->unindexed = ep->posted_total - ep->claims; /* which are */
    }
    return ep->unindexed == 0;
}

void nof_walk_seek(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r, uint64_t len)
{
    nof_recv_seek(r, len);
    nof_queue_push(&nic->recvs, &ep->seeks, nof_recv_index(nic, r));
    nof_walk_run(nic, ep);
}

int nof_walk_cancel(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r)
{
    if (r == NULL)
        return NOF_ENOMATCH;
    if (r->state == NOF_RECV_TAKEN)
        nof_claim_end(nic, r);
    else
        nof_recv_unpost(nic, r);
    if (r->delta)
        nof_delta_recv_end(nic, r, NOF_ECANCELED);
    if (r->reserved_blocks > 0)
        nof_reserve_give(nic, r);
    if (r->layout != NOF_NIL)
        nof_layout_drop(&nic->layouts, r->layout);
    nof_recv_free(nic, r);
    nof_count(nic, ep, NOF_C_CANCELLED, 1);
    return NOF_OK;
}

/* r names a rank for which there was no room. */
static void look_for_peer(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r)
{
    const struct nof_peer *peer = nof_peer_await(nic, ep, (uint32_t)r->key.source);
    if (peer == NULL)
        return;
    if (peer->flags & NOF_PEER_F_DEAD) {
        nof_recv_unpost(nic, r);
        nof_recv_end(nic, r, peer->status);
    } else {
        ep->unmet--;
        nof_recv_await(nic, r, nof_peer_index(nic, peer));
    }
}

static void visit(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r)
{
    if (r->state != NOF_RECV_POSTED || r->ep != ep->index)
        return;
    if (ep->unindexed > 0)
        nof_match_index(nic, r);
    if (ep->walk_left > 0 && r->key.source >= 0 && !r->listed)
        look_for_peer(nic, ep, r);
}

/* The CANCELs that have waited for the walk. */
static void answer_seeks(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: CANCEL descriptors that wait, as far as the steps reach; paid by the endpoint's steps */
    while (ep->seeks != NOF_NIL && nof_steps_left(nic, ep) > 0) {
        struct nof_recv *r = nof_recv_at(nic, nof_queue_pop(&nic->recvs, &ep->seeks));
        nof_steps_spend(ep, 1);
        nof_recv_answer(nic, r, nof_walk_cancel(nic, ep, nof_match_cookie(nic, r->ep, r->cookie)));
    }
}

void nof_walk_run(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: the pool of receives, as far as the steps reach; paid by the endpoint's steps */
    while (walks(ep) && nof_steps_left(nic, ep) > 0) {
        if (ep->walk_at >= nic->recvs.high)
            ep->walk_at = 0;
        visit(nic, ep, nof_recv_at(nic, ep->walk_at++));
        ep->walk_left -= ep->walk_left > 0;
        nof_steps_spend(ep, 1);
    }
    if (ep->unmet == 0)
        ep->walk_left = 0;
    if (ep->unindexed == 0)
        answer_seeks(nic, ep);
    if (ep->state == NOF_EP_OPEN && (ep->walk_left > 0 || ep->unindexed > 0 || ep->seeks != NOF_NIL))
        nof_chore(nic, ep);
}

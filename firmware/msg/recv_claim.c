/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/recv_claim.h"

#include "match/match.h"
#include "match/recv_watch.h"
#include "msg/recv.h"

bool nof_claim_valid(const struct nof_endpoint *ep, const struct nof_desc *desc)
{
    return desc->peer == NOF_ANY_SOURCE && nof_claim_slot(desc->handle) < ep->claim_slots &&
           ep->claims < ep->claim_slots &&
           !(desc->opcode == NOF_DESC_RECV && (desc->flags & NOF_DESC_F_DELTA));
}

bool nof_claim_win(struct nof_nic *nic, struct nof_endpoint *ep, uint64_t handle)
{
    bool won =
        nic->host_ops->claim(nic->host, ep->index, nof_claim_slot(handle), nof_claim_generation(handle));
    nof_count(nic, ep, won ? NOF_C_CLAIMS_WON : NOF_C_CLAIMS_LOST, 1);
    return won;
}

void nof_claim_lost(struct nof_nic *nic, struct nof_recv *r)
{
    nof_match_put_aside(nic, r);
    nof_recv_taken(r);
}

void nof_claim_wait(struct nof_nic *nic, struct nof_recv *r)
{
    nof_match_keep_aside(nic, r);
    nof_recv_taken(r);
}

struct nof_recv *nof_claim_posted(struct nof_nic *nic, struct nof_endpoint *ep,
                                  const struct nof_match_key *key)
{
    struct nof_recv *r;
    /* bound: receives that the host has claimed, NOF_CLAIM_SLOTS, each once; paid by their RECVs */
    while ((r = nof_match_posted(nic, ep, key)) != NULL && r->claimed && !nof_claim_win(nic, ep, r->claim))
        nof_claim_lost(nic, r);
    return r;
}

bool nof_claim_tell(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_recv *r,
                    const struct nof_desc *cancel)
{
    struct nof_match_key key = {
        .ep = ep->index, .ctx = r->key.ctx, .source = cancel->peer, .tag = cancel->tag};
    if (!r->claimed || (r->key.tag >= 0 && r->key.tag != cancel->tag))
        return false;
    if (ep->watch != NULL)
        nof_watch_matched(nic, ep, nof_recv_index(nic, r), &key);
    return true;
}

void nof_claim_end(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    nof_match_let_go(nic, r);
    if (ep->watch != NULL)
        nof_watch_gone(nic, ep, nof_recv_index(nic, r));
    nof_recv_unposted(nic, r);
}

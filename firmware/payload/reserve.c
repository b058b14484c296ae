/* SPDX-License-Identifier: BSD-3-Clause */
#include "payload/reserve.h"

uint32_t nof_reserve_take(struct nof_nic *nic, struct nof_recv *r, uint32_t want, uint32_t least)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    uint32_t kept = nic->cfg.max_endpoints * nic->dma_min;
    uint32_t room = nic->dma_free > kept ? nic->dma_free - kept : 0;
    if (ep->dma_used < nic->dma_min && nic->dma_min - ep->dma_used > room)
        room = nic->dma_min - ep->dma_used;
    if (room > nic->dma_free)
        room = nic->dma_free;
    if (room < least)
        return 0;
    uint32_t n = want < room ? want : room;
    r->reserved_blocks += n;
    ep->dma_used += n;
    nic->dma_free -= n;
    return n;
}

uint32_t nof_reserve_ahead(struct nof_nic *nic, struct nof_recv *r, uint32_t want, uint32_t least)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    uint32_t share = nic->dma_min / 2;
    uint32_t left = share > ep->ahead_blocks ? share - ep->ahead_blocks : 0;
    uint32_t most = share / 4 > least ? share / 4 : least;
    if (most > left)
        most = left;
    if (most < least)
        return 0;
    uint32_t n = nof_reserve_take(nic, r, want < most ? want : most, least);
    if (n > 0) {
        r->unended = NOF_RECV_AHEAD;
        ep->ahead_blocks += n;
    }
    return n;
}

void nof_reserve_give(struct nof_nic *nic, struct nof_recv *r)
{
    if (r->unended == NOF_RECV_AHEAD) {
        nic->eps[r->ep].ahead_blocks -= r->reserved_blocks;
        r->unended = NOF_RECV_ORDINARY;
    }
    nic->eps[r->ep].dma_used -= r->reserved_blocks;
    nic->dma_free += r->reserved_blocks;
    if (r->reserved_blocks > 0 && nic->recvs_waiting > 0)
        nic->dma_released = 1;
    r->reserved_blocks = 0;
}

bool nof_reserve_borrow(struct nof_nic *nic, struct nof_recv *r, uint32_t want)
{
    uint32_t kept = nic->cfg.max_endpoints * nic->dma_min;
    if (nic->dma_free < kept || nic->dma_free - kept < want)
        return false;
    r->reserved_blocks = want;
    nic->dma_free -= want;
    return true;
}

void nof_reserve_claim(struct nof_nic *nic, const struct nof_recv *r)
{
    nic->eps[r->ep].dma_used += r->reserved_blocks;
}

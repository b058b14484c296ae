/* SPDX-License-Identifier: BSD-3-Clause */
#include "payload/reserve.h"

/* All endpoints' minimum. */
static uint32_t kept(const struct nof_nic *nic)
{
    return nic->cfg.max_endpoints * nic->dma_min;
}

/* Blocks that are free and that no endpoint's minimum needs. */
static uint32_t nobodys(const struct nof_nic *nic)
{
    return nic->dma_free > kept(nic) ? nic->dma_free - kept(nic) : 0;
}

static void take(struct nof_nic *nic, struct nof_recv *r, uint32_t n)
{
    r->reserved_blocks += n;
    nic->eps[r->ep].dma_used += n;
    nic->dma_free -= n;
}

uint32_t nof_reserve_take(struct nof_nic *nic, struct nof_recv *r, uint32_t want, uint32_t least)
{
    const struct nof_endpoint *ep = &nic->eps[r->ep];
    uint32_t used = ep->dma_used - ep->ahead_blocks; /* which were nobody's */
    uint32_t room = nobodys(nic);
    if (used < nic->dma_min && nic->dma_min - used > room)
        room = nic->dma_min - used;
    if (room > nic->dma_free)
        room = nic->dma_free;
    if (room < least)
        return 0;
    uint32_t n = want < room ? want : room;
    take(nic, r, n);
    return n;
}

uint32_t nof_reserve_ahead(struct nof_nic *nic, struct nof_recv *r, uint32_t want, uint32_t least)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    uint32_t share = nic->dma_total > kept(nic) ? (nic->dma_total - kept(nic)) / 4 : 0;
    uint32_t left = share > ep->ahead_blocks ? share - ep->ahead_blocks : 0;
    uint32_t room = nobodys(nic);
    if (left > room)
        left = room;
    if (left < least)
        return 0;
    uint32_t n = left / 4 > least ? left / 4 : least;
    n = want < n ? want : n;
    take(nic, r, n);
    r->unended = NOF_RECV_AHEAD;
    ep->ahead_blocks += n;
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
    if (nobodys(nic) < want)
        return false;
    r->reserved_blocks = want;
    nic->dma_free -= want;
    return true;
}

void nof_reserve_claim(struct nof_nic *nic, const struct nof_recv *r)
{
    nic->eps[r->ep].dma_used += r->reserved_blocks;
}

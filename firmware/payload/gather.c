/* SPDX-License-Identifier: BSD-3-Clause */
#include "payload/gather.h"

#include "base/invariant.h"
#include "payload/reserve.h"

void nof_gather_clear(struct nof_gather *g)
{
    g->recv = NOF_NIL;
    g->bytes = 0;
    g->nbufs = 0;
    g->chain = NOF_NIL;
    g->chain_tail = NOF_NIL;
    g->chain_fill = 0;
}

/* New pieces go behind what is held. */
static void take_held(struct nof_recv *r, struct nof_gather *g)
{
    g->chain = r->hold_chain;
    g->chain_tail = r->hold_tail;
    g->chain_fill = r->hold_fill;
    g->bytes += r->hold_bytes;
    g->offset -= r->hold_bytes;
    r->hold_bytes = 0;
}

bool nof_gather_copy(struct nof_nic *nic, struct nof_recv *r, const uint8_t *data, uint32_t n)
{
    struct nof_gather *g = &nic->gather;
    if (g->chain == NOF_NIL && r->state == NOF_RECV_RNDV && r->hold_bytes > 0)
        take_held(r, g);
    /* bound: bytes of one frame; paid by the flow's bytes */
    while (n > 0) {
        if (g->chain == NOF_NIL || g->chain_fill == NOF_NETMEM_BLOCK) {
            uint32_t b = nof_reserve_chain(nic, r, 1);
            if (b == NOF_NIL)
                return false;
            if (g->chain == NOF_NIL)
                g->chain = b;
            else
                nic->netmem.next[g->chain_tail] = b;
            g->chain_tail = b;
            g->chain_fill = 0;
        }
        uint32_t room = NOF_NETMEM_BLOCK - g->chain_fill;
        uint32_t piece = n < room ? n : room;
        memcpy(nof_netmem_at(&nic->netmem, g->chain_tail) + g->chain_fill, data, piece);
        g->chain_fill += piece;
        data += piece;
        n -= piece;
    }
    return true;
}

void nof_gather_collect(struct nof_nic *nic, struct nof_recv *r, const uint8_t *data, uint32_t n)
{
    /* bound: bytes of one frame or line; paid by the flow's bytes */
    while (n > 0) {
        if (r->hold_bytes % NOF_NETMEM_BLOCK == 0) {
            uint32_t b = nof_reserve_chain(nic, r, 1);
            nof_invariant(b != NOF_NIL);
            if (r->hold_bytes == 0)
                r->hold_chain = b;
            else
                nic->netmem.next[r->hold_tail] = b;
            r->hold_tail = b;
        }
        uint32_t at = r->hold_bytes % NOF_NETMEM_BLOCK;
        uint32_t piece = NOF_NETMEM_BLOCK - at < n ? NOF_NETMEM_BLOCK - at : n;
        memcpy(nof_netmem_at(&nic->netmem, r->hold_tail) + at, data, piece);
        r->hold_bytes += piece;
        data += piece;
        n -= piece;
    }
}

void nof_gather_forget(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_gather *g = &nic->gather;
    uint32_t chain;
    if (r->state == NOF_RECV_RNDV && nof_gather_unhold(r, &chain) > 0)
        nof_reserve_free(nic, r, chain);
    if (g->recv != nof_recv_index(nic, r))
        return;
    if (g->chain != NOF_NIL)
        nof_reserve_free(nic, r, g->chain);
    nof_gather_clear(g);
}

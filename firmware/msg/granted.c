/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/granted.h"

#include "payload/gather.h"
#include "msg/recv.h"
#include "payload/reserve.h"

void nof_granted_begin(struct nof_nic *nic, struct nof_recv *r, struct nof_env *e, uint32_t line)
{
    struct nof_endpoint *ep = &nic->eps[e->key.ep];
    r->early = 1;
    r->envelope = nof_env_index(nic, e);
    r->line = line;
    e->early = nof_recv_index(nic, r);
    ep->early++;
    ep->early_bytes += e->len;
    nof_count(nic, ep, NOF_C_STAGE_GRANTED, 1);
}

void nof_granted_put(struct nof_nic *nic, struct nof_recv *r, uint64_t offset, const uint8_t *data,
                     uint32_t n)
{
    if (r->line != NOF_STAGE_NONE)
        memcpy(nof_stage_touch(&nic->eps[r->ep].stage, r->line, (uint32_t)offset, n), data, n);
    else
        nof_gather_collect(nic, r, data, n);
}

uint32_t nof_granted_leave_line(struct nof_nic *nic, struct nof_recv *r, const uint8_t *from)
{
    r->line = NOF_STAGE_NONE;
    nof_gather_collect(nic, r, from, (uint32_t)r->received);
    return (uint32_t)r->received;
}

bool nof_granted_whole(struct nof_nic *nic, const struct nof_recv *r)
{
    if (r->envelope == NOF_NIL)
        return true;
    nic->early_whole++;
    return false;
}

/* It has its receive now, or none any more. */
static void leave(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    struct nof_env *e = nof_env_at(nic, r->envelope);
    ep->early--;
    ep->early_bytes -= e->len;
    e->early = NOF_NIL;
    r->envelope = NOF_NIL;
    if (r->arrived)
        nic->early_whole--;
    nof_reserve_claim(nic, r);
}

struct nof_recv *nof_granted_bind(struct nof_nic *nic, struct nof_recv *r, struct nof_env *e)
{
    struct nof_recv *g = nof_recv_at(nic, e->early);
    struct nof_endpoint *ep = &nic->eps[e->key.ep];
    leave(nic, g);
    nof_recv_call(g, &g->key, r->cookie, r->addr, r->capacity, r->layout);
    nof_recv_inherit(g, r);
    nof_recv_free(nic, r);
    if (g->line != NOF_STAGE_NONE) {
        nof_stage_remap(&ep->stage, g->line, nof_recv_index(nic, g));
        nof_count(nic, ep, NOF_C_STAGE_COPIES_AVOIDED, 1);
    }
    return g;
}

void nof_granted_settle(struct nof_recv *r)
{
    nof_recv_want(r, r->received);
    r->early = 0;
}

bool nof_granted_end(struct nof_nic *nic, struct nof_recv *r)
{
    bool unbound = r->envelope != NOF_NIL;
    uint32_t chain;
    uint32_t held = nof_gather_unhold(r, &chain);
    if (r->line != NOF_STAGE_NONE)
        nof_stage_close(&nic->eps[r->ep].stage, r->line);
    else if (held > 0)
        nof_reserve_free(nic, r, chain);
    if (unbound) {
        nof_env_at(nic, r->envelope)->flags |= NOF_ENV_F_FAILED; /* nothing that could be nearer */
        leave(nic, r);
    }
    r->early = 0;
    if (unbound) {
        nof_reserve_give(nic, r);
        nof_recv_free(nic, r);
    }
    return unbound;
}

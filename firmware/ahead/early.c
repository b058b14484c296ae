/* SPDX-License-Identifier: BSD-3-Clause */
#include "ahead/early.h"

#include "flow/credit.h"
#include "msg/expect.h"
#include "msg/recv.h"
#include "msg/rendezvous.h"
#include "msg/stored.h"
#include "msg/write.h"

#define ROOM_MOST 256u /* receives that a host may have been promised when one is taken here (nic.c) */

void nof_early_store(struct nof_nic *nic, const struct nof_env *e, uint32_t chain)
{
    struct nof_endpoint *ep = &nic->eps[e->ep];
    uint64_t due = nof_expect_due(nic, ep, &e->key, NULL);
    if (due == NOF_STAGE_NEVER)
        return;
    uint32_t line = nof_stored_line(nic, ep, &e->key, NOF_REF(NOF_REF_ENV, chain), e->len, due);
    nof_stored_at(&nic->netmem, chain)->line = line;
}

/* A message that waits in network memory is expected now. */
static void fetch(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_env *e, uint64_t due)
{
    uint32_t line = nof_stored_line(nic, ep, &e->key, NOF_REF(NOF_REF_ENV, e->chain), e->len, due);
    if (line == NOF_STAGE_NONE)
        return;
    nof_stored_bring(nic, e->chain, line);
}

void nof_early_deliver(struct nof_nic *nic, struct nof_recv *r, uint32_t chain)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    struct nof_peer *peer = nof_peer_at(nic, r->peer);
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    uint32_t line = st->line;
    uint8_t small[NOF_INLINE_BYTES];
    int is_small = r->wanted <= NOF_INLINE_BYTES;
    if (is_small)
        memcpy(small, nof_stage_touch(&ep->stage, line, 0, (uint32_t)r->wanted), (size_t)r->wanted);
    else
        r->stage_offset = nof_stage_give(&ep->stage, line);
    if (is_small)
        nof_stage_close(&ep->stage, line);
    st->line = NOF_NIL;
    nof_credit_free(nic, peer, 0, nof_netmem_free(&nic->netmem, chain));
    nof_count(nic, ep, NOF_C_STAGE_COPIES_AVOIDED, 1);
    if (is_small)
        nof_recv_inline(nic, r, small);
    else
        nof_recv_give_staged(nic, r);
}

/* May another rendezvous of this length be granted before its receive? Its object must be none that a
 * host has been promised, see nof_nic_host_room(). */
static int may_grant(const struct nof_nic *nic, const struct nof_endpoint *ep, const struct nof_env *e)
{
    uint64_t limit = nic->features[NOF_F_EARLY_BYTES];
    uint32_t kept = nic->cfg.max_endpoints * nic->recvs_min + ROOM_MOST;
    return ep->early < NOF_EARLY_MAX && nof_pool_free(&nic->recvs) > kept && e->len > 0 && e->len <= limit &&
           ep->early_bytes <= limit - e->len &&
           (e->flags & (NOF_ENV_F_PARKED | NOF_ENV_F_FAILED | NOF_ENV_F_MATCH_FIRST)) == 0 &&
           !(nof_peer_at(nic, e->peer)->flags & NOF_PEER_F_DEAD);
}

static void grant(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_env *e, uint64_t due)
{
    if (!may_grant(nic, ep, e))
        return;
    struct nof_recv *r = nof_recv_take(nic, ep, NOF_COMP_RECV);
    if (r == NULL)
        return;
    uint32_t i = nof_recv_index(nic, r);
    if (!nof_write_borrow(nic, r, (uint32_t)((e->len + NOF_NETMEM_BLOCK - 1) / NOF_NETMEM_BLOCK))) {
        nof_recv_free(nic, r);
        return;
    }
    r->capacity = e->len;
    nof_recv_matched(nic, r, nof_peer_at(nic, e->peer), &e->key, e->len);
    r->flags = NOF_RECV_F_EARLY;
    r->order = nof_env_index(nic, e);
    r->stage_offset = nof_stored_line(nic, ep, &e->key, NOF_REF(NOF_REF_RECV, i), e->len, due);
    e->early = i;
    ep->early++;
    ep->early_bytes += e->len;
    nof_count(nic, ep, NOF_C_STAGE_GRANTED, 1);
    nof_rndv_early(nic, r, e->handle);
}

void nof_early_arrived(struct nof_nic *nic, struct nof_env *e)
{
    struct nof_endpoint *ep = &nic->eps[e->ep];
    if (e->flags & NOF_ENV_F_RTS) {
        uint64_t due = nof_expect_due(nic, ep, &e->key, e);
        if (due != NOF_STAGE_NEVER)
            grant(nic, ep, e, due);
    }
    nof_stored_note(nic, e);
}

/* Everything is here, and so is its receive. */
static void finish(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    uint8_t small[NOF_INLINE_BYTES];
    uint32_t n;
    int in_line = r->stage_offset != NOF_STAGE_NONE;
    uint64_t here = r->received;
    r->wanted = here < r->capacity ? here : r->capacity;
    int is_small = r->wanted <= NOF_INLINE_BYTES;
    r->flags &= (uint8_t)~NOF_RECV_F_EARLY;
    if (is_small && in_line) {
        memcpy(small, nof_stage_touch(&ep->stage, r->stage_offset, 0, (uint32_t)r->wanted),
               (size_t)r->wanted);
        nof_stage_close(&ep->stage, r->stage_offset);
    } else if (in_line) {
        r->stage_offset = nof_stage_give(&ep->stage, r->stage_offset);
    } else if (!is_small) {
        r->state = NOF_RECV_STORED;
        r->received = r->wanted;
        r->hold_bytes = 0;
        nof_write_chain(nic, r, r->hold_chain, 0, (uint32_t)r->wanted, 0, NOF_NIL);
        return;
    } else if (r->hold_bytes > 0) {
        if (r->wanted > 0) {
            nof_chain_bufs(&nic->netmem, r->hold_chain, 0, (uint32_t)r->wanted, nic->bufs, 1, &n);
            memcpy(small, nic->bufs[0].base, (size_t)r->wanted);
        }
        r->used_blocks -= nof_netmem_free(&nic->netmem, r->hold_chain);
        r->hold_bytes = 0;
    }
    if (is_small)
        nof_recv_inline(nic, r, small);
    else
        nof_recv_give_staged(nic, r);
}

/* It has its receive now, or none any more. */
static void leave(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    struct nof_env *e = nof_env_at(nic, (uint32_t)r->order);
    ep->early--;
    ep->early_bytes -= e->len;
    e->early = NOF_NIL;
    r->order = NOF_NIL;
    if (r->flags & NOF_RECV_F_ARRIVED)
        nic->early_whole--;
    nof_write_claim(nic, r);
}

void nof_early_bind(struct nof_nic *nic, struct nof_recv *r, struct nof_env *e)
{
    struct nof_recv *g = nof_recv_at(nic, e->early);
    struct nof_endpoint *ep = &nic->eps[e->ep];
    leave(nic, g);
    g->cookie = r->cookie;
    g->addr = r->addr;
    g->capacity = r->capacity;
    g->layout = r->layout;
    nof_recv_free(nic, r);
    if (g->stage_offset != NOF_STAGE_NONE) {
        nof_stage_remap(&ep->stage, g->stage_offset, nof_recv_index(nic, g));
        nof_count(nic, ep, NOF_C_STAGE_COPIES_AVOIDED, 1);
    }
    if (g->flags & NOF_RECV_F_ARRIVED)
        finish(nic, g);
}

void nof_early_data(struct nof_nic *nic, struct nof_recv *r, uint64_t offset, const uint8_t *data, uint32_t n)
{
    if (r->stage_offset != NOF_STAGE_NONE)
        memcpy(nof_stage_touch(&nic->eps[r->ep].stage, r->stage_offset, (uint32_t)offset, n), data, n);
    else
        nof_stored_collect(nic, r, data, n);
    if (!(r->flags & NOF_RECV_F_ARRIVED))
        return;
    nof_recv_unlist(nic, r); /* the sender's death is of no interest any more */
    if (r->order == NOF_NIL)
        finish(nic, r);
    else
        nic->early_whole++;
}

int nof_early_end(struct nof_nic *nic, struct nof_recv *r)
{
    int unbound = r->order != NOF_NIL;
    if (r->stage_offset != NOF_STAGE_NONE)
        nof_stage_close(&nic->eps[r->ep].stage, r->stage_offset);
    else if (r->hold_bytes > 0)
        r->used_blocks -= nof_netmem_free(&nic->netmem, r->hold_chain);
    r->hold_bytes = 0;
    if (unbound) {
        nof_env_at(nic, (uint32_t)r->order)->flags |= NOF_ENV_F_FAILED; /* nothing that could be nearer */
        leave(nic, r);
    }
    r->flags &= (uint8_t)~NOF_RECV_F_EARLY;
    if (unbound) {
        nof_write_unreserve(nic, r);
        nof_recv_free(nic, r);
    }
    return unbound;
}

/* What lies in the envelope itself is as near as can be and not counted. */
void nof_early_found(struct nof_nic *nic, const struct nof_env *e)
{
    struct nof_endpoint *ep = &nic->eps[e->ep];
    int near = e->early != NOF_NIL;
    if (e->chain != NOF_NIL)
        near = nof_stored_at(&nic->netmem, e->chain)->line != NOF_NIL;
    else if (!(e->flags & NOF_ENV_F_RTS))
        return;
    nof_count(nic, ep, near ? NOF_C_STAGE_HITS : NOF_C_STAGE_MISSED, 1);
}

/* A message that waits is predicted to be taken by receive number `due`. */
static void expect(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_env *e, uint64_t due)
{
    uint32_t line = NOF_NIL;
    if (e->chain != NOF_NIL) {
        line = nof_stored_at(&nic->netmem, e->chain)->line;
        if (line == NOF_NIL)
            fetch(nic, ep, e, due);
    } else if (e->early != NOF_NIL) {
        line = nof_recv_at(nic, e->early)->stage_offset;
    } else if (e->flags & NOF_ENV_F_RTS) {
        grant(nic, ep, e, due);
    }
    if (line != NOF_NIL)
        ep->stage.line[line].due = due;
    nof_stored_note(nic, e);
}

void nof_early_ahead(struct nof_nic *nic, struct nof_endpoint *ep)
{
    struct nof_message_id ids[NOF_EXPECT_MOST];
    if (ep->far == 0 || ep->receives == ep->ahead || !nof_expect_on(ep))
        return;
    ep->ahead = ep->receives;
    uint32_t n = nof_expect_next(nic, ep, ids);
    /* bound: lookahead, 64; paid by the endpoint's receives */
    for (uint32_t i = 0; i < n; i++) {
        struct nof_env *e = nof_expect_found(nic, ep, ids, i);
        if (e != NULL)
            expect(nic, ep, e, ep->receives + i + 1);
    }
}

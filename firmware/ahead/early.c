/* SPDX-License-Identifier: BSD-3-Clause */
#include "ahead/early.h"

#include "match/expect.h"
#include "msg/granted.h"
#include "msg/recv.h"
#include "msg/rendezvous.h"
#include "payload/reserve.h"
#include "msg/stored.h"

void nof_early_store(struct nof_nic *nic, const struct nof_env *e, uint32_t chain)
{
    struct nof_endpoint *ep = &nic->eps[e->key.ep];
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

/* May another rendezvous of this length be granted before its receive? A delta message, which comes out of order and when its
 * program has it, may not. The object must be none that a
 * host has been promised, see nof_nic_host_room(). */
static bool may_grant(const struct nof_nic *nic, const struct nof_endpoint *ep, const struct nof_env *e)
{
    uint64_t limit = nic->features[NOF_F_EARLY_BYTES];
    uint32_t kept = nic->cfg.max_endpoints * nic->recvs_min + nic->promised_recvs + NOF_ROOM_MOST;
    return ep->early < NOF_EARLY_MAX && e->unit_log2 == 0 && nof_pool_free(&nic->recvs) > kept &&
           e->len > 0 && e->len <= limit && ep->early_bytes <= limit - e->len &&
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
    if (!nof_reserve_borrow(nic, r, (uint32_t)((e->len + NOF_NETMEM_BLOCK - 1) / NOF_NETMEM_BLOCK))) {
        nof_recv_free(nic, r);
        return;
    }
    nof_recv_call(r, &e->key, 0, 0, e->len, NOF_NIL);
    nof_recv_matched(nic, r, nof_peer_at(nic, e->peer), &e->key, e->len, 0);
    nof_granted_begin(nic, r, e, nof_stored_line(nic, ep, &e->key, NOF_REF(NOF_REF_RECV, i), e->len, due));
    nof_rndv_early(nic, r, e->handle);
}

void nof_early_arrived(struct nof_nic *nic, struct nof_env *e)
{
    struct nof_endpoint *ep = &nic->eps[e->key.ep];
    if (e->flags & NOF_ENV_F_RTS) {
        uint64_t due = nof_expect_due(nic, ep, &e->key, e);
        if (due != NOF_STAGE_NEVER)
            grant(nic, ep, e, due);
    }
    nof_stored_note(nic, e);
}

/* What lies in the envelope itself is as near as can be and not counted. */
void nof_early_found(struct nof_nic *nic, const struct nof_env *e)
{
    struct nof_endpoint *ep = &nic->eps[e->key.ep];
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
        line = nof_recv_at(nic, e->early)->line;
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

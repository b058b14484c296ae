/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/unexpected.h"

#include "flow/credit.h"
#include "flow/link.h"
#include "msg/deliver.h"
#include "msg/granted.h"
#include "msg/recv.h"
#include "msg/rendezvous.h"
#include "msg/stored.h"
#include "msg/taps.h"

int nof_unexpected_collect(struct nof_nic *nic, struct nof_peer *peer, struct nof_recv *r,
                           const struct nof_arrival *a)
{
    uint32_t chain = nof_stored_begin(nic, peer, a, NOF_STORED_RECV, nof_recv_index(nic, r));
    if (chain == NOF_NIL) {
        nof_recv_end(nic, r, NOF_EPROTO);
        return NOF_EPROTO;
    }
    (void)nof_stored_put(nic, chain, a->payload, a->payload_bytes);
    if (peer->rx_left == 0)
        nof_deliver_stored(nic, r, chain);
    return NOF_OK;
}

void nof_unexpected_complete(struct nof_nic *nic, uint32_t chain)
{
    const struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    if (st->owner_kind == NOF_STORED_RECV)
        nof_deliver_stored(nic, nof_recv_at(nic, st->owner), chain);
}

void nof_unexpected_failed(struct nof_nic *nic, uint32_t chain, int status)
{
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    if (st->owner_kind == NOF_STORED_HELD) {
        st->flags |= NOF_STORED_F_FAILED; /* its PULL will say so */
        st->status = (int16_t)status;
        return;
    }
    if (st->owner_kind == NOF_STORED_RECV) {
        nof_recv_end(nic, nof_recv_at(nic, st->owner), status);
    } else {
        struct nof_env *e = nof_env_at(nic, st->owner);
        e->flags |= NOF_ENV_F_FAILED | (status == NOF_EPEERDEAD ? NOF_ENV_F_GONE : 0);
        e->chain = NOF_NIL;
    }
    nof_stored_drop(nic, chain);
}

void nof_unexpected_assign(struct nof_nic *nic, struct nof_recv *r, uint32_t chain)
{
    struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    if (st->flags & NOF_STORED_F_FAILED) {
        int status = st->status;
        nof_stored_drop(nic, chain);
        nof_recv_end(nic, r, status);
        return;
    }
    st->owner_kind = NOF_STORED_RECV;
    st->owner = nof_recv_index(nic, r);
    nof_recv_collect(r, chain);
    if (st->arrived == st->len)
        nof_deliver_stored(nic, r, chain);
    else if (st->line != NOF_NIL)
        nof_stage_remap(&nic->eps[r->ep].stage, st->line, nof_recv_index(nic, r));
}

void nof_unexpected_free(struct nof_nic *nic, struct nof_env *e)
{
    struct nof_peer *peer = nof_peer_at(nic, e->peer);
    if (e->state != NOF_ENV_DONE && e->early != NOF_NIL)
        nof_recv_abort(nic, nof_recv_at(nic, e->early), NOF_ECANCELED);
    e->state = NOF_ENV_FREE;
    nof_pool_give(&nic->envs, nof_env_index(nic, e));
    nof_credit_free(nic, peer, 1, 0);
    nof_link_update_credit(nic, peer);
}

void nof_unexpected_withdraw(struct nof_nic *nic, struct nof_env *e)
{
    nof_match_unstore(nic, e);
    if (e->chain != NOF_NIL)
        nof_stored_discard(nic, e->chain);
    nof_unexpected_free(nic, e);
}

struct nof_env *nof_unexpected_take(struct nof_nic *nic, struct nof_peer *peer, const struct nof_arrival *a)
{
    uint32_t i = nof_pool_take(&nic->envs);
    if (i == NOF_NIL)
        return NULL;
    struct nof_env *e = nof_env_at(nic, i);
    e->state = NOF_ENV_STORED;
    e->flags = a->flags;
    e->agreed = a->agreed;
    e->unit_log2 = a->unit_log2;
    e->peer = nof_peer_index(nic, peer);
    e->key = a->key;
    e->len = a->len;
    e->handle = a->handle;
    e->chain = NOF_NIL;
    e->early = NOF_NIL;
    if ((a->flags & (NOF_ENV_F_RTS | NOF_ENV_F_FAILED)) != 0)
        return e;
    if (a->blocks == 0) {
        memcpy(e->data, a->payload, a->payload_bytes);
        return e;
    }
    e->chain = nof_stored_begin(nic, peer, a, NOF_STORED_ENV, i);
    if (e->chain == NOF_NIL) {
        nof_pool_give(&nic->envs, i);
        return NULL;
    }
    if (nic->grants.deferring == NULL)
        nic->taps->begins(nic, e, e->chain);
    (void)nof_stored_put(nic, e->chain, a->payload, a->payload_bytes);
    return e;
}

uint64_t nof_unexpected_mprobe(struct nof_nic *nic, struct nof_env *e)
{
    e->state = NOF_ENV_MPROBED;
    nic->eps[e->key.ep].mprobed++;
    return nof_handle(nof_env_index(nic, e), e->obj.gen);
}

struct nof_env *nof_unexpected_by_handle(struct nof_nic *nic, uint32_t ep, uint64_t handle)
{
    uint32_t i = (uint32_t)handle;
    if (i >= nic->envs.high)
        return NULL;
    struct nof_env *e = nof_env_at(nic, i);
    return e->state == NOF_ENV_MPROBED && e->key.ep == ep && e->obj.gen == handle >> 32 ? e : NULL;
}

static void leave_tables(struct nof_nic *nic, struct nof_env *e)
{
    if (e->state == NOF_ENV_STORED)
        nof_match_unstore(nic, e);
    else if (e->state == NOF_ENV_MPROBED)
        nic->eps[e->key.ep].mprobed--;
}

/* Its rendezvous is granted already. */
static void bind(struct nof_nic *nic, struct nof_recv *r, struct nof_env *e)
{
    struct nof_recv *granted = nof_granted_bind(nic, r, e);
    if (granted->arrived)
        nof_deliver_granted(nic, granted);
}

void nof_unexpected_deliver(struct nof_nic *nic, struct nof_recv *r, struct nof_env *e)
{
    struct nof_peer *peer = nof_peer_at(nic, e->peer);
    bool dead = (peer->flags & NOF_PEER_F_DEAD) != 0;
    leave_tables(nic, e);
    if (e->chain != NOF_NIL)
        (void)nof_stored_open(nic, e->chain); /* if it fails, e says so */
    nof_recv_matched(nic, r, peer, &e->key, e->len, e->agreed);
    if (e->flags & NOF_ENV_F_SYNC)
        nof_recv_tell_matched(nic, peer, e->handle);
    if (e->early != NOF_NIL)
        bind(nic, r, e);
    else if (e->flags & NOF_ENV_F_FAILED)
        nof_recv_end(nic, r, dead ? peer->status : nof_unexpected_failure(e->flags));
    else if ((e->flags & NOF_ENV_F_RTS) && dead)
        nof_recv_end(nic, r, peer->status);
    else if (e->flags & NOF_ENV_F_RTS)
        nof_rndv_begin(nic, r, e->handle, e->flags, e->unit_log2);
    else if (e->chain == NOF_NIL)
        nof_deliver_small(nic, r, e->data);
    else
        nof_unexpected_assign(nic, r, e->chain);
    nof_unexpected_free(nic, e);
}

bool nof_unexpected_close(struct nof_nic *nic, const struct nof_endpoint *ep, uint32_t index)
{
    struct nof_env *e = nof_env_at(nic, index);
    if (e->key.ep != ep->index || (e->state != NOF_ENV_STORED && e->state != NOF_ENV_MPROBED))
        return false;
    leave_tables(nic, e);
    if (e->chain != NOF_NIL)
        nof_stored_drop(nic, e->chain);
    nof_unexpected_free(nic, e);
    return true;
}

void nof_unexpected_close_held(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t chain)
{
    if (nic->netmem.held[chain] == 0 || nof_stored_at(&nic->netmem, chain)->ep != ep->index)
        return;
    nic->netmem.held[chain] = 0;
    ep->held--;
    nof_stored_drop(nic, chain);
}

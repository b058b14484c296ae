/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/spill.h"

#include "flow/credit.h"
#include "flow/completion.h"
#include "flow/link.h"
#include "flow/peer.h"
#include "msg/recv.h"
#include "msg/rendezvous.h"
#include "msg/stored.h"
#include "msg/unexpected.h"

/* Units of a delta send, in the PULL's handle: a handle's index has bits to spare (config: max_sends). */
#define HANDLE_UNIT_SHIFT 24u
#define HANDLE_UNIT_MASK 63u

void nof_spill_enter(struct nof_endpoint *ep)
{
    ep->spilling = 1;
}

void nof_spill_probe(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r)
{
    struct nof_comp comp = {
        .opcode = r->opcode, .status = NOF_ENOMATCH, .ctx = r->key.ctx, .cookie = r->cookie};
    ep->nomatch_given++;
    nof_recv_say(nic, r, &comp);
}

/* Put the payload of an eager message where the library can get it. NOF_OK or NOF_EPROTO. */
static int place(struct nof_nic *nic, struct nof_peer *peer, const struct nof_arrival *a,
                 struct nof_comp *comp)
{
    struct nof_endpoint *ep = &nic->eps[peer->ep];
    bool sync = (a->flags & NOF_ENV_F_SYNC) != 0;
    comp->flags = sync ? NOF_COMP_F_SYNC : 0;
    if (sync)
        comp->handle = a->handle;
    if (a->blocks == 0) {
        if (!sync) {
            comp->flags |= NOF_COMP_F_INLINE;
            memcpy(comp->inline_data, a->payload, a->payload_bytes);
        }
        return NOF_OK;
    }
    if (a->payload_bytes == a->len && ep->stage.granules > 0) {
        uint32_t at = nof_stage_alloc(&ep->stage, (uint32_t)a->len);
        if (at != NOF_STAGE_NONE) {
            memcpy(ep->stage.area + at, a->payload, a->payload_bytes);
            comp->flags |= NOF_COMP_F_STAGED;
            comp->staged_offset = at;
            comp->staged_len = (uint32_t)a->len;
            nof_credit_free(nic, peer, 0, a->blocks);
            nof_count(nic, ep, NOF_C_STAGED, 1);
            return NOF_OK;
        }
        nof_count(nic, ep, NOF_C_STAGE_FULL, 1);
    }
    uint32_t chain = nof_stored_begin(nic, peer, a, NOF_STORED_HELD, NOF_NIL);
    if (chain == NOF_NIL)
        return NOF_EPROTO;
    (void)nof_stored_put(nic, chain, a->payload, a->payload_bytes);
    ep->held++;
    comp->flags = NOF_COMP_F_REMOTE;
    comp->handle = nof_handle(chain, nof_stored_hold(&nic->netmem, chain)) | NOF_HANDLE_HELD;
    return NOF_OK;
}

/* Takes the place, and the credit, of the message until the library has heard of it. */
static int give(struct nof_nic *nic, struct nof_peer *peer, const struct nof_comp *comp, uint32_t i)
{
    struct nof_endpoint *ep = &nic->eps[peer->ep];
    struct nof_env *e = nof_env_at(nic, i);
    e->state = NOF_ENV_DONE;
    e->peer = nof_peer_index(nic, peer);
    ep->spills_given++;
    nof_count(nic, ep, NOF_C_SPILLED, 1);
    if (nof_completion_say(nic, ep, comp))
        nof_unexpected_free(nic, e);
    else
        nof_completion_keep(nic, ep, comp, NOF_REF(NOF_REF_ENV, i));
    return NOF_OK;
}

static struct nof_comp spill_of(const struct nof_arrival *a)
{
    return (struct nof_comp){
        .opcode = NOF_COMP_SPILL, .ctx = a->key.ctx, .peer = a->key.source, .tag = a->key.tag, .len = a->len};
}

int nof_spill_last_word(struct nof_nic *nic, struct nof_peer *peer, const struct nof_arrival *a)
{
    struct nof_comp comp = spill_of(a);
    uint32_t i = nof_pool_take(&nic->envs);
    if (i == NOF_NIL)
        return NOF_EPROTO;
    comp.status = NOF_EDISAGREE;
    return give(nic, peer, &comp, i);
}

int nof_spill_arrive(struct nof_nic *nic, struct nof_peer *peer, const struct nof_arrival *a)
{
    struct nof_comp comp = spill_of(a);
    uint32_t i = nof_pool_take(&nic->envs);
    if (i == NOF_NIL)
        return NOF_EPROTO;
    if (a->flags & NOF_ENV_F_FAILED) {
        comp.status = (int16_t)nof_unexpected_failure(a->flags);
    } else if (a->flags & NOF_ENV_F_RTS) {
        comp.flags = NOF_COMP_F_REMOTE;
        if (a->flags & NOF_ENV_F_UNENDED)
            comp.flags |= NOF_COMP_F_UNENDED;
        comp.handle = a->handle | (a->flags & NOF_ENV_F_PARKED ? NOF_HANDLE_PARKED : 0) |
                      (uint64_t)a->unit_log2 << HANDLE_UNIT_SHIFT;
    } else {
        int rc = place(nic, peer, a, &comp);
        if (rc != NOF_OK) {
            nof_pool_give(&nic->envs, i);
            return rc;
        }
    }
    if (!(comp.flags & NOF_COMP_F_INLINE))
        comp.sender_handle = a->handle | (a->flags & NOF_ENV_F_PARKED ? NOF_HANDLE_PARKED : 0);
    return give(nic, peer, &comp, i);
}

int nof_spill_end(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    if (!ep->spilling)
        return NOF_OK;
    if (desc->spills_seen < ep->spills_given || desc->nomatches_seen < ep->nomatch_given ||
        !nof_recv_may_post(nic, ep))
        return NOF_EAGAIN;
    ep->spilling = 0;
    return NOF_OK;
}

/* The eager message that this endpoint's host left with us under this handle; NULL: there is none. */
static const struct nof_stored *find_held(const struct nof_nic *nic, uint32_t ep, const struct nof_peer *peer,
                                          uint64_t handle)
{
    uint32_t chain = (uint32_t)handle;
    uint32_t gen = (uint32_t)(handle >> 32) & NOF_GEN_MAX;
    if (chain >= nic->netmem.high || nic->netmem.held[chain] != gen || gen == 0)
        return NULL;
    const struct nof_stored *st = nof_stored_at(&nic->netmem, chain);
    return st->ep == ep && st->peer == nof_peer_index(nic, peer) ? st : NULL;
}

static void unhold(struct nof_nic *nic, uint32_t ep, uint32_t chain)
{
    nic->eps[ep].held -= (uint32_t)nof_stored_unhold(&nic->netmem, chain, nic->netmem.held[chain]);
}

void nof_spill_forget(struct nof_nic *nic, const struct nof_endpoint *ep, const struct nof_peer *peer,
                      uint64_t handle)
{
    uint32_t chain = (uint32_t)handle;
    if ((handle & NOF_HANDLE_KINDS) != NOF_HANDLE_HELD || find_held(nic, ep->index, peer, handle) == NULL)
        return;
    unhold(nic, ep->index, chain);
    nof_stored_discard(nic, chain);
}

static int pull_held(struct nof_nic *nic, struct nof_recv *r, struct nof_peer *peer, uint64_t handle)
{
    uint32_t chain = (uint32_t)handle;
    const struct nof_stored *st = find_held(nic, r->ep, peer, handle);
    if (st == NULL)
        return NOF_ENOENT;
    struct nof_match_key key = {.ep = r->ep, .ctx = st->ctx, .source = r->key.source, .tag = st->tag};
    unhold(nic, r->ep, chain);
    nof_recv_matched(nic, r, peer, &key, st->len, 0);
    if (st->flags & NOF_STORED_F_SYNC)
        nof_recv_tell_matched(nic, peer, st->handle);
    nof_unexpected_assign(nic, r, chain);
    nof_link_update_credit(nic, peer);
    return NOF_OK;
}

bool nof_spill_waits(uint64_t handle)
{
    return (handle & NOF_HANDLE_PARKED) != 0 || (handle & (NOF_HANDLE_SYNC | NOF_HANDLE_HELD)) == 0;
}

void nof_spill_pull(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r, uint8_t flags,
                    uint64_t handle, uint64_t len)
{
    struct nof_match_key key = r->key;
    struct nof_peer *peer = nof_peer_by_rank(nic, ep->index, (uint32_t)r->key.source);
    bool parked = (handle & NOF_HANDLE_PARKED) != 0;
    if (peer == NULL) {
        nof_recv_end(nic, r, NOF_ENOENT);
        return;
    }
    if (!parked && (handle & NOF_HANDLE_HELD)) {
        if (pull_held(nic, r, peer, handle) != NOF_OK)
            nof_recv_end(nic, r, NOF_ENOENT);
        return;
    }
    if (peer->flags & NOF_PEER_F_DEAD) {
        nof_recv_end(nic, r, peer->status);
        return;
    }
    if (!parked && (handle & NOF_HANDLE_SYNC)) {
        nof_recv_tell_matched(nic, peer, handle);
        nof_recv_matched(nic, r, peer, &key, 0, 0);
        nof_recv_inline(nic, r, NULL);
        return;
    }
    nof_recv_matched(nic, r, peer, &key, len, 0);
    uint32_t unit_log2 = parked ? 0 : (uint32_t)(handle >> HANDLE_UNIT_SHIFT) & HANDLE_UNIT_MASK;
    uint8_t kept = parked ? NOF_ENV_F_PARKED | (flags & NOF_DESC_F_DELTA ? NOF_ENV_F_UNENDED : 0) : 0;
    nof_rndv_begin(nic, r, handle & ~(NOF_HANDLE_PARKED | (uint64_t)unit_log2 << HANDLE_UNIT_SHIFT), kept,
                   unit_log2);
}

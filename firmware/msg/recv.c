/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/recv.h"

#include "flow/clearance.h"
#include "flow/incoming.h"
#include "flow/link.h"
#include "flow/peer.h"
#include "msg/delta_slots.h"
#include "payload/gather.h"
#include "msg/granted.h"
#include "payload/reserve.h"
#include "msg/taps.h"
#include "payload/recv_wait.h"

uint32_t nof_recv_spare(const struct nof_nic *nic)
{
    uint32_t free = nof_pool_free(&nic->recvs);
    uint32_t reserve = nic->cfg.max_endpoints * nic->recvs_min + nic->promised_recvs;
    return free > reserve ? free - reserve : 0;
}

uint32_t nof_recv_room(const struct nof_nic *nic, const struct nof_endpoint *ep)
{
    uint32_t spare = nof_recv_spare(nic);
    if (spare > 0)
        return spare;
    uint32_t busy = ep->recvs_used - ep->driven_recvs - (ep->posted_total - ep->driven_posted);
    return busy < nic->recvs_min ? nic->recvs_min - busy : 0;
}

int nof_recv_post(struct nof_nic *nic, struct nof_recv *r)
{
    if (r->key.source >= 0) {
        const struct nof_peer *peer = nof_peer_await(nic, &nic->eps[r->ep], (uint32_t)r->key.source);
        if (peer != NULL && (peer->flags & NOF_PEER_F_DEAD))
            return peer->status;
        nof_recv_await(nic, r, peer != NULL ? nof_peer_index(nic, peer) : NOF_NIL);
    }
    nof_recv_posted(r);
    nof_match_post(nic, r);
    return NOF_OK;
}

struct nof_recv *nof_recv_by_handle(struct nof_nic *nic, const struct nof_peer *peer, uint64_t handle)
{
    uint32_t i = (uint32_t)handle;
    if (i >= nic->recvs.high)
        return NULL;
    struct nof_recv *r = nof_recv_at(nic, i);
    if (r->state != NOF_RECV_RNDV || r->obj.gen != handle >> 32 || r->peer != nof_peer_index(nic, peer))
        return NULL;
    return r;
}

void nof_recv_step_ended(struct nof_nic *nic, struct nof_recv *r, const struct nof_comp *comp)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    uint64_t cookie = comp->cookie;
    nof_recv_free(nic, r);
    nic->taps->step_news(nic, ep, cookie, NOF_STEP_NEWS_ENDED, comp->status, comp->len);
}

void nof_recv_complete(struct nof_nic *nic, struct nof_recv *r, struct nof_comp *comp)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    comp->opcode = r->opcode;
    comp->status = (int16_t)r->status;
    if (r->status == NOF_OK && r->len > r->capacity) {
        comp->status = NOF_ETRUNC;
        nof_count(nic, ep, NOF_C_TRUNCATED, 1);
    }
    comp->ctx = r->key.ctx;
    comp->cookie = r->cookie;
    comp->peer = r->key.source;
    comp->tag = r->key.tag;
    comp->len = r->len;
    nof_recv_unlist(nic, r);
    if (r->delta)
        nof_delta_recv_end(nic, r, comp->status == NOF_ETRUNC ? NOF_OK : comp->status);
    if (r->reserved_blocks > 0)
        nof_reserve_give(nic, r);
    if (r->layout != NOF_NIL)
        nof_layout_drop(&nic->layouts, r->layout);
    r->state = NOF_RECV_DONE;
    nof_recv_say(nic, r, comp);
}

void nof_recv_answer(struct nof_nic *nic, struct nof_recv *r, int status)
{
    struct nof_comp comp = {.flags = 0};
    r->status = status;
    nof_recv_complete(nic, r, &comp);
}

void nof_recv_probe_answer(struct nof_nic *nic, struct nof_recv *r, const struct nof_match_key *key,
                           uint64_t len, uint64_t handle)
{
    struct nof_comp comp = {.opcode = r->opcode,
                            .ctx = key->ctx,
                            .cookie = r->cookie,
                            .peer = key->source,
                            .tag = key->tag,
                            .len = len,
                            .handle = handle};
    nof_recv_say(nic, r, &comp);
}

void nof_recv_progress(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_comp comp = {.flags = NOF_COMP_F_BUFFER};
    if (!r->arrived || r->written != r->received || r->writes > 0)
        return;
    if (r->state != NOF_RECV_RNDV && r->state != NOF_RECV_DIRECT && r->state != NOF_RECV_STORED)
        return;
    nof_recv_complete(nic, r, &comp);
}

void nof_recv_end(struct nof_nic *nic, struct nof_recv *r, int status)
{
    struct nof_comp comp = {.flags = 0};
    if (r->state == NOF_RECV_ENDING || r->state == NOF_RECV_FREE)
        return;
    nof_recv_unlist(nic, r);
    nof_clearance_leave(nic, r);
    if (r->early && nof_granted_end(nic, r))
        return;
    nof_gather_forget(nic, r);
    if (r->state == NOF_RECV_STAGE)
        nof_stage_release(&nic->eps[r->ep].stage, r->stage_offset);
    nof_recv_wait_leave(nic, r);
    if (r->peer != NOF_NIL)
        nof_incoming_leaves(nof_peer_at(nic, r->peer), NOF_REF(NOF_REF_RECV, nof_recv_index(nic, r)));
    r->status = status;
    r->state = NOF_RECV_ENDING;
    if (r->writes == 0)
        nof_recv_complete(nic, r, &comp);
}

void nof_recv_abort(struct nof_nic *nic, struct nof_recv *r, int status)
{
    if (r->state == NOF_RECV_RNDV && !r->parked)
        nof_recv_tell_aborted(nic, nof_peer_at(nic, r->peer), r->remote, status);
    nof_recv_end(nic, r, status);
}

void nof_recv_write_ended(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_comp comp = {.flags = 0};
    if (r->state == NOF_RECV_ENDING && r->writes == 0)
        nof_recv_complete(nic, r, &comp);
}

void nof_recv_matched(struct nof_nic *nic, struct nof_recv *r, struct nof_peer *peer,
                      const struct nof_match_key *key, uint64_t len, uint8_t agreed)
{
    r->key = *key;
    r->peer = nof_peer_index(nic, peer);
    r->len = len;
    if (!nof_recv_agrees(r, agreed)) {
        r->status = NOF_EDISAGREE;
        r->capacity = 0;
        nof_count(nic, &nic->eps[r->ep], NOF_C_COLL_DISAGREED, 1);
    }
    nof_recv_want(r, len);
    r->received = 0;
    r->written = 0;
    r->at = 0;
    nof_gather_begin(r);
}

void nof_recv_inline(struct nof_nic *nic, struct nof_recv *r, const uint8_t *data)
{
    struct nof_comp comp = {.flags = NOF_COMP_F_INLINE};
    if (r->wanted > 0)
        memcpy(comp.inline_data, data, (size_t)r->wanted);
    nof_recv_complete(nic, r, &comp);
}

bool nof_recv_stage(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    if (r->wanted > nic->features[NOF_F_STAGE_MAX] || ep->stage.granules == 0 || nof_recv_in_buffer(r))
        return false;
    r->stage_offset = nof_stage_alloc(&ep->stage, (uint32_t)r->wanted);
    if (r->stage_offset == NOF_STAGE_NONE) {
        nof_count(nic, ep, NOF_C_STAGE_FULL, 1);
        return false;
    }
    r->state = NOF_RECV_STAGE;
    return true;
}

void nof_recv_give_staged(struct nof_nic *nic, struct nof_recv *r, uint32_t offset)
{
    struct nof_comp comp = {
        .flags = NOF_COMP_F_STAGED, .staged_offset = offset, .staged_len = (uint32_t)r->wanted};
    nof_count(nic, &nic->eps[r->ep], NOF_C_STAGED, 1);
    nof_recv_complete(nic, r, &comp);
}

void nof_recv_staged(struct nof_nic *nic, struct nof_recv *r, const uint8_t *data, uint32_t n)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    memcpy(ep->stage.area + r->stage_offset + r->received, data, n);
    nof_recv_came(r, n);
    if (r->received < r->wanted)
        return;
    nof_recv_give_staged(nic, r, r->stage_offset);
}

void nof_recv_tell_aborted(struct nof_nic *nic, const struct nof_peer *peer, uint64_t handle, int status)
{
    uint8_t fields[NOF_WIRE_ABORT_BYTES];
    if (peer->flags & NOF_PEER_F_DEAD)
        return;
    nof_put64(fields + NOF_WIRE_ABORT_HANDLE, handle);
    nof_put32(fields + NOF_WIRE_ABORT_STATUS, (uint32_t)status);
    nof_put32(fields + NOF_WIRE_ABORT_SIDE, NOF_WIRE_ABORT_SEND);
    nof_link_ctl(nic, &nic->links[peer->link], NOF_WIRE_ABORT, 0, peer->ep, peer->remote_ep, fields,
                 sizeof fields);
}

void nof_recv_tell_matched(struct nof_nic *nic, struct nof_peer *peer, uint64_t handle)
{
    uint8_t fields[NOF_WIRE_MATCHED_BYTES];
    if (peer->flags & NOF_PEER_F_DEAD)
        return;
    nof_put64(fields + NOF_WIRE_MATCHED_SENDER, handle);
    nof_link_ctl(nic, &nic->links[peer->link], NOF_WIRE_MATCHED, 0, peer->ep, peer->remote_ep, fields,
                 sizeof fields);
}

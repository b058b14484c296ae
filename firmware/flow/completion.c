/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/completion.h"

#include "flow/chores.h"
#include "flow/job.h"
#include "flow/link.h"
#include "flow/peer.h"
#include "msg/recv.h"
#include "ahead/recv_watch.h"
#include "msg/send.h"
#include "msg/unexpected.h"

#define DRAIN 256u /* completions that had waited, given at once */

/* --- completions ---------------------------------------------------------------------------------- */

static struct nof_obj *obj_of(struct nof_nic *nic, uint32_t ref)
{
    const struct nof_pool *pool[] = {[NOF_REF_SEND] = &nic->sends,
                                     [NOF_REF_RECV] = &nic->recvs,
                                     [NOF_REF_ENV] = &nic->envs,
                                     [NOF_REF_PEER] = &nic->peers};
    return nof_pool_obj(pool[NOF_REF_KIND(ref)], NOF_REF_INDEX(ref));
}

/* Where a completion that waits is kept; NULL: it is made anew (peers). */
static struct nof_comp *comp_of(struct nof_nic *nic, uint32_t ref)
{
    uint32_t i = NOF_REF_INDEX(ref);
    switch ((enum nof_ref_kind)NOF_REF_KIND(ref)) {
    case NOF_REF_SEND:
        return &nof_send_at(nic, i)->comp;
    case NOF_REF_RECV:
        return &nof_recv_at(nic, i)->comp;
    case NOF_REF_ENV:
        return &nof_env_at(nic, i)->comp;
    case NOF_REF_PEER:
        break;
    }
    return NULL;
}

static void release(struct nof_nic *nic, uint32_t ref)
{
    if (ref == NOF_NIL)
        return;
    uint32_t i = NOF_REF_INDEX(ref);
    switch ((enum nof_ref_kind)NOF_REF_KIND(ref)) {
    case NOF_REF_SEND:
        nof_send_free(nic, nof_send_at(nic, i));
        break;
    case NOF_REF_RECV:
        nof_recv_free(nic, nof_recv_at(nic, i));
        break;
    case NOF_REF_ENV:
        nof_unexpected_free(nic, nof_env_at(nic, i));
        break;
    case NOF_REF_PEER:
        break;
    }
}

static void defer(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t ref)
{
    obj_of(nic, ref)->next = NOF_NIL;
    if (ep->comp_head == NOF_NIL) {
        ep->comp_head = ref;
        nic->stalled_comps++;
        nof_count(nic, ep, NOF_C_COMP_STALLS, 1);
    } else {
        obj_of(nic, ep->comp_tail)->next = ref;
    }
    ep->comp_tail = ref;
    nof_retry(nic);
}

void nof_ep_keep(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_comp *comp, uint32_t ref)
{
    *comp_of(nic, ref) = *comp;
    defer(nic, ep, ref);
}

int nof_ep_complete(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_comp *comp, uint32_t ref)
{
    if (nof_ep_say(nic, ep, comp)) {
        release(nic, ref);
        return NOF_OK;
    }
    if (ref == NOF_NIL) {
        int unasked = comp->opcode == NOF_COMP_GRANT || comp->opcode == NOF_COMP_REVOKE;
        if (unasked && nof_recv_room(nic, ep) == 0)
            return NOF_EAGAIN; /* what is left is for descriptors */
        const struct nof_recv *r = nof_recv_take(nic, ep, comp->opcode);
        if (r == NULL)
            return NOF_EAGAIN;
        ref = NOF_REF(NOF_REF_RECV, nof_recv_index(nic, r));
    }
    nof_ep_keep(nic, ep, comp, ref);
    return NOF_OK;
}

static struct nof_comp peer_dead_comp(const struct nof_peer *peer)
{
    return (struct nof_comp){.opcode = NOF_COMP_PEER_DEAD,
                             .peer = (int32_t)peer->rank,
                             .status = (int16_t)(peer->flags & NOF_PEER_F_ORDERLY ? NOF_OK : peer->status)};
}

void nof_ep_peer_dead(struct nof_nic *nic, struct nof_peer *peer)
{
    struct nof_endpoint *ep = &nic->eps[peer->ep];
    struct nof_comp comp = peer_dead_comp(peer);
    if (ep->state == NOF_EP_OPEN && (ep->comp_head != NOF_NIL || !nof_ep_give(nic, ep, &comp)))
        defer(nic, ep, NOF_REF(NOF_REF_PEER, nof_peer_index(nic, peer)));
}

void nof_ep_forget_completion(struct nof_nic *nic, struct nof_endpoint *ep)
{
    uint32_t ref = ep->comp_head;
    ep->comp_head = obj_of(nic, ref)->next;
    release(nic, ref);
    if (ep->comp_head == NOF_NIL)
        nic->stalled_comps--;
}

/* Give what waits, in order, until the ring is full again. */
static void drain_completions(struct nof_nic *nic, struct nof_endpoint *ep)
{
    for (unsigned n = 0; n < DRAIN && ep->comp_head != NOF_NIL; n++) {
        uint32_t ref = ep->comp_head;
        uint32_t next = obj_of(nic, ref)->next;
        struct nof_comp comp;
        if (NOF_REF_KIND(ref) == NOF_REF_PEER)
            comp = peer_dead_comp(nof_peer_at(nic, NOF_REF_INDEX(ref)));
        else
            comp = *comp_of(nic, ref);
        if (ep->state == NOF_EP_OPEN && !nof_ep_give(nic, ep, &comp))
            return;
        ep->comp_head = next;
        release(nic, ref);
    }
    if (ep->comp_head == NOF_NIL)
        nic->stalled_comps--;
}

void nof_ep_completions_run(struct nof_nic *nic)
{
    /* bound: endpoints, while a ring is full; paid by all */
    for (uint32_t i = 0; nic->stalled_comps > 0 && i < nic->cfg.max_endpoints; i++)
        if (nic->eps[i].state != NOF_EP_FREE && nic->eps[i].state != NOF_EP_CLOSING &&
            nic->eps[i].comp_head != NOF_NIL)
            drain_completions(nic, &nic->eps[i]);
    if (nic->stalled_comps > 0)
        nof_retry(nic);
}

void nof_ep_answer(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc, int status)
{
    struct nof_comp comp = {.opcode = desc->opcode,
                            .status = (int16_t)status,
                            .ctx = desc->ctx,
                            .cookie = desc->cookie,
                            .peer = desc->peer,
                            .tag = desc->tag,
                            .len = desc->len};
    nof_ep_complete(nic, ep, &comp, NOF_NIL);
}

void nof_ep_probe_answer(struct nof_nic *nic, struct nof_recv *r, const struct nof_match_key *key,
                         uint64_t len, uint64_t handle)
{
    struct nof_comp comp = {.opcode = r->opcode,
                            .ctx = key->ctx,
                            .cookie = r->cookie,
                            .peer = key->source,
                            .tag = key->tag,
                            .len = len,
                            .handle = handle};
    nof_ep_complete(nic, &nic->eps[r->ep], &comp, NOF_REF(NOF_REF_RECV, nof_recv_index(nic, r)));
}

/* --- open ----------------------------------------------------------------------------------------- */

static int check_params(const struct nof_endpoint_params *p)
{
    return p->size > 0 && p->size <= INT32_MAX && p->rank < p->size &&
           (p->staging != NULL || p->staging_bytes == 0) && (p->bounce != NULL || p->bounce_bytes == 0) &&
           (p->program_area != NULL || p->program_area_bytes == 0) && p->staging_bytes <= INT32_MAX;
}

int nof_ep_open(struct nof_nic *nic, const struct nof_endpoint_params *params, uint32_t *index_out,
                struct nof_card *card_out)
{
    if (!check_params(params))
        return NOF_EINVAL;
    uint32_t i = 0;
    /* bound: endpoints; paid by the attach */
    while (i < nic->cfg.max_endpoints && nic->eps[i].state != NOF_EP_FREE)
        i++;
    if (i == nic->cfg.max_endpoints)
        return NOF_ENOMEM;
    uint32_t job;
    int rc = nof_job_join(nic, params, &job);
    if (rc != NOF_OK)
        return rc;
    struct nof_endpoint *ep = &nic->eps[i];
    uint16_t generation = (uint16_t)(ep->generation + 1);
    uint8_t in_ring = ep->in_ring; /* it may still stand in the rings from before */
    uint8_t in_chores = ep->in_chores;
    uint32_t ring_next = ep->ring_next;
    uint32_t chore_next = ep->chore_next;
    memset(ep, 0, offsetof(struct nof_endpoint, stage));
    ep->index = i;
    nof_stage_init(&ep->stage, params->staging, params->staging_bytes);
    ep->generation = generation;
    ep->in_ring = in_ring;
    ep->in_chores = in_chores;
    ep->ring_next = ring_next;
    ep->chore_next = chore_next;
    ep->state = NOF_EP_OPEN;
    ep->dma_inline = params->dma_inline != 0;
    ep->dma_read_sums = params->dma_read_sums != 0;
    ep->dma_read_inline = params->dma_inline != 0 && params->dma_read_late == 0;
    ep->job = job;
    ep->rank = params->rank;
    ep->size = params->size;
    ep->bounce = params->bounce;
    ep->bounce_bytes = params->bounce_bytes;
    ep->program_area = params->program_area;
    ep->program_area_bytes = params->program_area_bytes;
    ep->counters = params->counters != NULL ? params->counters : nic->no_counters;
    ep->comp_head = NOF_NIL;
    ep->sends_head = NOF_NIL;
    ep->sends_tail = NOF_NIL;
    ep->peers = NOF_NIL;
    ep->flushes = NOF_NIL;
    ep->seeks = NOF_NIL;
    ep->dying = NOF_NIL;
    ep->look = NOF_NIL;
    ep->active = NOF_NIL;
    ep->recv_wait = NOF_NIL;
    ep->again = NOF_NIL;
    ep->last_rank = NOF_NIL;
    ep->last_queue = NOF_NIL;
    nof_watch_set(nic, ep);
    nic->counters[NOF_C_ENDPOINTS]++;
    *index_out = i;
    *card_out = (struct nof_card){.nic_id = nic->cfg.nic_id,
                                  .udp_port = nic->cfg.udp_port,
                                  .ip4 = nic->cfg.ip4,
                                  .endpoint = (uint16_t)i,
                                  .generation = ep->generation,
                                  .host_id = nic->cfg.host_id};
    memcpy(card_out->mac, nic->cfg.mac, sizeof card_out->mac);
    return NOF_OK;
}

/* --- failing ---------------------------------------------------------------------------------------- */

void nof_ep_fail(struct nof_nic *nic, struct nof_endpoint *ep, int status)
{
    struct nof_comp comp = {.opcode = NOF_COMP_FAILED, .status = (int16_t)status};
    if (ep->state != NOF_EP_OPEN)
        return;
    if (ep->comp_head == NOF_NIL)
        nof_ep_give(nic, ep, &comp);
    ep->state = NOF_EP_FAILED;
    nic->host_ops->endpoint_failed(nic->host, nof_ep_index(nic, ep), status);
}

/* --- flush ---------------------------------------------------------------------------------------- */

void nof_ep_flush(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r)
{
    r->state = NOF_RECV_FLUSH;
    r->order = ep->send_order;
    if (ep->flushes == NOF_NIL) {
        nic->flushing++;
        ep->flush_peer = ep->peers;
    }
    nof_queue_push(&nic->recvs, &ep->flushes, nof_recv_index(nic, r));
}

/* Have all flows of the endpoint got their frames acknowledged? Goes on where it stopped. Those that were made after
 * the FLUSH are not among them. */
static int all_acked(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: flows of the endpoint, as far as its steps reach; paid by the endpoint's steps */
    while (ep->flush_peer != NOF_NIL) {
        const struct nof_peer *p = nof_peer_at(nic, ep->flush_peer);
        if (nof_steps_left(nic, ep) == 0) {
            nof_chore(nic, ep);
            return 0;
        }
        nof_steps_spend(ep, 1);
        /* It may have died while it was waited for. Its tx_seq does not tell whether anything was sent: it wraps. */
        if ((p->flags & (NOF_PEER_F_DEAD | NOF_PEER_F_TX)) == NOF_PEER_F_TX) {
            if (p->readq != NOF_NIL)
                return 0;
            if (!ep->flush_armed)
                ep->flush_pn = nic->links[p->link].last_pn; /* nothing of ours is behind it */
            ep->flush_armed = 1;
            if (!nof_link_acked(&nic->links[p->link], ep->flush_pn))
                return 0;
        }
        ep->flush_armed = 0;
        ep->flush_peer = p->ep_next;
    }
    return 1;
}

static void flush_one(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: FLUSH descriptors that can be answered; paid by the endpoint */
    while (ep->flushes != NOF_NIL) {
        struct nof_recv *r = nof_recv_at(nic, nof_queue_head(&nic->recvs, ep->flushes));
        if (ep->sends_head != NOF_NIL && nof_send_at(nic, ep->sends_head)->order < r->order)
            return;
        if (!all_acked(nic, ep))
            return;
        nof_queue_pop(&nic->recvs, &ep->flushes);
        ep->flush_peer = ep->peers;
        struct nof_comp comp = {.opcode = NOF_COMP_FLUSH, .cookie = r->cookie};
        nof_ep_complete(nic, ep, &comp, NOF_REF(NOF_REF_RECV, nof_recv_index(nic, r)));
    }
    nic->flushing--;
}

void nof_ep_flush_run(struct nof_nic *nic)
{
    /* bound: endpoints, while one flushes; paid by all */
    for (uint32_t i = 0; nic->flushing > 0 && i < nic->cfg.max_endpoints; i++)
        if (nic->eps[i].state != NOF_EP_FREE && nic->eps[i].flushes != NOF_NIL)
            flush_one(nic, &nic->eps[i]);
}

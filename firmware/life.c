/* SPDX-License-Identifier: BSD-3-Clause */
#include "life.h"

#include "coll/abort.h"
#include "coll/drive.h"
#include "flow/chores.h"
#include "close.h"
#include "flow/completion.h"
#include "flows.h"
#include "flow/job.h"
#include "flow/link.h"
#include "flow/scheduler.h"
#include "op_kind.h"
#include "msg/recv.h"
#include "match/recv_watch.h"
#include "msg/walk.h"
#include "transport/wire.h"

static_assert(NOF_CORE_WIRE_VERSION == NOF_WIRE_VERSION, "hosts compare what NICs speak");

#define DRAIN 256u /* completions that had waited, given at once */

static bool check_params(const struct nof_endpoint_params *p)
{
    return p->size > 0 && p->size <= INT32_MAX && p->rank < p->size &&
           (p->staging != NULL || p->staging_bytes == 0) && (p->bounce != NULL || p->bounce_bytes == 0) &&
           (p->program_area != NULL || p->program_area_bytes == 0) && p->staging_bytes <= INT32_MAX &&
           (p->delta_host == NULL) == (p->delta_nic == NULL) && p->claim_slots <= NOF_CLAIM_SLOTS;
}

static void empty_lists(struct nof_endpoint *ep)
{
    ep->comp_head = NOF_NIL;
    ep->sends_head = NOF_NIL;
    ep->sends_tail = NOF_NIL;
    ep->peers = NOF_NIL;
    ep->flushes = NOF_NIL;
    ep->seeks = NOF_NIL;
    ep->tells = NOF_NIL;
    ep->drives = NOF_NIL;
    ep->works = NOF_NIL;
    ep->dying = NOF_NIL;
    ep->look = NOF_NIL;
    ep->recv_wait = NOF_NIL;
    ep->again = NOF_NIL;
    ep->last_rank = NOF_NIL;
    ep->last_queue = NOF_NIL;
}

int nof_life_open(struct nof_nic *nic, const struct nof_endpoint_params *params, uint32_t *index_out,
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
    struct nof_sched_turns turns[NOF_SCHED_WAYS]; /* it may still stand in the rings from before */
    memcpy(turns, ep->sched, sizeof(turns));
    uint8_t in_chores = ep->in_chores;
    uint32_t chore_next = ep->chore_next;
    memset(ep, 0, offsetof(struct nof_endpoint, stage));
    ep->index = i;
    nof_stage_init(&ep->stage, params->staging, params->staging_bytes);
    ep->generation = generation;
    memcpy(ep->sched, turns, sizeof(turns));
    ep->in_chores = in_chores;
    ep->chore_next = chore_next;
    ep->state = NOF_EP_OPEN;
    ep->dma_inline = params->dma_inline;
    ep->dma_read_sums = params->dma_read_sums;
    ep->dma_read_inline = params->dma_inline && params->dma_read_late == 0;
    ep->job = job;
    ep->rank = params->rank;
    ep->size = params->size;
    ep->bounce = params->bounce;
    ep->bounce_bytes = params->bounce_bytes;
    ep->program_area = params->program_area;
    ep->program_area_bytes = params->program_area_bytes;
    ep->delta_host = params->delta_host;
    ep->delta_nic = params->delta_nic;
    ep->claim_slots = params->claim_slots;
    ep->counters = params->counters != NULL ? params->counters : nic->no_counters;
    ep->turn = nic->turn - 1; /* its steps of this one are all there */
    empty_lists(ep);
    nof_scheduler_init(ep);
    nof_watch_set(nic, ep);
    nof_abort_forget_all(nic, ep);
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

void nof_life_fail(struct nof_nic *nic, struct nof_endpoint *ep, int status)
{
    struct nof_comp comp = {.opcode = NOF_COMP_FAILED, .status = (int16_t)status};
    if (ep->state != NOF_EP_OPEN)
        return;
    if (ep->comp_head == NOF_NIL)
        nof_completion_give(nic, ep, &comp);
    ep->state = NOF_EP_FAILED;
    nic->host_ops->endpoint_failed(nic->host, ep->index, status);
}

void nof_life_flush(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r)
{
    nof_recv_flush(r, ep->send_order);
    if (ep->flushes == NOF_NIL) {
        nic->flushing++;
        ep->flush_peer = ep->peers;
    }
    nof_queue_push(&nic->recvs, &ep->flushes, nof_recv_index(nic, r));
}

/* Have all flows of the endpoint got their frames acknowledged? Goes on where it stopped. Those that were made after
 * the FLUSH are not among them. */
static bool all_acked(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: flows of the endpoint, as far as its steps reach; paid by the endpoint's steps */
    while (ep->flush_peer != NOF_NIL) {
        const struct nof_peer *p = nof_peer_at(nic, ep->flush_peer);
        if (nof_steps_left(nic, ep) == 0) {
            nof_chore(nic, ep);
            return false;
        }
        nof_steps_spend(ep, 1);
        /* It may have died while it was waited for. Its tx_seq does not tell whether anything was sent: it wraps. */
        if ((p->flags & (NOF_PEER_F_DEAD | NOF_PEER_F_TX)) == NOF_PEER_F_TX) {
            if (p->readq != NOF_NIL)
                return false;
            if (!ep->flush_armed)
                ep->flush_pn = nic->links[p->link].last_pn; /* nothing of ours is behind it */
            ep->flush_armed = 1;
            if (!nof_link_acked(&nic->links[p->link], ep->flush_pn))
                return false;
        }
        ep->flush_armed = 0;
        ep->flush_peer = p->ep_next;
    }
    return true;
}

static void flush_one(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: FLUSH descriptors that can be answered; paid by the endpoint */
    while (ep->flushes != NOF_NIL) {
        struct nof_recv *r = nof_recv_at(nic, nof_queue_head(&nic->recvs, ep->flushes));
        if (ep->sends_head != NOF_NIL && nof_send_at(nic, ep->sends_head)->order < r->sends)
            return;
        if (!all_acked(nic, ep))
            return;
        nof_queue_pop(&nic->recvs, &ep->flushes);
        ep->flush_peer = ep->peers;
        struct nof_comp comp = {.opcode = NOF_COMP_FLUSH, .cookie = r->cookie};
        nof_recv_say(nic, r, &comp);
    }
    nic->flushing--;
}

void nof_life_flush_run(struct nof_nic *nic)
{
    /* bound: endpoints, while one flushes; paid by all */
    for (uint32_t i = 0; nic->flushing > 0 && i < nic->cfg.max_endpoints; i++)
        if (nic->eps[i].state != NOF_EP_FREE && nic->eps[i].flushes != NOF_NIL)
            flush_one(nic, &nic->eps[i]);
}

static void drain_completions(struct nof_nic *nic, struct nof_endpoint *ep)
{
    for (unsigned n = 0; n < DRAIN; n++) {
        uint32_t ref = nof_completion_again(nic, ep);
        if (ref == NOF_NIL)
            return;
        nof_op_release(nic, ref);
    }
}

void nof_life_completions_run(struct nof_nic *nic)
{
    /* bound: endpoints, while a ring is full; paid by all */
    for (uint32_t i = 0; nic->stalled_comps > 0 && i < nic->cfg.max_endpoints; i++)
        if (nic->eps[i].state != NOF_EP_FREE && nic->eps[i].state != NOF_EP_CLOSING)
            drain_completions(nic, &nic->eps[i]);
    if (nic->stalled_comps > 0)
        nof_retry(nic);
}

/* What a FLUSH has to go on with is seen to by every call of the core (nof_life_flush_run()). */
void nof_life_chores_run(struct nof_nic *nic)
{
    struct nof_chores_turn turn = nof_chores_take(nic);
    struct nof_endpoint *ep;
    /* bound: endpoints with chores; paid by each endpoint, with its steps of the turn */
    while ((ep = nof_chores_next(nic, &turn)) != NULL) {
        if (ep->state == NOF_EP_CLOSING)
            nof_close_run(nic, ep);
        else
            nof_flows_run(nic, ep);
        if (ep->state != NOF_EP_CLOSING)
            nof_walk_run(nic, ep);
        if (ep->state == NOF_EP_OPEN) {
            nof_drive_run(nic, ep);
            nof_abort_run(nic, ep);
        }
    }
}

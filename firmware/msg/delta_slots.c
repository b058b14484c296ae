/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/delta_slots.h"

#include "payload/delta_engine.h"
#include "msg/recv.h"
#include "msg/send.h"
#include "payload/reserve.h"

#define UNIT_LOG2_PLAIN 12u /* units of a message that was not sent in increments: at least a page */

static uint32_t slot_of(uint64_t handle)
{
    return (uint32_t)handle;
}

static uint32_t unit_of(uint64_t handle)
{
    return (uint32_t)(handle >> 32);
}

/* They stay as long as their hosts like: a quarter of what an endpoint is guaranteed, since half of it may be sends that ask (send.c)
 * and the rest must get through; and more while half of what is nobody's is left. */
static bool is_guaranteed(const struct nof_nic *nic, const struct nof_endpoint *ep)
{
    return ep->delta_sends - ep->delta_extra < nic->sends_min / 4;
}

static bool has_room(const struct nof_nic *nic, const struct nof_endpoint *ep)
{
    uint32_t nobodys = nic->sends.cap - nic->cfg.max_endpoints * nic->sends_min;
    return is_guaranteed(nic, ep) || nof_send_spare(nic) > nobodys / 2 + ep->admitted;
}

int nof_delta_check_send(const struct nof_nic *nic, const struct nof_endpoint *ep,
                         const struct nof_desc *desc, bool *parks_out)
{
    uint32_t slot = slot_of(desc->handle);
    uint32_t log2 = unit_of(desc->handle);
    if (ep->delta_host == NULL)
        return NOF_ENOTSUP;
    if (slot > NOF_DELTA_NO_SLOT || !nof_delta_units_ok(desc->len, log2) ||
        (slot < NOF_DELTA_NO_SLOT && ep->delta_send[slot] != 0))
        return NOF_EINVAL;
    *parks_out = slot == NOF_DELTA_NO_SLOT || !has_room(nic, ep);
    return *parks_out && (desc->cookie & NOF_HANDLE_PARKED) != 0 ? NOF_ENOMEM : NOF_OK;
}

int nof_delta_check_recv(const struct nof_endpoint *ep, const struct nof_desc *desc)
{
    uint32_t slot = slot_of(desc->handle);
    if (ep->delta_host == NULL)
        return NOF_ENOTSUP;
    return slot < NOF_DELTA_SLOTS && unit_of(desc->handle) == 0 && !(ep->delta_recvs >> slot & 1)
               ? NOF_OK
               : NOF_EINVAL;
}

void nof_delta_send_begin(struct nof_nic *nic, struct nof_send *s, uint64_t handle)
{
    struct nof_endpoint *ep = &nic->eps[s->ep];
    uint32_t slot = slot_of(handle);
    if (!is_guaranteed(nic, ep)) {
        nof_send_extra(s);
        ep->delta_extra++;
    }
    nof_send_delta(s, (uint8_t)(slot + 1), (uint8_t)unit_of(handle));
    memset(&ep->delta_nic->taken[slot], 0, sizeof(ep->delta_nic->taken[slot]));
    ep->delta_send[slot] = nof_send_index(nic, s) + 1;
    if (ep->delta_sends++ == 0) {
        ep->delta_at = nic->delta_eps++;
        nic->delta_ep[ep->delta_at] = ep->index;
    }
    nof_count(nic, ep, NOF_C_DELTA_TX, 1);
}

void nof_delta_send_leave(struct nof_nic *nic, struct nof_send *s)
{
    struct nof_endpoint *ep = &nic->eps[s->ep];
    ep->delta_send[s->delta - 1] = 0;
    ep->delta_extra -= (s->marks & NOF_SEND_M_EXTRA) != 0;
    if (--ep->delta_sends == 0) {
        uint32_t last = nic->delta_ep[--nic->delta_eps];
        nic->delta_ep[ep->delta_at] = last;
        nic->eps[last].delta_at = ep->delta_at;
    }
}

/* The host has said how long the message is: not less than what it had made ready. */
static void look_at_end(struct nof_nic *nic, struct nof_send *s)
{
    const struct nof_endpoint *ep = &nic->eps[s->ep];
    uint64_t end = __atomic_load_n(&ep->delta_host->ready[s->delta - 1].end, __ATOMIC_ACQUIRE);
    if (s->ended || end == 0)
        return;
    uint64_t extent = nof_delta_extent(&ep->delta_nic->taken[s->delta - 1], s->unit_log2, s->len);
    uint64_t len = end - 1 < s->len ? end - 1 : s->len;
    nof_send_ended(s, len > extent ? len : extent);
}

bool nof_delta_send_ended(struct nof_nic *nic, struct nof_send *s)
{
    if (nic->eps[s->ep].delta_host != NULL) /* else it closes */
        look_at_end(nic, s);
    return s->ended;
}

bool nof_delta_advance(struct nof_nic *nic, struct nof_send *s)
{
    const struct nof_endpoint *ep = &nic->eps[s->ep];
    struct nof_delta_run run;
    if (ep->delta_host == NULL)
        return false; /* it closes */
    const struct nof_delta_ready *ready = &ep->delta_host->ready[s->delta - 1];
    look_at_end(nic, s);
    if (s->sent == s->wanted)
        return s->ended && !(s->marks & NOF_SEND_M_ISSUED);
    if (s->sent >= s->allowed)
        return false;
    if (s->at < s->run_end)
        return true;
    if (!nof_delta_next(s->ended ? NULL : ready, &ep->delta_nic->taken[s->delta - 1], s->unit_log2, s->wanted,
                        s->at, &run))
        return false;
    nof_send_run_at(s, run.offset, run.end);
    nof_count(nic, &nic->eps[s->ep], NOF_C_DELTA_RUNS, 1);
    return true;
}

bool nof_delta_rung(const struct nof_nic *nic)
{
    /* bound: endpoints that have a delta send; paid by all */
    for (uint32_t i = 0; i < nic->delta_eps; i++) {
        const struct nof_endpoint *ep = &nic->eps[nic->delta_ep[i]];
        if (ep->state == NOF_EP_OPEN && __atomic_load_n(&ep->delta_host->rung, __ATOMIC_RELAXED) != 0)
            return true;
    }
    return false;
}

/* NULL: its endpoint closes. */
static struct nof_delta_arrival *arrival_of(const struct nof_nic *nic, const struct nof_recv *r)
{
    struct nof_delta_nic *board = nic->eps[r->ep].delta_nic;
    return board != NULL ? &board->arrival[r->delta - 1] : NULL;
}

static void tell(struct nof_nic *nic, const struct nof_endpoint *ep, struct nof_delta_arrival *a,
                 enum nof_delta_state state)
{
    __atomic_store_n(&a->state, (uint32_t)state, __ATOMIC_RELEASE);
    if (nic->host_ops->arrived != NULL)
        nic->host_ops->arrived(nic->host, ep->index);
}

/* The block that a small message is written from is held until one comes, which may be never: it is not one of those that each
 * endpoint can count on for a rendezvous. */
static bool has_block(struct nof_nic *nic, struct nof_recv *r)
{
    uint32_t held = (uint32_t)__builtin_popcountll(nic->eps[r->ep].delta_recvs);
    return r->capacity == 0 ||
           (held + NOF_RESERVE_LEAST < nic->dma_min && nof_reserve_take(nic, r, 1, 1) > 0);
}

void nof_delta_recv_begin(struct nof_nic *nic, struct nof_recv *r, uint64_t handle)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    uint32_t slot = slot_of(handle);
    if (!has_block(nic, r))
        return;
    nof_recv_delta(r, (uint8_t)(slot + 1));
    ep->delta_recvs |= 1ull << slot;
    memset(&ep->delta_nic->came[slot], 0, sizeof(ep->delta_nic->came[slot]));
    struct nof_delta_arrival *a = arrival_of(nic, r);
    memset((unsigned char *)a + sizeof a->state, 0, sizeof *a - sizeof a->state);
    tell(nic, ep, a, NOF_DELTA_POSTED);
    nof_count(nic, ep, NOF_C_DELTA_RX, 1);
}

void nof_delta_plain(struct nof_nic *nic, const struct nof_endpoint *ep, const struct nof_desc *desc)
{
    tell(nic, ep, &ep->delta_nic->arrival[slot_of(desc->handle)], NOF_DELTA_PLAIN);
}

void nof_delta_recv_matched(struct nof_nic *nic, struct nof_recv *r, uint32_t unit_log2)
{
    struct nof_delta_arrival *a = arrival_of(nic, r);
    if (a == NULL)
        return;
    a->peer = r->key.source;
    a->tag = r->key.tag;
    a->len = r->len;
    a->unit_log2 = unit_log2 != 0 ? unit_log2 : nof_delta_unit_log2(r->len, UNIT_LOG2_PLAIN);
    tell(nic, &nic->eps[r->ep], a, NOF_DELTA_MATCHED);
}

bool nof_delta_recv_comes(struct nof_nic *nic, const struct nof_recv *r, uint64_t offset, uint64_t n)
{
    const struct nof_delta_arrival *a = arrival_of(nic, r);
    return a != NULL &&
           nof_delta_comes(&nic->eps[r->ep].delta_nic->came[r->delta - 1], a->unit_log2, r->at, offset, n);
}

void nof_delta_recv_wrote(struct nof_nic *nic, const struct nof_recv *r, uint64_t offset, uint64_t n)
{
    struct nof_delta_arrival *a = arrival_of(nic, r);
    if (a == NULL || a->state != NOF_DELTA_MATCHED)
        return; /* an eager message: all of it at once, when it is complete */
    nof_delta_arrives(a, offset, n, r->wanted);
    if (nic->host_ops->arrived != NULL)
        nic->host_ops->arrived(nic->host, r->ep);
}

void nof_delta_recv_end(struct nof_nic *nic, struct nof_recv *r, int status)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    struct nof_delta_arrival *a = arrival_of(nic, r);
    ep->delta_recvs &= ~(1ull << (r->delta - 1));
    nof_recv_delta(r, 0);
    if (a == NULL)
        return;
    a->peer = r->key.source;
    a->tag = r->key.tag;
    a->len = r->len;
    a->status = status;
    if (a->state == NOF_DELTA_POSTED)
        a->unit_log2 = nof_delta_unit_log2(a->len, UNIT_LOG2_PLAIN);
    if (status == NOF_OK)
        nof_delta_arrives_all(a, r->wanted);
    tell(nic, ep, a, NOF_DELTA_DONE);
}

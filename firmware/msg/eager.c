/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hot path. Budget of a small expected message: one look-up of the flow, one of the receive, one
 * copy into the completion. */
#include "msg/eager.h"

#include "flow/credit.h"
#include "flow/incoming.h"
#include "flow/link.h"
#include "flow/peer.h"
#include "msg/recv_claim.h"
#include "msg/deliver.h"
#include "msg/delta_slots.h"
#include "msg/recv.h"
#include "msg/rendezvous.h"
#include "msg/spill.h"
#include "msg/taps.h"
#include "msg/unexpected.h"

/* Fields, sequence and credit. NOF_OK: *a is filled and the credit is used. */
static int parse(struct nof_peer *peer, const struct nof_wire_view *view, struct nof_arrival *a)
{
    const uint8_t *f = view->fields;
    bool rts = view->type == NOF_WIRE_RTS;
    if (view->fields_bytes != NOF_WIRE_MSG_BYTES)
        return NOF_EPROTO;
    a->key = (struct nof_match_key){.ep = peer->ep,
                                    .ctx = nof_get32(f + NOF_WIRE_MSG_CTX),
                                    .source = (int32_t)peer->rank,
                                    .tag = (int32_t)nof_get32(f + NOF_WIRE_MSG_TAG)};
    a->len = nof_get64(f + NOF_WIRE_MSG_LEN);
    a->handle = nof_get64(f + NOF_WIRE_MSG_HANDLE);
    a->payload = view->payload;
    a->payload_bytes = view->payload_bytes;
    uint32_t kind = nof_get32(f + NOF_WIRE_MSG_ELEM);
    a->agreed = (uint8_t)(kind >> 8);
    a->unit_log2 = 0;
    if (rts && (view->flags & NOF_WIRE_RTS_F_DELTA)) {
        a->unit_log2 = (uint8_t)(kind >> 16);
        kind &= 0xffffu;
        bool parked = (view->flags & NOF_WIRE_RTS_F_PARKED) != 0;
        if (parked ? a->unit_log2 != 0 : !nof_delta_units_ok(a->len, a->unit_log2))
            return NOF_EPROTO;
    }
    a->blocks = 0;
    a->flags = rts ? NOF_ENV_F_RTS : 0;
    if (view->flags & NOF_WIRE_F_FAILED)
        a->flags |= NOF_ENV_F_FAILED | (view->flags & NOF_WIRE_F_GONE ? NOF_ENV_F_GONE : 0);
    if (a->key.tag < 0 || (kind & ~0xff00u) >= NOF_ELEM_COUNT || a->payload_bytes > a->len ||
        nof_get32(f + NOF_WIRE_MSG_SEQ) != peer->rx_seq || peer->rx_seq == peer->rx_msgs_announced)
        return NOF_EPROTO;
    if (rts) {
        bool parked = (view->flags & NOF_WIRE_RTS_F_PARKED) != 0;
        a->flags |= parked ? NOF_ENV_F_PARKED : 0;
        a->flags |= parked && (view->flags & NOF_WIRE_RTS_F_DELTA) ? NOF_ENV_F_UNENDED : 0;
        a->flags |= view->flags & NOF_WIRE_RTS_F_SYNC ? NOF_ENV_F_MATCH_FIRST : 0;
        if (a->payload_bytes != 0 || (a->handle & (parked ? NOF_HANDLE_PARKED : NOF_HANDLE_KINDS)) != 0)
            return NOF_EPROTO;
    } else {
        bool sync = (view->flags & NOF_WIRE_MSG_F_SYNC) != 0;
        a->flags |= sync ? NOF_ENV_F_SYNC : 0;
        if (a->len > NOF_EAGER_LIMIT || (a->handle & NOF_HANDLE_KINDS) != (sync ? NOF_HANDLE_SYNC : 0))
            return NOF_EPROTO;
        a->blocks = nof_netmem_charge(a->len, sync);
        if (a->blocks > peer->rx_blocks_announced - peer->rx_blocks_used)
            return NOF_EPROTO;
        /* What is kept in the envelope comes in one piece; of anything else at least one byte. */
        if (!(a->flags & NOF_ENV_F_FAILED) && a->payload_bytes < (a->blocks == 0 ? a->len : 1))
            return NOF_EPROTO;
    }
    nof_credit_used(peer, a->blocks);
    return NOF_OK;
}

/* A piece for a receive that takes it as it comes. The receive may have ended afterwards. */
static void take_piece(struct nof_nic *nic, struct nof_peer *peer, struct nof_recv *r, const uint8_t *data,
                       uint32_t n, bool lent)
{
    uint64_t left = r->wanted - r->received;
    if (n >= left) {
        n = (uint32_t)left;
        nof_incoming_goes_to(peer, NOF_NIL); /* it wants no more */
    }
    if (n == 0)
        return;
    if (r->state == NOF_RECV_STAGE) {
        nof_recv_staged(nic, r, data, n);
        return;
    }
    uint64_t offset = r->received;
    nof_recv_came(r, n);
    if (r->received == r->wanted)
        nof_recv_arrived(r);
    nof_deliver_piece(nic, r, offset, data, n, lent);
}

/* The message has its receive: deliver what is here and see to the rest. */
static int expected(struct nof_nic *nic, struct nof_peer *peer, struct nof_recv *r,
                    const struct nof_arrival *a)
{
    if (a->flags & NOF_ENV_F_SYNC)
        nof_recv_tell_matched(nic, peer, a->handle);
    if (a->flags & NOF_ENV_F_FAILED) {
        nof_credit_free(nic, peer, 1, a->blocks);
        nof_recv_end(nic, r, nof_unexpected_failure(a->flags));
        return NOF_OK;
    }
    if (r->wanted <= NOF_INLINE_BYTES && r->wanted <= a->payload_bytes) {
        nof_credit_free(nic, peer, 1, a->blocks);
        nof_deliver_small(nic, r, a->payload);
        return NOF_OK;
    }
    int direct = nof_recv_stage(nic, r) || nof_recv_pieces(nic, r);
    nof_credit_free(nic, peer, 1, direct ? a->blocks : 0);
    if (direct) {
        nof_incoming_goes_to(peer, NOF_REF(NOF_REF_RECV, nof_recv_index(nic, r)));
        take_piece(nic, peer, r, a->payload, a->payload_bytes, a->lent);
        return NOF_OK;
    }
    return nof_unexpected_collect(nic, peer, r, a);
}

/* Waiting probes that this message answers. Returns the MPROBE that takes it, or NULL. leave: that one will not get it,
 * and so is not claimed. */
static struct nof_recv *answer_probes(struct nof_nic *nic, struct nof_endpoint *ep,
                                      const struct nof_arrival *a, bool leave)
{
    struct nof_recv *r;
    /* bound: waiting probes, PROBES_MAX of an endpoint (descriptors.c); paid by the endpoint */
    while ((r = nof_match_probe(nic, ep, &a->key)) != NULL) {
        if (!leave && r->claimed && !nof_claim_win(nic, ep, r->claim)) {
            nof_claim_lost(nic, r);
            continue;
        }
        nof_recv_unpost(nic, r);
        if (r->opcode == NOF_COMP_MPROBE)
            return r;
        nof_recv_probe_answer(nic, r, &a->key, a->len, 0);
    }
    return NULL;
}

/* It only ends what waits for a message that was never sent (nof/desc.h, "Agreement"). */
static bool is_last_word(const struct nof_arrival *a)
{
    return a->agreed == NOF_AGREED_NO_MORE && a->len == 0 && a->flags == 0;
}

/* No posted receive wants the message: a probe may take it, the library or the store does. */
static int unexpected(struct nof_nic *nic, struct nof_peer *peer, const struct nof_arrival *a)
{
    struct nof_endpoint *ep = &nic->eps[peer->ep];
    nof_count(nic, ep, NOF_C_UNEXPECTED, 1);
    if ((a->flags & NOF_ENV_F_FAILED) && a->blocks > 0)
        nof_credit_free(nic, peer, 0, a->blocks); /* no payload will need them */
    nof_link_update_credit(nic, peer);
    bool tight = nof_credit_tight(peer);
    struct nof_recv *taker = answer_probes(nic, ep, a, tight);
    if (tight)
        nof_spill_enter(ep);
    if (taker != NULL && tight) {
        nof_spill_probe(nic, ep,
                        taker); /* what an MPROBE has taken keeps its credit for as long as the host likes */
        taker = NULL;
    }
    if (taker == NULL && ep->spilling)
        return nof_spill_arrive(nic, peer, a);
    struct nof_env *e = nof_unexpected_take(nic, peer, a);
    if (e == NULL) {
        if (taker != NULL)
            nof_recv_end(nic, taker, NOF_EPROTO);
        return NOF_EPROTO;
    }
    if (taker != NULL)
        nof_recv_probe_answer(nic, taker, &a->key, a->len, nof_unexpected_mprobe(nic, e));
    else
        nof_match_store(nic, e);
    if (e->state == NOF_ENV_STORED && e->agreed != 0)
        nic->taps->joins(nic, e);
    if (e->state == NOF_ENV_STORED)
        nic->taps->waits(nic, e);
    return NOF_OK;
}

int nof_eager_envelope_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view,
                          bool lent)
{
    struct nof_endpoint *ep = &nic->eps[peer->ep];
    struct nof_arrival a = {.lent = (uint8_t)lent};
    if (peer->rx_left > 0)
        return NOF_EPROTO; /* the message before is not complete */
    peer->rx_skip = 0;
    int rc = parse(peer, view, &a);
    if (rc != NOF_OK)
        return rc;
    nof_count(nic, ep, NOF_C_MSGS_RX, 1);
    nof_count(nic, ep, NOF_C_MSG_BYTES_RX, a.len);
    bool all = (a.flags & (NOF_ENV_F_RTS | NOF_ENV_F_FAILED)) != 0; /* no piece follows */
    nof_incoming_begin(nic, peer, a.payload_bytes, all ? 0 : a.len - a.payload_bytes);
    struct nof_recv *r = nof_claim_posted(nic, ep, &a.key);
    if (r == NULL && is_last_word(&a) && ep->spilling) {
        rc = nof_spill_last_word(nic, peer, &a); /* the receive may wait in the library */
    } else if (r == NULL && is_last_word(&a)) {
        nof_credit_free(nic, peer, 1, a.blocks);
    } else if (r == NULL) {
        rc = unexpected(nic, peer, &a);
    } else {
        nof_count(nic, ep, NOF_C_EXPECTED, 1);
        if (r->kind != 0 && ep->watch != NULL)
            nof_watch_matched(nic, ep, nof_recv_index(nic, r), &a.key);
        nof_recv_unpost(nic, r);
        nof_recv_matched(nic, r, peer, &a.key, a.len, a.agreed);
        if (a.flags & NOF_ENV_F_RTS) {
            nof_credit_free(nic, peer, 1, 0);
            nof_rndv_begin(nic, r, a.handle, a.flags, a.unit_log2);
        } else {
            rc = expected(nic, peer, r, &a);
        }
    }
    nof_link_update_credit(nic, peer);
    return rc;
}

int nof_eager_more_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view, bool lent)
{
    bool failed = (view->flags & NOF_WIRE_F_FAILED) != 0;
    uint32_t n = view->payload_bytes;
    if (peer->rx_skip)
        return NOF_OK;
    if (view->fields_bytes < NOF_WIRE_MSG_MORE_BYTES || peer->rx_left == 0 ||
        nof_get32(view->fields + NOF_WIRE_MORE_SEQ) != peer->rx_seq - 1 ||
        nof_get64(view->fields + NOF_WIRE_MORE_OFFSET) != peer->rx_pos || n > peer->rx_left ||
        (n == 0 && !failed))
        return NOF_EPROTO;
    uint32_t target = nof_incoming_piece(nic, peer, failed ? peer->rx_left : n);
    if (target == NOF_NIL)
        return NOF_OK;
    uint32_t i = NOF_REF_INDEX(target);
    int status = view->flags & NOF_WIRE_F_GONE ? NOF_EPEERDEAD : NOF_EFAULT; /* of a failure */
    if (failed && NOF_REF_KIND(target) == NOF_REF_RECV) {
        nof_recv_end(nic, nof_recv_at(nic, i), status);
    } else if (failed) {
        nof_unexpected_failed(nic, i, status);
    } else if (NOF_REF_KIND(target) == NOF_REF_RECV) {
        take_piece(nic, peer, nof_recv_at(nic, i), view->payload, n, lent);
    } else {
        if (nof_stored_put(nic, i, view->payload, n) && peer->rx_left == 0)
            nof_unexpected_complete(nic, i);
    }
    nof_link_update_credit(nic, peer);
    return NOF_OK;
}

int nof_eager_broken_rx(struct nof_nic *nic, struct nof_peer *peer, const struct nof_wire_view *view)
{
    struct nof_wire_view failed = *view;
    failed.flags |= NOF_WIRE_F_FAILED;
    if (view->type == NOF_WIRE_MSG_MORE) {
        int rc = nof_eager_more_rx(nic, peer, &failed, false);
        peer->rx_skip = 1;
        return rc;
    }
    if (view->fields_bytes == NOF_WIRE_MSG_BYTES && (view->flags & NOF_WIRE_MSG_F_SYNC) != 0)
        nof_recv_tell_aborted(nic, peer, nof_get64(view->fields + NOF_WIRE_MSG_HANDLE), NOF_EPROTO);
    int rc = nof_eager_envelope_rx(nic, peer, &failed, false);
    peer->rx_skip = 1;
    return rc;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Spill mode: matching in the library for what the NIC had no room for (see nof/desc.h, "Spill").
 *
 * Receives and probes that the NIC answered with NOMATCH wait here, and so do envelopes that came as
 * SPILL. Both arrive through the one completion ring, and the side that comes second finds the other
 * already here, so nothing is missed. When nothing is left, SPILL_END asks the NIC to take matching
 * back; it refuses while anything it gave is still on its way here. Until it answers, new receives
 * and probes are held: in front of the answer they would only come back. */
#include <stdlib.h>
#include <string.h>

#include "chan/nic/chan_nic.h"
#include "comm/comm.h"
#include "base/error.h"

/* SPILL_END that was answered "not yet" is tried again after this, and twice as late each time: spill mode is slow, not
 * wrong, and a thousand ranks that wake up for it every millisecond leave no CPU to those they wait for. */
#define RETRY_NS (1000u * 1000u)
#define RETRY_MAX_NS (64u * 1000u * 1000u)

static struct nof_chan_nic_op *op_of_entry(struct nof_match_entry *entry)
{
    struct nof_request *req = nof_request_of_claim(nof_claim_of_nic(entry));
    return req->channel_op;
}

static void tell_sender(const struct nof_chan_nic_envelope *envelope)
{
    struct nof_chan_nic_op *op = nof_chan_nic_op_new(NOF_OP_ACK, NULL);
    if (op == NULL)
        return; /* then the sender learns of the match when the path closes */
    struct nof_desc desc = {
        .opcode = NOF_DESC_PULL,
        .ctx = envelope->match.ctx,
        .cookie = nof_chan_nic_cookie(op),
        .peer = envelope->match.source,
        .tag = envelope->match.tag,
    };
    op->peer = envelope->match.source;
    desc.handle = envelope->handle;
    nof_chan_nic_submit(&desc);
}

static void submit_pull(const struct nof_chan_nic_op *op)
{
    const struct nof_request *req = op->req;
    struct nof_desc desc = {
        .opcode = NOF_DESC_PULL,
        .ctx = req->ctx,
        .cookie = nof_chan_nic_cookie(op),
        .peer = op->peer,
        .tag = op->tag,
        .len = req->bytes,
    };
    nof_chan_nic_place(&desc, req);
    desc.flags |= op->unended ? NOF_DESC_F_DELTA : 0;
    desc.handle = op->handle;
    desc.callsite = op->len;
    nof_chan_nic_submit(&desc);
}

/* As many as the NIC has room for. */
static void submit_pulls(void)
{
    while (nof_chan_nic.pulls_first != NULL && nof_chan_nic.pulls_out < nof_chan_nic.pulls_most) {
        struct nof_chan_nic_op *op = nof_chan_nic.pulls_first;
        nof_chan_nic.pulls_first = op->next;
        if (nof_chan_nic.pulls_first == NULL)
            nof_chan_nic.pulls_last = NULL;
        nof_chan_nic.pulls_out++;
        submit_pull(op);
    }
}

static void queue_pull(struct nof_chan_nic_op *op)
{
    op->next = NULL;
    if (nof_chan_nic.pulls_last != NULL)
        nof_chan_nic.pulls_last->next = op;
    else
        nof_chan_nic.pulls_first = op;
    nof_chan_nic.pulls_last = op;
}

static void pull(struct nof_request *req, const struct nof_chan_nic_envelope *envelope)
{
    struct nof_chan_nic_op *op = nof_chan_nic_op_new(NOF_OP_RECV, req);
    if (op == NULL) {
        nof_request_fail(req, nof_error(MPI_ERR_NO_MEM, "no memory for a receive"));
        return;
    }
    op->pulled = true;
    op->unended = envelope->unended;
    op->peer = envelope->match.source;
    op->tag = envelope->match.tag;
    op->len = envelope->len;
    op->handle = envelope->handle;
    queue_pull(op);
    submit_pulls();
}

void nof_chan_nic_pull_done(void)
{
    nof_chan_nic.pulls_out--;
    nof_chan_nic.pulls_retry_ns = 0;
    if (nof_chan_nic.pulls_most < NOF_CHAN_NIC_PULLS)
        nof_chan_nic.pulls_most++;
    submit_pulls();
}

void nof_chan_nic_pull_refused(struct nof_chan_nic_op *op)
{
    nof_chan_nic.pulls_most = --nof_chan_nic.pulls_out;
    queue_pull(op); /* behind those that may find room, since they wait for nobody */
    nof_chan_nic.pulls_retry_ns = nof_lib_now_ns() + RETRY_NS;
}

void nof_chan_nic_pull_check(void)
{
    if (nof_chan_nic.pulls_retry_ns == 0 || nof_lib_now_ns() < nof_chan_nic.pulls_retry_ns)
        return;
    nof_chan_nic.pulls_retry_ns = 0;
    nof_chan_nic.pulls_most = nof_chan_nic.pulls_out + 1;
    submit_pulls();
}

void nof_chan_nic_consume(struct nof_request *req, struct nof_chan_nic_envelope *envelope)
{
    if (envelope->status != NOF_OK) {
        nof_request_fail(req, nof_chan_nic_status_code(envelope->status, envelope->match.source));
    } else if (envelope->remote) {
        pull(req, envelope);
    } else {
        size_t len = envelope->stored < req->bytes ? envelope->stored : req->bytes;
        nof_request_store(req, envelope->payload, len);
        if (envelope->sync)
            tell_sender(envelope);
        nof_request_done(req, envelope->match.source, envelope->match.tag, envelope->len);
    }
    free(envelope);
}

static void answer_probe(struct nof_chan_nic_op *op, struct nof_chan_nic_envelope *envelope)
{
    struct nof_request *req = op->req;
    nof_chan_nic_op_free(op);
    nof_chan_left(req);
    if (req->probe_take) {
        req->message = nof_message_new(req->comm, envelope->match.source, envelope->match.tag);
        if (req->message == NULL) {
            nof_request_fail(req, nof_error(MPI_ERR_NO_MEM, "no memory for a message handle"));
            return;
        }
        req->message->envelope = envelope;
        nof_matcher_remove(&nof_chan_claims.nic, &envelope->match);
    }
    req->found = true;
    nof_request_done(req, envelope->match.source, envelope->match.tag, envelope->len);
}

static struct nof_chan_nic_envelope *find(const struct nof_chan_nic_op *op)
{
    return (struct nof_chan_nic_envelope *)(void *)nof_matcher_find(
        &nof_chan_claims.nic, op->req->ctx, op->peer, nof_chan_nic_wanted_tag(op->req));
}

/* Waiting probes are few (one per thread): a list will do. */
static void run_probes(void)
{
    struct nof_chan_nic_op **at = &nof_chan_nic.local_probes;
    while (*at != NULL) {
        struct nof_chan_nic_op *op = *at;
        struct nof_chan_nic_envelope *envelope = find(op);
        if (envelope == NULL) {
            at = &op->next;
            continue;
        }
        *at = op->next;
        answer_probe(op, envelope);
    }
}

void nof_chan_nic_local_probe(struct nof_chan_nic_op *op)
{
    struct nof_chan_nic_envelope *envelope = find(op);
    struct nof_request *req = op->req;
    int lost;
    if (envelope != NULL) {
        answer_probe(op, envelope);
    } else if ((lost = nof_chan_nic_lost_code(req, op->peer)) != MPI_SUCCESS) {
        nof_chan_nic_op_free(op);
        nof_chan_left(req);
        nof_request_fail(req, lost);
    } else if (req->probe_wait) {
        nof_chan_nic.spill = true;
        op->phase = NOF_OP_LOCAL;
        op->next = nof_chan_nic.local_probes;
        nof_chan_nic.local_probes = op;
    } else {
        struct nof_vain_question question = nof_chan_nic_question(req, op->peer);
        nof_vain_note(&nof_chan_nic.vain, &question, op->asked_at);
        nof_chan_nic_op_free(op);
        req->found = false;
        nof_request_done(req, op->peer, 0, 0);
    }
}

void nof_chan_nic_local_recv(struct nof_chan_nic_op *op)
{
    struct nof_request *req = op->req;
    nof_chan_nic.spill = true;
    struct nof_chan_nic_envelope *envelope = find(op);
    if (envelope != NULL) {
        nof_matcher_remove(&nof_chan_claims.nic, &envelope->match);
        nof_chan_nic_op_free(op);
        nof_chan_left(req);
        nof_chan_nic_consume(req, envelope);
        return;
    }
    int lost = nof_chan_nic_lost_code(req, op->peer);
    if (lost != MPI_SUCCESS) {
        nof_chan_nic_op_free(op);
        nof_chan_left(req);
        nof_request_fail(req, lost);
        return;
    }
    op->phase = NOF_OP_LOCAL;
    if (nof_claim_nomatch(&nof_chan_claims, &req->claim, req->ctx, op->peer, nof_chan_nic_wanted_tag(req)) !=
        0) {
        nof_chan_nic_op_free(op);
        nof_chan_left(req);
        nof_request_fail(req, nof_error(MPI_ERR_NO_MEM, "no memory for a posted receive"));
    }
}

static void remove_from(struct nof_chan_nic_op **first, struct nof_chan_nic_op **last,
                        struct nof_chan_nic_op *op)
{
    struct nof_chan_nic_op *before = NULL;
    for (struct nof_chan_nic_op *at = *first; at != NULL; before = at, at = at->next) {
        if (at != op)
            continue;
        if (before == NULL)
            *first = op->next;
        else
            before->next = op->next;
        if (last != NULL && *last == op)
            *last = before;
        return;
    }
}

void nof_chan_nic_local_remove(struct nof_chan_nic_op *op)
{
    if (op->phase == NOF_OP_HELD)
        remove_from(&nof_chan_nic.held_first, &nof_chan_nic.held_last, op);
    else if (op->req->kind == NOF_REQUEST_PROBE)
        remove_from(&nof_chan_nic.local_probes, NULL, op);
    else if (op->req->claim.nic.links > 0)
        nof_matcher_unpost(&nof_chan_claims.nic, &op->req->claim.nic);
}

static struct nof_chan_nic_envelope *envelope_of(const struct nof_comp *comp)
{
    const void *payload = NULL;
    uint32_t stored = 0;
    if ((comp->flags & NOF_COMP_F_INLINE) != 0) {
        stored = comp->len < NOF_INLINE_BYTES ? (uint32_t)comp->len : NOF_INLINE_BYTES;
        payload = comp->inline_data;
    } else if ((comp->flags & NOF_COMP_F_STAGED) != 0) {
        payload = nof_pmd_staged(nof_chan_nic.pmd, comp->staged_offset, comp->staged_len);
        stored = payload == NULL ? 0 : comp->staged_len;
    }
    struct nof_chan_nic_envelope *envelope = malloc(sizeof(*envelope) + stored);
    if (envelope == NULL)
        nof_lib_die(1, "no memory for an unexpected message of %llu bytes from %s",
                    (unsigned long long)comp->len, nof_chan_nic_peer_name(comp->peer));
    memset(envelope, 0, sizeof(*envelope));
    envelope->match.ctx = comp->ctx;
    envelope->match.source = comp->peer;
    envelope->match.tag = comp->tag;
    envelope->len = comp->len;
    envelope->remote = (comp->flags & NOF_COMP_F_REMOTE) != 0;
    envelope->unended = envelope->remote && (comp->flags & NOF_COMP_F_UNENDED) != 0;
    envelope->sync = (comp->flags & NOF_COMP_F_SYNC) != 0;
    if ((comp->flags & NOF_COMP_F_INLINE) == 0) {
        envelope->handle = comp->handle;
        envelope->sender_handle = comp->sender_handle;
    }
    envelope->status = comp->status;
    envelope->stored = stored;
    if (stored > 0)
        memcpy(envelope->payload, payload, stored);
    if ((comp->flags & NOF_COMP_F_STAGED) != 0)
        nof_chan_nic_release_staged(comp->staged_offset);
    return envelope;
}

void nof_chan_nic_spilled(const struct nof_comp *comp)
{
    nof_chan_nic.spill = true;
    nof_chan_nic.spills_seen++;
    struct nof_chan_nic_envelope *envelope = envelope_of(comp);
    struct nof_claim_recv *posted = nof_claim_by_spill(&nof_chan_claims, comp->ctx, comp->peer, comp->tag);
    if (posted != NULL) {
        struct nof_request *req = nof_request_of_claim(posted);
        struct nof_chan_nic_op *op = req->channel_op;
        nof_chan_nic_op_free(op);
        nof_chan_nic_consume(req, envelope);
        return;
    }
    if (comp->status == NOF_EDISAGREE) { /* the last word of a collective, for nobody */
        free(envelope);
        return;
    }
    if (nof_matcher_add(&nof_chan_claims.nic, &envelope->match) != 0)
        nof_lib_die(1, "no memory for an unexpected message of %llu bytes from %s",
                    (unsigned long long)comp->len, nof_chan_nic_peer_name(comp->peer));
    run_probes();
}

void nof_chan_nic_revoke(const struct nof_comp *comp)
{
    struct nof_desc desc = {.opcode = NOF_DESC_REVOKED, .cookie = comp->cookie, .peer = comp->peer};
    struct nof_match_entry *at = nof_matcher_find(&nof_chan_claims.nic, comp->ctx, comp->peer, comp->tag);
    for (; at != NULL; at = nof_matcher_next(at)) {
        struct nof_chan_nic_envelope *envelope = (struct nof_chan_nic_envelope *)(void *)at;
        if ((!envelope->remote && !envelope->sync) || envelope->status != NOF_OK ||
            envelope->sender_handle != comp->handle)
            continue;
        desc.flags = NOF_DESC_F_GONE;
        desc.handle = envelope->handle;
        nof_matcher_remove(&nof_chan_claims.nic, at);
        free(envelope);
        break;
    }
    nof_chan_nic_submit(&desc);
}

/* The receive for notices is always posted: here, if it was posted again in spill mode. */
static bool receives_wait(void)
{
    const struct nof_match_entry *first = nof_chan_claims.nic.posted.first;
    return first != NULL && (first->next != NULL || first->ctx != nof_comm_notice_ctx());
}

static bool may_end(void)
{
    return nof_chan_nic.spill && !nof_chan_nic.spill_ending && !receives_wait() &&
           nof_chan_claims.nic.waiting.count == 0 && nof_chan_nic.local_probes == NULL;
}

uint64_t nof_chan_nic_spill_nap_ns(void)
{
    return may_end() && nof_chan_nic.spill_retry_ns != 0 ? nof_chan_nic.spill_retry_wait_ns : UINT64_MAX;
}

void nof_chan_nic_spill_check(void)
{
    if (!may_end() || (nof_chan_nic.spill_retry_ns != 0 && nof_lib_now_ns() < nof_chan_nic.spill_retry_ns))
        return;
    struct nof_desc desc = {.opcode = NOF_DESC_SPILL_END};
    desc.spills_seen = nof_chan_nic.spills_seen;
    desc.nomatches_seen = nof_chan_nic.nomatches_seen;
    nof_chan_nic.spill_ending = true;
    nof_chan_nic_submit(&desc);
}

/* Before whatever is held already: what waited here was called earlier. */
static void hold_again(struct nof_chan_nic_op *op, struct nof_chan_nic_op ***at)
{
    op->phase = NOF_OP_HELD;
    op->next = **at;
    **at = op;
    if (op->next == NULL)
        nof_chan_nic.held_last = op;
    *at = &op->next;
}

void nof_chan_nic_spill_end_done(int status)
{
    nof_chan_nic.spill_ending = false;
    if (status == NOF_OK) {
        nof_chan_nic.spill = false;
        nof_chan_nic.spill_retry_ns = 0;
        nof_chan_nic.spill_retry_wait_ns = 0;
        struct nof_chan_nic_op **at = &nof_chan_nic.held_first;
        while (nof_chan_claims.nic.posted.first != NULL) {
            struct nof_match_entry *entry = nof_chan_claims.nic.posted.first;
            nof_matcher_unpost(&nof_chan_claims.nic, entry);
            hold_again(op_of_entry(entry), &at);
        }
        while (nof_chan_nic.local_probes != NULL) {
            struct nof_chan_nic_op *op = nof_chan_nic.local_probes;
            nof_chan_nic.local_probes = op->next;
            hold_again(op, &at);
        }
    } else {
        uint64_t wait_ns = 2 * nof_chan_nic.spill_retry_wait_ns;
        nof_chan_nic.spill_retry_wait_ns = wait_ns == 0             ? RETRY_NS
                                           : wait_ns < RETRY_MAX_NS ? wait_ns
                                                                    : RETRY_MAX_NS;
        nof_chan_nic.spill_retry_ns = nof_lib_now_ns() + nof_chan_nic.spill_retry_wait_ns;
    }
    nof_chan_nic_release_held();
}

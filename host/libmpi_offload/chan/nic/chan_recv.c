/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives, probes and cancel: what is asked of the NIC's matching. */
#include <stdlib.h>
#include <string.h>

#include "chan/nic/chan_nic.h"
#include "comm/comm.h"
#include "base/error.h"
#include "base/progress.h"
#include "p2p/staged.h"

int32_t nof_chan_wanted_tag(const struct nof_request *req)
{
    return req->tag == MPI_ANY_TAG ? NOF_ANY_TAG : req->tag;
}

static int32_t wanted_source(const struct nof_request *req)
{
    return req->peer == MPI_ANY_SOURCE ? NOF_ANY_SOURCE : nof_comm_peer_world(req->comm, req->peer);
}

/* The code of the death because of which this receive or probe would wait for ever, MPI_SUCCESS if there
 * is none. A peer that the NIC knows and has lost is the NIC's to judge: it may hold messages of it. */
static int refusal(const struct nof_request *req, int32_t source)
{
    if (source != NOF_ANY_SOURCE) {
        const struct nof_chan_peer *peer = &nof_chan.peers[source];
        return peer->dead && !peer->known ? nof_chan_dead_code(source) : MPI_SUCCESS;
    }
    /* As for one that was posted before the death (nof_chan_peer_died). The library's own go on. */
    if (nof_chan.nic_dead || nof_chan.dead_count == 0 || nof_request_is_own(req))
        return MPI_SUCCESS;
    int member = nof_channel->dead_member(req->comm);
    return member == MPI_UNDEFINED ? MPI_SUCCESS : nof_chan_dead_code(member);
}

int nof_chan_lost_code(const struct nof_request *req, int32_t source)
{
    bool named_dead = source != NOF_ANY_SOURCE && nof_chan.peers[source].dead;
    return named_dead ? nof_chan_dead_code(source) : refusal(req, source);
}

/* An operation for a receive or probe; ends the request and returns NULL if there can be none. */
static struct nof_chan_op *begin(struct nof_request *req, enum nof_op_phase phase, int32_t source)
{
    int rc = nof_chan.nic_dead ? nof_chan.nic_dead_code : MPI_SUCCESS;
    if (rc == MPI_SUCCESS && source != NOF_ANY_SOURCE)
        rc = nof_chan_peer_open(source);
    struct nof_chan_op *op = rc == MPI_SUCCESS ? nof_chan_op_new(phase, req) : NULL;
    if (op == NULL) {
        nof_request_fail(req, rc != MPI_SUCCESS ? rc : nof_error(MPI_ERR_NO_MEM, "no memory for a receive"));
        return NULL;
    }
    op->peer = source;
    return op;
}

static struct nof_chan_op *begin_wanted(struct nof_request *req, enum nof_op_phase phase)
{
    int32_t source = wanted_source(req);
    int rc = refusal(req, source);
    if (rc == MPI_SUCCESS)
        return begin(req, phase, source);
    nof_request_fail(req, rc);
    return NULL;
}

void nof_chan_submit_recv(struct nof_chan_op *op)
{
    const struct nof_request *req = op->req;
    struct nof_desc desc = {
        .opcode = NOF_DESC_RECV,
        .ctx = req->ctx,
        .cookie = nof_chan_cookie(op),
        .peer = op->peer,
        .tag = nof_chan_wanted_tag(req),
        .len = req->bytes,
    };
    nof_chan_place(&desc, req);
    desc.callsite = req->callsite;
    op->phase = NOF_OP_RECV;
    nof_chan_submit(&desc);
}

void nof_chan_hint(uint64_t callsite)
{
    struct nof_desc desc = {.opcode = NOF_DESC_HINT};
    desc.callsite = callsite;
    if (nof_chan.pmd != NULL && !nof_chan.nic_dead)
        nof_chan_submit(&desc);
}

void nof_chan_submit_probe(struct nof_chan_op *op)
{
    const struct nof_request *req = op->req;
    struct nof_desc desc = {
        .opcode = req->probe_take ? NOF_DESC_MPROBE : NOF_DESC_PROBE,
        .flags = req->probe_wait ? NOF_DESC_F_WAIT : 0,
        .ctx = req->ctx,
        .cookie = nof_chan_cookie(op),
        .peer = op->peer,
        .tag = nof_chan_wanted_tag(req),
    };
    op->phase = NOF_OP_PROBE;
    nof_chan_submit(&desc);
}

static void receive_message(struct nof_request *req, const struct nof_message *message)
{
    if (message->nic_handle == 0) {
        nof_chan_consume(req, message->envelope);
        return;
    }
    struct nof_chan_op *op = begin(req, NOF_OP_RECV, message->source_world);
    if (op == NULL)
        return;
    struct nof_desc desc = {
        .opcode = NOF_DESC_MRECV,
        .ctx = req->ctx,
        .cookie = nof_chan_cookie(op),
        .peer = message->source_world,
        .tag = message->tag,
        .len = req->bytes,
    };
    nof_chan_place(&desc, req);
    desc.handle = message->nic_handle;
    desc.callsite = req->callsite;
    nof_chan_submit(&desc);
}

void nof_chan_recv(struct nof_request *req)
{
    if (req->message != NULL) {
        receive_message(req, req->message);
        return;
    }
    struct nof_chan_op *op = begin_wanted(req, NOF_OP_RECV);
    if (op == NULL)
        return;
    if (nof_chan.spill_ending)
        nof_chan_hold(op);
    else
        nof_chan_submit_recv(op);
}

void nof_chan_probe(struct nof_request *req)
{
    struct nof_chan_op *op = begin_wanted(req, NOF_OP_PROBE);
    if (op == NULL)
        return;
    if (nof_chan.spill_ending)
        nof_chan_hold(op);
    else
        nof_chan_submit_probe(op);
}

/* Out of the library's lists, and ended: cancelled, or with the code of what went wrong. */
static void end(struct nof_chan_op *op, int code)
{
    struct nof_request *req = op->req;
    nof_chan_op_free(op);
    if (req == NULL)
        return;
    if (code != MPI_SUCCESS) {
        nof_request_fail(req, code);
        return;
    }
    req->cancelled = true;
    nof_request_done(req, 0, 0, 0);
}

static void ask_cancel(struct nof_chan_op *op)
{
    if (op->phase == NOF_OP_LOCAL || op->phase == NOF_OP_HELD) {
        nof_chan_local_remove(op);
        end(op, op->fail_code);
        return;
    }
    if (op->cancel_asked || op->pulled)
        return;
    op->cancel_asked = true;
    struct nof_desc desc = {.opcode = NOF_DESC_CANCEL, .cookie = nof_chan_cookie(op)};
    nof_chan_submit(&desc);
}

void nof_chan_cancel(struct nof_request *req)
{
    struct nof_chan_op *op = req->channel_op;
    if (req->kind == NOF_REQUEST_SEND)
        nof_chan_send_cancel(req);
    else if (op != NULL)
        ask_cancel(op);
}

bool nof_chan_cancelling(const struct nof_request *req)
{
    const struct nof_chan_op *op = req->channel_op;
    bool local = req->kind != NOF_REQUEST_SEND || (op != NULL && op->peer == nof_lib.world_rank);
    return !req->complete && local && op != NULL && op->cancel_asked;
}

void nof_chan_recv_fail(struct nof_chan_op *op, int code)
{
    op->fail_code = code;
    ask_cancel(op);
}

/* ENOMATCH: the NIC does not have it (any more). Either its completion is on the way or here
 * already, or it moved to the library's matcher after the cancel was submitted. */
void nof_chan_cancel_done(struct nof_chan_op *op, int status)
{
    op->cancel_asked = false;
    if (status == NOF_OK) {
        end(op, op->fail_code);
    } else if (op->phase == NOF_OP_LOCAL) {
        nof_chan_local_remove(op);
        end(op, op->fail_code);
    } else {
        nof_progress_signal(); /* who cancelled may wait for this answer */
    }
}

/* Put an inline or staged payload where the receive wants it. */
static void take_payload(const struct nof_request *req, const struct nof_comp *comp)
{
    size_t len = comp->len < req->bytes ? comp->len : req->bytes;
    if ((comp->flags & NOF_COMP_F_INLINE) != 0) {
        if (len > NOF_INLINE_BYTES)
            len = NOF_INLINE_BYTES;
        nof_request_store(req, comp->inline_data, len);
    } else if ((comp->flags & NOF_COMP_F_STAGED) != 0) {
        const void *staged = nof_pmd_staged(nof_chan.pmd, comp->staged_offset, comp->staged_len);
        if (len > comp->staged_len)
            len = comp->staged_len;
        if (req->staged != NULL && staged != NULL) {
            req->staged->data = staged;
            req->staged->offset = comp->staged_offset;
            req->staged->in_area = true;
            return;
        }
        if (staged != NULL)
            nof_request_store(req, staged, len);
        nof_chan_release_staged(comp->staged_offset);
    }
}

void nof_chan_recv_done(struct nof_chan_op *op, const struct nof_comp *comp)
{
    struct nof_request *req = op->req;
    int32_t source = op->pulled ? op->peer : comp->peer, tag = op->pulled ? op->tag : comp->tag;
    uint64_t len = op->pulled ? op->len : comp->len;
    if (comp->status == NOF_ENOMATCH) {
        nof_chan.nomatches_seen++;
        nof_chan_local_recv(op);
        return;
    }
    if (op->pulled && comp->status == NOF_EAGAIN) {
        nof_chan_pull_refused(op);
        return;
    }
    int code = op->fail_code;
    if (op->pulled)
        nof_chan_pull_done();
    nof_chan_op_free(op);
    if (comp->status == NOF_OK || comp->status == NOF_ETRUNC) {
        take_payload(req, comp);
        nof_request_done(req, source, tag, len);
    } else if (comp->status == NOF_ECANCELED && code == MPI_SUCCESS) {
        req->cancelled = true;
        nof_request_done(req, 0, 0, 0);
    } else {
        nof_request_fail(req, code != MPI_SUCCESS ? code : nof_chan_status_code(comp->status, source));
    }
}

static void probe_found(struct nof_chan_op *op, const struct nof_comp *comp)
{
    struct nof_request *req = op->req;
    nof_chan_op_free(op);
    if (req->probe_take) {
        req->message = nof_message_new(req->comm, comp->peer, comp->tag, comp->len);
        if (req->message == NULL) {
            nof_request_fail(req, nof_error(MPI_ERR_NO_MEM, "no memory for a message handle"));
            return;
        }
        req->message->nic_handle = comp->handle;
    }
    req->found = true;
    nof_request_done(req, comp->peer, comp->tag, comp->len);
}

void nof_chan_probe_done(struct nof_chan_op *op, const struct nof_comp *comp)
{
    struct nof_request *req = op->req;
    if (comp->status == NOF_OK) {
        probe_found(op, comp);
    } else if (comp->status == NOF_ENOMATCH) {
        nof_chan.nomatches_seen += req->probe_wait;
        nof_chan_local_probe(op);
    } else {
        int code = op->fail_code;
        nof_chan_op_free(op);
        nof_request_fail(req, code != MPI_SUCCESS ? code : nof_chan_status_code(comp->status, comp->peer));
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of receives and probes: their answers, and cancel. */
#include <stdlib.h>
#include <string.h>

#include "chan/nic/chan_nic.h"
#include "base/error.h"
#include "base/memcheck.h"
#include "base/wait.h"

void nof_chan_nic_recv(struct nof_request *req)
{
    const struct nof_message *message = req->message;
    if (req->multicast.group != NULL)
        nof_chan_nic_group_transfer(req);
    else if (message == NULL)
        nof_chan_nic_post_recv(req);
    else if (message->nic_handle != 0)
        nof_chan_nic_post_message(req, message);
    else
        nof_chan_nic_consume(req, message->envelope);
}

/* Out of the library's lists, and ended: cancelled, or with the code of what went wrong. */
static void end(struct nof_chan_nic_op *op, int code)
{
    struct nof_request *req = op->req;
    nof_chan_nic_op_free(op);
    if (req == NULL)
        return;
    nof_claim_close(&nof_chan_claims, &req->claim);
    nof_chan_left(req);
    if (code != MPI_SUCCESS) {
        nof_request_fail(req, code);
        return;
    }
    req->cancelled = true;
    nof_request_done(req, 0, 0, 0);
}

static void ask_cancel(struct nof_chan_nic_op *op)
{
    if (op->phase == NOF_OP_LOCAL || op->phase == NOF_OP_HELD) {
        nof_chan_nic_local_remove(op);
        end(op, op->fail_code);
        return;
    }
    if (op->cancel_asked || op->pulled)
        return;
    op->cancel_asked = true;
    struct nof_desc desc = {.opcode = NOF_DESC_CANCEL, .cookie = nof_chan_nic_cookie(op)};
    nof_chan_nic_submit(&desc);
}

void nof_chan_nic_cancel(struct nof_request *req)
{
    struct nof_chan_nic_op *op = req->channel_op;
    if (req->multicast.group != NULL)
        nof_chan_nic_group_cancel(req);
    else if (req->kind == NOF_REQUEST_SEND)
        nof_chan_nic_send_cancel(req);
    else if (op != NULL)
        ask_cancel(op);
}

bool nof_chan_nic_cancelling(const struct nof_request *req)
{
    const struct nof_chan_nic_op *op = req->channel_op;
    bool local = req->kind != NOF_REQUEST_SEND || (op != NULL && op->peer == nof_lib.world_rank);
    return !req->complete && local && op != NULL && op->cancel_asked;
}

void nof_chan_nic_recv_fail(struct nof_chan_nic_op *op, int code)
{
    op->fail_code = code;
    ask_cancel(op);
}

/* ENOMATCH: the NIC does not have it (any more). Either its completion is on the way or here
 * already, or it moved to the library's matcher after the cancel was submitted. */
void nof_chan_nic_cancel_done(struct nof_chan_nic_op *op, int status)
{
    op->cancel_asked = false;
    if (op->let_go) {
        if (op->handle != 0)
            nof_claim_give_word(&nof_chan_claims, op->handle);
        nof_chan_nic_op_free(op);
        nof_chan_nic_release_held();
    } else if (status == NOF_OK) {
        end(op, op->fail_code);
    } else if (op->phase == NOF_OP_LOCAL) {
        nof_chan_nic_local_remove(op);
        end(op, op->fail_code);
    } else {
        nof_wait_signal(); /* who cancelled may wait for this answer */
    }
}

void nof_chan_nic_let_go(struct nof_chan_nic_op *op, bool message, int32_t peer, int32_t tag)
{
    struct nof_request *req = op->req;
    struct nof_desc desc = {.opcode = NOF_DESC_CANCEL, .cookie = nof_chan_nic_cookie(op)};
    if (op->phase == NOF_OP_LOCAL || op->phase == NOF_OP_HELD)
        nof_chan_nic_local_remove(op);
    if (op->phase == NOF_OP_LOCAL || op->phase == NOF_OP_HELD || nof_chan_nic.nic_dead) {
        nof_claim_close(&nof_chan_claims, &req->claim);
        nof_chan_nic_op_free(op);
        return;
    }
    if (req->claim.word) {
        op->handle = nof_claim_leave_word(&nof_chan_claims, &req->claim);
        if (message) {
            desc.flags = NOF_DESC_F_TAKEN;
            desc.peer = peer;
            desc.tag = tag;
        }
    }
    op->let_go = true;
    op->cancel_asked = true;
    op->req = NULL;
    req->channel_op = NULL;
    nof_chan_nic_submit(&desc);
}

/* It was answered: what the host has taken goes on without. True: it has ended, or will, by itself. */
static bool went_on(struct nof_chan_nic_op *op, const struct nof_comp *comp)
{
    if (op->let_go) {
        if (comp->status == NOF_ENOMATCH) {
            nof_chan_nic.nomatches_seen++;
            nof_chan_nic.spill = true;
        }
        return true;
    }
    if (op->claims) {
        nof_claim_close(&nof_chan_claims, &op->req->claim);
        nof_chan_nic_release_held();
    }
    if (comp->status != NOF_ENOMATCH && op->req != NULL)
        nof_chan_left(op->req);
    return false;
}

/* Put an inline or staged payload where the receive wants it; any other is there. */
static void take_payload(const struct nof_request *req, const struct nof_comp *comp)
{
    size_t len = comp->len < req->bytes ? comp->len : req->bytes;
    if ((comp->flags & NOF_COMP_F_INLINE) != 0) {
        if (len > NOF_INLINE_BYTES)
            len = NOF_INLINE_BYTES;
        nof_request_store(req, comp->inline_data, len);
    } else if ((comp->flags & NOF_COMP_F_STAGED) != 0) {
        const void *staged = nof_pmd_staged(nof_chan_nic.pmd, comp->staged_offset, comp->staged_len);
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
        nof_chan_nic_release_staged(comp->staged_offset);
    } else if (!req->streamed) {
        nof_memcheck_written(req->data, len);
    }
}

void nof_chan_nic_recv_done(struct nof_chan_nic_op *op, const struct nof_comp *comp)
{
    if (went_on(op, comp))
        return;
    struct nof_request *req = op->req;
    int32_t source = op->pulled ? op->peer : comp->peer, tag = op->pulled ? op->tag : comp->tag;
    uint64_t len = comp->len; /* of a PULL it may be less than was announced */
    if (comp->status == NOF_ENOMATCH) {
        nof_chan_nic.nomatches_seen++;
        nof_chan_nic_local_recv(op);
        return;
    }
    if (op->pulled && comp->status == NOF_EAGAIN) {
        nof_chan_nic_pull_refused(op);
        return;
    }
    int code = op->fail_code;
    if (op->pulled)
        nof_chan_nic_pull_done();
    nof_chan_nic_op_free(op);
    if (comp->status == NOF_OK || comp->status == NOF_ETRUNC) {
        take_payload(req, comp);
        nof_request_done(req, source, tag, len);
    } else if (comp->status == NOF_ECANCELED && code == MPI_SUCCESS) {
        req->cancelled = true;
        nof_request_done(req, 0, 0, 0);
    } else {
        nof_request_fail(req, code != MPI_SUCCESS ? code : nof_chan_nic_status_code(comp->status, source));
    }
}

static void probe_found(struct nof_chan_nic_op *op, const struct nof_comp *comp)
{
    struct nof_request *req = op->req;
    nof_chan_nic_op_free(op);
    if (req->probe_take) {
        req->message = nof_message_new(req->comm, comp->peer, comp->tag);
        if (req->message == NULL) {
            nof_request_fail(req, nof_error(MPI_ERR_NO_MEM, "no memory for a message handle"));
            return;
        }
        req->message->nic_handle = comp->handle;
    }
    req->found = true;
    nof_request_done(req, comp->peer, comp->tag, comp->len);
}

void nof_chan_nic_probe_done(struct nof_chan_nic_op *op, const struct nof_comp *comp)
{
    if (went_on(op, comp))
        return;
    struct nof_request *req = op->req;
    if (comp->status == NOF_OK) {
        probe_found(op, comp);
    } else if (comp->status == NOF_ENOMATCH) {
        nof_chan_nic.nomatches_seen += req->probe_wait;
        nof_chan_nic_local_probe(op);
    } else {
        int code = op->fail_code;
        nof_chan_nic_op_free(op);
        nof_request_fail(req,
                         code != MPI_SUCCESS ? code : nof_chan_nic_status_code(comp->status, comp->peer));
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives, probes, cancel. */
#include "chan/nic/chan_nic.h"
#include "chan/shm/chan_shm.h"
#include "comm/comm.h"

int nof_shm_refusal(const struct nof_request *req)
{
    if (nof_shm.dead)
        return nof_shm.dead_code;
    if (req->peer != MPI_ANY_SOURCE) {
        const struct nof_shm_peer *peer = nof_shm_peer_of(req);
        return peer->gone ? nof_chan_nic_dead_code(peer->world_rank) : MPI_SUCCESS;
    }
    if (nof_chan_nic.dead_count == 0 || nof_request_is_own(req))
        return MPI_SUCCESS;
    int member = nof_chan_nic_dead_member(req->comm);
    return member == MPI_UNDEFINED ? MPI_SUCCESS : nof_chan_nic_dead_code(member);
}

bool nof_shm_recv_here(struct nof_request *req)
{
    struct nof_shm_envelope *envelope = nof_shm_find(req);
    if (envelope == NULL)
        return false;
    nof_matcher_remove(&nof_chan_claims.memory, &envelope->match);
    nof_shm_consume(req, envelope);
    return true;
}

void nof_shm_recv(struct nof_request *req)
{
    if (req->multicast.group != NULL) {
        nof_chan_by_nic.recv(req);
        return;
    }
    req->channel_op = NULL;
    if (req->message != NULL) {
        nof_shm_consume(req, req->message->envelope);
        return;
    }
    if (nof_shm_recv_here(req))
        return;
    int rc = nof_shm_refusal(req);
    if (rc != MPI_SUCCESS) {
        nof_request_fail(req, rc);
        return;
    }
    if (nof_claim_post(&nof_chan_claims, &req->claim, req->ctx, nof_shm_wanted_source(req),
                       nof_shm_wanted_tag(req)) != 0)
        nof_request_fail(req, nof_error(MPI_ERR_NO_MEM, "no memory for a posted receive"));
}

void nof_shm_probe(struct nof_request *req)
{
    req->channel_op = NULL;
    struct nof_shm_envelope *envelope = nof_shm_find(req);
    int rc = envelope == NULL ? nof_shm_refusal(req) : MPI_SUCCESS;
    if (envelope != NULL) {
        nof_shm_answer_probe(req, envelope);
    } else if (rc != MPI_SUCCESS) {
        nof_request_fail(req, rc);
    } else if (req->probe_wait) {
        req->next = nof_chan_probes;
        nof_chan_probes = req;
    } else {
        req->found = false;
        nof_request_done(req, 0, 0, 0);
    }
}

void nof_shm_cancel(struct nof_request *req)
{
    if (req->multicast.group != NULL) {
        nof_chan_by_nic.cancel(req);
    } else if (req->kind == NOF_REQUEST_SEND) {
        nof_shm_send_cancel(req);
    } else if (req->kind == NOF_REQUEST_RECV && req->claim.memory.links > 0) {
        nof_matcher_unpost(&nof_chan_claims.memory, &req->claim.memory);
        req->cancelled = true;
        nof_request_done(req, 0, req->tag, 0);
    }
}

bool nof_shm_cancelling(const struct nof_request *req)
{
    const struct nof_shm_op *op = req->multicast.group == NULL ? req->channel_op : NULL;
    return !req->complete && op != NULL && op->cancel_asked && op->slot == nof_shm.self;
}

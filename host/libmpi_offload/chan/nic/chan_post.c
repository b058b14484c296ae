/* SPDX-License-Identifier: BSD-3-Clause */
/* What is asked of the NIC's matching: receives and probes. Budget of a receive: no allocation after warm-up, no system
 * call unless the NIC sleeps. */
#include "chan/nic/chan_nic.h"
#include "comm/comm.h"
#include "base/error.h"
#include "base/wait.h"

int32_t nof_chan_nic_wanted_tag(const struct nof_request *req)
{
    return req->tag == MPI_ANY_TAG ? NOF_ANY_TAG : req->tag;
}

struct nof_vain_question nof_chan_nic_question(const struct nof_request *req, int32_t source)
{
    return (struct nof_vain_question){.ctx = req->ctx, .source = source, .tag = nof_chan_nic_wanted_tag(req)};
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
        const struct nof_chan_nic_peer *peer = &nof_chan_nic.peers[source];
        return peer->dead && !peer->known ? nof_chan_nic_dead_code(source) : MPI_SUCCESS;
    }
    /* As for one that was posted before the death (nof_chan_nic_peer_died). The library's own go on. */
    if (nof_chan_nic.nic_dead || nof_chan_nic.dead_count == 0 || nof_request_is_own(req))
        return MPI_SUCCESS;
    int member = nof_chan_nic_dead_member(req->comm);
    return member == MPI_UNDEFINED ? MPI_SUCCESS : nof_chan_nic_dead_code(member);
}

int nof_chan_nic_lost_code(const struct nof_request *req, int32_t source)
{
    bool named_dead = source != NOF_ANY_SOURCE && nof_chan_nic.peers[source].dead;
    return named_dead ? nof_chan_nic_dead_code(source) : refusal(req, source);
}

/* An operation for a receive or probe; ends the request and returns NULL if there can be none. */
static struct nof_chan_nic_op *begin(struct nof_request *req, enum nof_op_phase phase, int32_t source)
{
    int rc = nof_chan_nic.nic_dead ? nof_chan_nic.nic_dead_code : MPI_SUCCESS;
    if (rc == MPI_SUCCESS && source != NOF_ANY_SOURCE)
        rc = nof_chan_nic_peer_open(source);
    struct nof_chan_nic_op *op = rc == MPI_SUCCESS ? nof_chan_nic_op_new(phase, req) : NULL;
    if (op == NULL) {
        nof_chan_left(req);
        nof_request_fail(req, rc != MPI_SUCCESS ? rc : nof_error(MPI_ERR_NO_MEM, "no memory for a receive"));
        return NULL;
    }
    op->peer = source;
    return op;
}

static struct nof_chan_nic_op *begin_wanted(struct nof_request *req, enum nof_op_phase phase)
{
    int32_t source = wanted_source(req);
    int rc = refusal(req, source);
    if (rc == MPI_SUCCESS)
        return begin(req, phase, source);
    nof_request_fail(req, rc);
    return NULL;
}

void nof_chan_nic_submit_recv(struct nof_chan_nic_op *op)
{
    const struct nof_request *req = op->req;
    struct nof_desc desc = {
        .opcode = NOF_DESC_RECV,
        .agreed = req->agreed,
        .ctx = req->ctx,
        .cookie = nof_chan_nic_cookie(op),
        .peer = op->peer,
        .tag = nof_chan_nic_wanted_tag(req),
        .len = req->bytes,
    };
    nof_chan_nic_place(&desc, req);
    if (req->delta != 0)
        nof_chan_nic_place_delta(&desc, req);
    if (op->claims) {
        desc.flags |= NOF_DESC_F_CLAIM;
        desc.handle = req->claim.handle;
    }
    desc.callsite = req->callsite;
    op->phase = NOF_OP_RECV;
    nof_chan_nic_submit(&desc);
}

void nof_chan_nic_hint(uint64_t callsite)
{
    struct nof_desc desc = {.opcode = NOF_DESC_HINT};
    desc.callsite = callsite;
    if (nof_chan_nic.pmd != NULL && !nof_chan_nic.nic_dead)
        nof_chan_nic_submit(&desc);
}

void nof_chan_nic_submit_probe(struct nof_chan_nic_op *op)
{
    const struct nof_request *req = op->req;
    struct nof_desc desc = {
        .opcode = req->probe_take ? NOF_DESC_MPROBE : NOF_DESC_PROBE,
        .flags = req->probe_wait ? NOF_DESC_F_WAIT : 0,
        .ctx = req->ctx,
        .cookie = nof_chan_nic_cookie(op),
        .peer = op->peer,
        .tag = nof_chan_nic_wanted_tag(req),
    };
    if (op->claims) {
        desc.flags |= NOF_DESC_F_CLAIM;
        desc.handle = req->claim.handle;
    }
    op->phase = NOF_OP_PROBE;
    op->asked_at = nof_pmd_unexpected(nof_chan_nic.pmd);
    nof_chan_nic.vain_answers = 0;
    nof_chan_nic_submit(&desc);
}

/* It needs no word, or has one now. */
static bool has_word(struct nof_chan_nic_op *op)
{
    return !op->claims || nof_claim_open(&nof_chan_claims, &op->req->claim);
}

static void submit(struct nof_chan_nic_op *op)
{
    if (op->req->kind == NOF_REQUEST_PROBE)
        nof_chan_nic_submit_probe(op);
    else
        nof_chan_nic_submit_recv(op);
}

void nof_chan_nic_release_held(void)
{
    while (!nof_chan_nic.spill_ending && nof_chan_nic.held_first != NULL &&
           has_word(nof_chan_nic.held_first)) {
        struct nof_chan_nic_op *op = nof_chan_nic.held_first;
        nof_chan_nic.held_first = op->next;
        if (nof_chan_nic.held_first == NULL)
            nof_chan_nic.held_last = NULL;
        submit(op);
    }
}

/* Waits for the end of spill mode, or for a word. */
static void hold(struct nof_chan_nic_op *op)
{
    op->phase = NOF_OP_HELD;
    op->next = NULL;
    if (nof_chan_nic.held_last == NULL)
        nof_chan_nic.held_first = op;
    else
        nof_chan_nic.held_last->next = op;
    nof_chan_nic.held_last = op;
}

/* In the order of the calls. */
static void submit_or_hold(struct nof_chan_nic_op *op)
{
    if (nof_chan_nic.spill_ending || nof_chan_nic.held_first != NULL || !has_word(op))
        hold(op);
    else
        submit(op);
}

void nof_chan_nic_post_recv(struct nof_request *req)
{
    struct nof_chan_nic_op *op = begin_wanted(req, NOF_OP_RECV);
    if (op != NULL)
        submit_or_hold(op);
}

/* Where ranks and NIC cores outnumber the CPUs, one of so many questions goes to the NIC all the same: who waits for its answer sleeps, and
 * that lets a NIC core in that shares the CPU, also where a yield does not, because the scheduler gives each session its share. */
#define VAIN_A_QUESTION 128

/* The NIC has said that there is nothing, and would say so again. What it says of the dead is another answer. */
static bool asked_in_vain(const struct nof_request *req)
{
    if (req->probe_wait || nof_chan_nic.nic_dead ||
        (nof_lib.crowded && nof_chan_nic.vain_answers == VAIN_A_QUESTION - 1))
        return false;
    int32_t source = wanted_source(req);
    struct nof_vain_question question = nof_chan_nic_question(req, source);
    return nof_vain_holds(&nof_chan_nic.vain, &question, nof_pmd_unexpected(nof_chan_nic.pmd)) &&
           nof_chan_nic_lost_code(req, source) == MPI_SUCCESS;
}

void nof_chan_nic_probe(struct nof_request *req)
{
    if (!req->probe_wait && !nof_wait_polling())
        (void)nof_wait_poll();
    nof_chan_nic_post_probe(req);
}

void nof_chan_nic_post_probe(struct nof_request *req)
{
    if (asked_in_vain(req)) {
        nof_chan_nic.vain_answers++;
        req->channel_op = NULL;
        req->found = false;
        nof_request_done(req, 0, 0, 0);
        return;
    }
    struct nof_chan_nic_op *op = begin_wanted(req, NOF_OP_PROBE);
    if (op != NULL)
        submit_or_hold(op);
}

void nof_chan_nic_post_beside_memory(struct nof_request *req)
{
    bool probe = req->kind == NOF_REQUEST_PROBE;
    struct nof_chan_nic_op *op = begin(req, probe ? NOF_OP_PROBE : NOF_OP_RECV, NOF_ANY_SOURCE);
    if (op == NULL)
        return;
    op->claims = !probe || req->probe_take;
    submit_or_hold(op);
}

void nof_chan_nic_post_message(struct nof_request *req, const struct nof_message *message)
{
    struct nof_chan_nic_op *op = begin(req, NOF_OP_RECV, message->source_world);
    if (op == NULL)
        return;
    struct nof_desc desc = {
        .opcode = NOF_DESC_MRECV,
        .ctx = req->ctx,
        .cookie = nof_chan_nic_cookie(op),
        .peer = message->source_world,
        .tag = message->tag,
        .len = req->bytes,
    };
    nof_chan_nic_place(&desc, req);
    desc.handle = message->nic_handle;
    desc.callsite = req->callsite;
    nof_chan_nic_submit(&desc);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The channel of a world of one without a NIC: every message goes from the process to itself. */
#include <stdlib.h>
#include <string.h>

#include "chan/chan.h"
#include "base/error.h"

/* A standard send of up to this many bytes completes without a receive, as most programs that send
 * to themselves expect of an MPI library. */
#define BUFFERED_MAX (64u * 1024u)

struct envelope {
    struct nof_match_entry match; /* first: an entry is its envelope */
    struct nof_request *send; /* waits for the match; NULL: the payload was copied */
    size_t len;
    char payload[];
};

static struct nof_matcher matcher;
static struct nof_request *waiting_probes;

static void deliver(struct nof_request *recv, int source, int tag, const void *payload, size_t len)
{
    size_t take = len < recv->bytes ? len : recv->bytes;
    if (take > 0)
        memmove(recv->data, payload, take);
    nof_request_done(recv, source, tag, len);
}

static struct nof_request *request_of(struct nof_match_entry *entry)
{
    return nof_request_of_claim(nof_claim_of_memory(entry));
}

static void answer_probe(struct nof_request *probe, struct envelope *envelope)
{
    probe->found = true;
    if (probe->probe_take) {
        probe->message = nof_message_new(probe->comm, envelope->match.source, envelope->match.tag);
        if (probe->message == NULL) {
            nof_request_fail(probe, nof_error(MPI_ERR_NO_MEM, "no memory for a message handle"));
            return;
        }
        probe->message->envelope = envelope;
        nof_matcher_remove(&matcher, &envelope->match);
    }
    nof_request_done(probe, envelope->match.source, envelope->match.tag, envelope->len);
}

static int32_t wanted_tag(const struct nof_request *req)
{
    return req->tag == MPI_ANY_TAG ? NOF_MATCH_ANY : req->tag;
}

static int32_t wanted_source(const struct nof_request *req)
{
    return req->peer == MPI_ANY_SOURCE ? NOF_MATCH_ANY : 0;
}

static struct envelope *find(const struct nof_request *req)
{
    return (struct envelope *)(void *)nof_matcher_find(&matcher, req->ctx, wanted_source(req),
                                                       wanted_tag(req));
}

/* Waiting probes are few (one per thread): a list will do. */
static void run_probes(void)
{
    struct nof_request **at = &waiting_probes;
    while (*at != NULL) {
        struct nof_request *probe = *at;
        struct envelope *envelope = find(probe);
        if (envelope == NULL) {
            at = &probe->next;
            continue;
        }
        *at = probe->next;
        answer_probe(probe, envelope);
    }
}

static void self_send(struct nof_request *req)
{
    struct nof_match_entry *posted = nof_matcher_take_posted(&matcher, req->ctx, 0, req->tag);
    if (posted != NULL) {
        deliver(request_of(posted), 0, req->tag, req->data, req->bytes);
        nof_request_done(req, 0, req->tag, req->bytes);
        return;
    }
    bool copy = req->mode != NOF_SEND_SYNC && (req->bytes <= BUFFERED_MAX || req->mode == NOF_SEND_BUFFERED);
    struct envelope *envelope = malloc(sizeof(*envelope) + (copy ? req->bytes : 0));
    if (envelope == NULL) {
        nof_request_fail(req, nof_error(MPI_ERR_NO_MEM, "no memory for a message to oneself"));
        return;
    }
    *envelope = (struct envelope){.send = copy ? NULL : req, .len = req->bytes};
    envelope->match.ctx = req->ctx;
    envelope->match.tag = req->tag;
    if (nof_matcher_add(&matcher, &envelope->match) != 0) {
        free(envelope);
        nof_request_fail(req, nof_error(MPI_ERR_NO_MEM, "no memory for a message to oneself"));
        return;
    }
    req->channel_op = envelope;
    if (copy) {
        if (req->bytes > 0)
            memcpy(envelope->payload, req->data, req->bytes);
        nof_request_done(req, 0, req->tag, req->bytes);
    }
    run_probes();
}

static void consume(struct nof_request *recv, struct envelope *envelope)
{
    struct nof_request *send = envelope->send;
    int tag = envelope->match.tag;
    deliver(recv, 0, tag, send == NULL ? envelope->payload : send->data, envelope->len);
    if (send != NULL)
        nof_request_done(send, 0, tag, envelope->len);
    free(envelope);
}

static void self_recv(struct nof_request *req)
{
    if (req->message != NULL) {
        consume(req, req->message->envelope);
        return;
    }
    struct envelope *envelope = find(req);
    if (envelope != NULL) {
        nof_matcher_remove(&matcher, &envelope->match);
        consume(req, envelope);
        return;
    }
    req->claim.memory.ctx = req->ctx;
    req->claim.memory.source = wanted_source(req);
    req->claim.memory.tag = wanted_tag(req);
    if (nof_matcher_post(&matcher, &req->claim.memory) != 0)
        nof_request_fail(req, nof_error(MPI_ERR_NO_MEM, "no memory for a posted receive"));
}

static void self_cancel(struct nof_request *req)
{
    if (req->kind == NOF_REQUEST_RECV && req->claim.memory.links > 0) {
        nof_matcher_unpost(&matcher, &req->claim.memory);
    } else if (req->kind == NOF_REQUEST_SEND && req->channel_op != NULL) {
        struct envelope *envelope = req->channel_op;
        if (envelope->match.links == 0)
            return; /* taken by MPI_Mprobe: too late */
        nof_matcher_remove(&matcher, &envelope->match);
        free(envelope);
    } else {
        return;
    }
    req->cancelled = true;
    nof_request_done(req, 0, req->tag, 0);
}

static bool self_cancelling(const struct nof_request *req)
{
    (void)req;
    return false;
}

static void self_probe(struct nof_request *req)
{
    struct envelope *envelope = find(req);
    if (envelope != NULL) {
        answer_probe(req, envelope);
    } else if (req->probe_wait) {
        req->next = waiting_probes;
        waiting_probes = req;
    } else {
        req->found = false;
        nof_request_done(req, 0, 0, 0);
    }
}

static int self_poll(void)
{
    return 0;
}

static uint64_t self_nap_ns(void)
{
    return UINT64_MAX;
}

static void self_describe(const struct nof_sched *of)
{
    (void)of;
}

static void nothing(void)
{
}

static void self_commit(struct nof_type *type)
{
    (void)type;
}

static bool self_streams(const struct nof_type *type, size_t bytes)
{
    (void)type;
    (void)bytes;
    return false;
}

static int self_dead_member(struct nof_comm *comm)
{
    (void)comm;
    return MPI_UNDEFINED;
}

const struct nof_chan nof_chan_by_self = {
    .name = "self",
    .send = self_send,
    .recv = self_recv,
    .cancel = self_cancel,
    .cancelling = self_cancelling,
    .probe = self_probe,
    .commit = self_commit,
    .streams = self_streams,
    .source = {.poll = self_poll, .nap_ns = self_nap_ns, .describe = self_describe},
    .flush = nothing,
    .withdraw = nothing,
    .dead_member = self_dead_member,
    .close = nothing,
};

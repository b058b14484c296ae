/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/leaks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chan/chan.h"
#include "comm/comm.h"
#include "p2p/pt2pt.h"
#include "chan/request.h"
#include "coll/schedule.h"
#include "nof_private/env.h"

#define TOGETHER_MAX 128 /* ranks that are heard from at a time */

struct found {
    unsigned requests, messages;
    char request[160], message[160]; /* the first of them */
};

bool nof_leaks_wanted(void)
{
    const char *text = nof_env("NOF_CHECK_LEAKS");
    return text != NULL && strcmp(text, "1") == 0;
}

static const char *name_of(const struct nof_comm *comm)
{
    return comm->name[0] != '\0' ? comm->name : "a communicator without a name";
}

/* "rank 3, tag any", of what may have wildcards. */
static void whom(char *text, size_t bytes, const char *what, int peer, int tag, const struct nof_comm *comm)
{
    char rank[24] = "any rank", number[24] = "any";
    if (peer >= 0)
        snprintf(rank, sizeof(rank), "rank %d", peer);
    if (tag >= 0)
        snprintf(number, sizeof(number), "%d", tag);
    snprintf(text, bytes, "%s %s, tag %s, on %.80s", what, rank, number, name_of(comm));
}

static void describe(const struct nof_request *req, char *text, size_t bytes)
{
    static const char *const words[] = {[NOF_REQUEST_SEND] = "a send to",
                                        [NOF_REQUEST_RECV] = "a receive from",
                                        [NOF_REQUEST_PROBE] = "a probe for",
                                        [NOF_REQUEST_COLL] = "a collective operation",
                                        [NOF_REQUEST_LOCAL] = "a local operation",
                                        [NOF_REQUEST_PSEND] = "a partitioned send to",
                                        [NOF_REQUEST_PRECV] = "a partitioned receive from",
                                        [NOF_REQUEST_GENERAL] = "a generalized request"};
    bool with_peer = req->kind != NOF_REQUEST_COLL && req->kind != NOF_REQUEST_LOCAL &&
                     req->kind != NOF_REQUEST_GENERAL && req->comm != NULL;
    if (with_peer)
        whom(text, bytes, words[req->kind], req->peer, req->tag, req->comm);
    else
        snprintf(text, bytes, "%s", words[req->kind]);
}

static void count_requests(struct found *found)
{
    const struct nof_handle_table *table = &nof_lib.requests;
    void *first = nof_handle_first(table);
    found->requests = table->live;
    if (first != NULL)
        describe(first, found->request, sizeof(found->request));
}

/* An empty message from everybody, behind all that they sent here before: that has come, then. Whether it was received is
 * another question, for which nobody waits. */
static int hear_from_all(void)
{
    struct nof_sched *s = nof_sched_new(nof_comm_world());
    for (int k = 0; s != NULL && k < s->size; k++) {
        nof_sched_recv(s, NULL, 0, nof_type_byte(), (s->rank - k + s->size) % s->size);
        nof_sched_send(s, NULL, 0, nof_type_byte(), (s->rank + k) % s->size);
        if (k % TOGETHER_MAX == TOGETHER_MAX - 1)
            nof_sched_fence(s);
    }
    return nof_sched_run(s);
}

/* Its sender is not left waiting. */
static void drop(struct nof_message *message)
{
    struct nof_request *req;
    struct nof_pt2pt_args none = {.datatype = MPI_BYTE, .peer = message->source, .tag = message->tag};
    if (nof_pt2pt_recv_on(message->comm, &none, &req) == MPI_SUCCESS) {
        req->message = message;
        if (nof_pt2pt_start(req) == MPI_SUCCESS)
            (void)nof_request_wait(req);
        req->message = NULL;
        nof_request_free(req);
    }
    nof_message_free(message);
}

/* Messages of this communicator that wait for a receive. */
static void count_messages(const struct nof_comm *comm, struct found *found)
{
    for (;;) {
        struct nof_request *req = NULL;
        struct nof_comm *c = NULL;
        if (nof_pt2pt_probe_new(MPI_ANY_SOURCE, MPI_ANY_TAG, comm->handle, &c, &req) != MPI_SUCCESS)
            return;
        req->probe_take = true;
        nof_chan_for(req)->probe(req);
        bool more = nof_request_wait(req) == MPI_SUCCESS && req->found;
        if (more && found->messages++ == 0)
            whom(found->message, sizeof(found->message), "from", req->status_source, req->status_tag, comm);
        if (more)
            drop(req->message);
        nof_request_free(req);
        if (!more)
            return;
    }
}

static void each_comm(void *object, void *found)
{
    count_messages(object, found);
}

static void count_matched(void *object, void *context)
{
    const struct nof_message *message = object;
    struct found *found = context;
    if (found->messages++ == 0)
        whom(found->message, sizeof(found->message), "from", message->source, message->tag, message->comm);
}

static void drop_matched(void *object, void *context)
{
    (void)context;
    drop(object);
}

void nof_leaks_drop_matched(void)
{
    nof_handle_each(&nof_lib.messages, drop_matched, NULL);
}

void nof_leaks_report(void)
{
    struct found found = {0};
    if (hear_from_all() != MPI_SUCCESS)
        return;
    char requests[256] = "", messages[256] = "";
    count_requests(&found);
    nof_handle_each(&nof_lib.messages, count_matched, &found);
    count_messages(nof_comm_world(), &found);
    count_messages(nof_comm_self(), &found);
    nof_handle_each(&nof_lib.comms, each_comm, &found);
    if (found.requests == 0 && found.messages == 0)
        return;
    if (found.requests > 0)
        snprintf(requests, sizeof(requests),
                 " %u request%s left that nobody waited for or freed (the first: %s)", found.requests,
                 found.requests == 1 ? "" : "s", found.request);
    if (found.messages > 0)
        snprintf(messages, sizeof(messages), "%s %u message%s left that nobody received (the first: %s)",
                 found.requests > 0 ? "," : "", found.messages, found.messages == 1 ? "" : "s",
                 found.message);
    fprintf(stderr, "libmpi_offload: rank %d on %s: MPI_Finalize:%s%s\n", nof_lib.world_rank, nof_lib.host,
            requests, messages);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "p2p/part.h"

#include <limits.h>
#include <stdlib.h>

#include "comm/comm.h"
#include "base/error.h"
#include "p2p/pt2pt.h"

enum { SETUP_TAG = 0, FIRST_TAG = 1 };

/* What the receiver has to know; small enough for a descriptor. */
struct setup {
    uint64_t message_bytes; /* of each */
    uint32_t messages;
    int32_t tag; /* the program's */
    int32_t first; /* tags of the messages: first, first + 1, ... */
    uint32_t reserved;
};

/* A setup for which no receive was made yet. */
struct unexpected {
    struct setup setup;
    struct nof_comm *comm; /* a reference */
    int peer;
    struct unexpected *next;
};

struct nof_part {
    struct nof_request *req; /* NULL: freed by the program before its setup came */
    struct nof_comm *comm; /* a reference */
    int peer;
    int tag;
    int partitions;
    size_t partition_bytes;
    bool matched; /* the setup is there, or was sent */
    bool temporary; /* PRECV: messages end inside elements, and are unpacked */
    int error; /* no setup will ever come: why */
    struct setup setup;
    size_t done; /* messages, in this round */
    bool *flag; /* by message: PSEND: ready; PRECV: arrived */
    struct nof_part *next;
};

static struct nof_part *waiting; /* PRECV without a setup, oldest first */
static struct unexpected *unexpected; /* oldest first */
static int next_tag = FIRST_TAG;

static int no_memory(void)
{
    return nof_error(MPI_ERR_NO_MEM, "no memory for a partitioned operation");
}

static struct nof_request *message(enum nof_request_kind kind, struct nof_comm *comm, int peer, int tag,
                                   void (*on_done)(struct nof_request *))
{
    struct nof_request *req = nof_request_internal(kind, comm, NULL, 0, nof_type_byte(), peer, tag);
    if (req != NULL) {
        req->ctx = comm->ctx | NOF_COMM_PART;
        req->on_done = on_done;
    }
    return req;
}

/* Start an internal message, or free it. */
static int start_message(struct nof_request *req)
{
    int rc = nof_pt2pt_start(req);
    if (rc != MPI_SUCCESS)
        nof_request_free(req);
    return rc;
}

static void part_free(struct nof_part *p)
{
    if (p->req != NULL && p->req->kind == NOF_REQUEST_PRECV && !p->matched && p->error == MPI_SUCCESS &&
        p->peer != MPI_PROC_NULL) {
        p->req = NULL; /* its setup must not become another's */
        return;
    }
    nof_comm_release(p->comm);
    free(p->flag);
    free(p);
}

static void end_round(struct nof_part *p)
{
    struct nof_request *req = p->req;
    size_t bytes = p->setup.messages * (size_t)p->setup.message_bytes;
    req->status_source = p->peer;
    req->status_tag = p->tag;
    req->status_bytes = bytes < req->bytes ? bytes : req->bytes;
    nof_request_end(req);
}

static void one_done(struct nof_part *p, int error)
{
    if (error != MPI_SUCCESS && p->req->error == MPI_SUCCESS)
        p->req->error = error;
    if (++p->done == p->setup.messages)
        end_round(p);
}

static void sent(struct nof_request *child)
{
    struct nof_part *p = child->context;
    int error = child->error;
    nof_request_free(child);
    one_done(p, error);
}

static void received(struct nof_request *child)
{
    struct nof_part *p = child->context;
    size_t index = (size_t)(child->tag - p->setup.first);
    int error = child->error;
    if (p->temporary) {
        if (error == MPI_SUCCESS)
            nof_type_unpack(p->req->type, p->req->buf, p->req->count, index * p->setup.message_bytes,
                            child->status_bytes, child->buf);
        free(child->buf);
    }
    p->flag[index] = true;
    nof_request_free(child);
    one_done(p, error);
}

/* Where message `index` goes: in whole elements, in bytes of contiguous memory, or in a temporary. */
static bool aim(struct nof_part *p, struct nof_request *child, size_t index)
{
    struct nof_request *req = p->req;
    struct nof_type *type = req->type;
    size_t at = index * p->setup.message_bytes, len = p->setup.message_bytes;
    if (at >= req->bytes)
        len = 0;
    else if (len > req->bytes - at)
        len = req->bytes - at;
    child->count = len;
    if (type->contiguous) {
        child->buf = nof_lib_at(req->buf, type->tree->lb + (ptrdiff_t)at);
    } else if (p->temporary) {
        child->buf = malloc(len + 1);
        return child->buf != NULL;
    } else {
        child->buf = nof_lib_at(req->buf, (ptrdiff_t)(at / type->size) * nof_type_extent(type));
        child->count = len / type->size;
        child->type = type;
        nof_type_hold(type);
    }
    return true;
}

static void fail_rest(struct nof_part *p, size_t from, int error)
{
    size_t n = p->setup.messages; /* the last one may end p */
    for (size_t i = from; i < n; i++)
        one_done(p, error);
}

static void receive_all(struct nof_part *p)
{
    struct nof_type *type = p->req->type;
    size_t n = p->setup.messages;
    p->temporary = !type->contiguous && type->size > 0 && p->setup.message_bytes % type->size != 0;
    if (n == 0)
        end_round(p);
    for (size_t i = 0; i < n; i++) {
        struct nof_request *child =
            message(NOF_REQUEST_RECV, p->comm, p->peer, p->setup.first + (int)i, received);
        if (child != NULL)
            child->context = p;
        if (child == NULL || !aim(p, child, i)) {
            if (child != NULL)
                nof_request_free(child);
            fail_rest(p, i, no_memory());
            return;
        }
        int rc = start_message(child);
        if (rc != MPI_SUCCESS) {
            fail_rest(p, i, rc);
            return;
        }
    }
}

static int part_start(struct nof_request *req)
{
    struct nof_part *p = req->part;
    p->done = 0;
    if (p->peer == MPI_PROC_NULL) {
        req->status_source = MPI_PROC_NULL;
        req->status_tag = MPI_ANY_TAG;
        req->complete = true;
        return MPI_SUCCESS;
    }
    if (p->error != MPI_SUCCESS) {
        nof_request_fail(req, p->error);
        return MPI_SUCCESS;
    }
    for (size_t i = 0; p->flag != NULL && i < p->setup.messages; i++)
        p->flag[i] = false;
    if (req->kind == NOF_REQUEST_PRECV && p->matched)
        receive_all(p);
    else if (req->kind == NOF_REQUEST_PSEND && p->partitions == 0)
        end_round(p);
    return MPI_SUCCESS;
}

int nof_part_check(const struct nof_request *req, int partition)
{
    int partitions = req->part->partitions;
    return partition < 0 || partition >= partitions
               ? nof_error(MPI_ERR_ARG, "partition %d of %d", partition, partitions)
               : MPI_SUCCESS;
}

int nof_part_ready(struct nof_request *req, int partition)
{
    struct nof_part *p = req->part;
    int rc = nof_part_check(req, partition);
    if (rc != MPI_SUCCESS || p->peer == MPI_PROC_NULL)
        return rc;
    if (p->flag[partition])
        return nof_error(MPI_ERR_ARG, "partition %d is ready already", partition);
    struct nof_request *child = message(NOF_REQUEST_SEND, p->comm, p->peer, p->setup.first + partition, sent);
    if (child == NULL)
        return no_memory();
    size_t each = req->count / (size_t)p->partitions;
    child->context = p;
    child->buf = nof_lib_at(req->buf, (ptrdiff_t)(each * (size_t)partition) * nof_type_extent(req->type));
    child->count = each;
    child->type = req->type;
    nof_type_hold(req->type);
    child->callsite = req->callsite;
    p->flag[partition] = true;
    rc = start_message(child);
    if (rc != MPI_SUCCESS)
        p->flag[partition] = false;
    return rc;
}

bool nof_part_arrived(const struct nof_request *req, int partition)
{
    const struct nof_part *p = req->part;
    if (!req->active || req->complete)
        return true;
    if (!p->matched)
        return false;
    size_t each = p->setup.message_bytes, from = (size_t)partition * p->partition_bytes;
    size_t to = from + p->partition_bytes;
    if (each == 0 || p->partition_bytes == 0 || to > each * p->setup.messages)
        return false; /* then it is when all is */
    for (size_t i = from / each; i * each < to; i++) {
        if (!p->flag[i])
            return false;
    }
    return true;
}

static bool room_for_flags(struct nof_part *p)
{
    p->flag = calloc(p->setup.messages + 1, sizeof(*p->flag));
    return p->flag != NULL;
}

static void give_setup(struct nof_part *p, const struct setup *setup)
{
    p->setup = *setup;
    p->matched = true;
    if (p->req == NULL) {
        part_free(p);
    } else if (!room_for_flags(p)) {
        p->error = no_memory();
        if (p->req->active)
            nof_request_fail(p->req, p->error);
    } else if (p->req->active) {
        receive_all(p);
    }
}

static bool same(const struct nof_part *p, const struct nof_comm *comm, int peer)
{
    return p->comm->ctx == comm->ctx && p->peer == peer;
}

/* The oldest that waits for this peer, and for this tag; taken out of the list. */
static struct nof_part *take_waiting(const struct nof_comm *comm, int peer, const struct setup *setup)
{
    for (struct nof_part **at = &waiting; *at != NULL; at = &(*at)->next) {
        struct nof_part *p = *at;
        if (same(p, comm, peer) && (setup == NULL || p->tag == setup->tag)) {
            *at = p->next;
            return p;
        }
    }
    return NULL;
}

static int listen(struct nof_comm *comm, int peer);

static bool keep_unexpected(struct nof_comm *comm, int peer, const struct setup *setup)
{
    struct unexpected *u = malloc(sizeof(*u)), **at = &unexpected;
    if (u == NULL)
        return false;
    *u = (struct unexpected){.setup = *setup, .comm = comm, .peer = peer};
    nof_comm_hold(comm);
    while (*at != NULL)
        at = &(*at)->next;
    *at = u;
    return true;
}

static void fail_waiting(const struct nof_comm *comm, int peer, int error)
{
    struct nof_part *p;
    while ((p = take_waiting(comm, peer, NULL)) != NULL) {
        p->error = error;
        if (p->req == NULL)
            part_free(p);
        else if (p->req->active)
            nof_request_fail(p->req, error);
    }
}

static bool anyone_waits(const struct nof_comm *comm, int peer)
{
    for (const struct nof_part *p = waiting; p != NULL; p = p->next) {
        if (same(p, comm, peer))
            return true;
    }
    return false;
}

static void setup_came(struct nof_request *child)
{
    struct nof_comm *comm = child->comm;
    struct setup *setup = child->buf;
    int peer = child->peer, error = child->error;
    nof_comm_hold(comm);
    nof_request_free(child);
    if (error == MPI_SUCCESS) {
        struct nof_part *p = take_waiting(comm, peer, setup);
        if (p != NULL)
            give_setup(p, setup);
        else if (!keep_unexpected(comm, peer, setup))
            error = no_memory();
    }
    free(setup);
    if (error == MPI_SUCCESS && anyone_waits(comm, peer))
        error = listen(comm, peer);
    if (error != MPI_SUCCESS)
        fail_waiting(comm, peer, error);
    nof_comm_release(comm);
}

/* Wait for the peer's next setup. */
static int listen(struct nof_comm *comm, int peer)
{
    struct setup *setup = calloc(1, sizeof(*setup));
    struct nof_request *child =
        setup == NULL ? NULL : message(NOF_REQUEST_RECV, comm, peer, SETUP_TAG, setup_came);
    if (child == NULL) {
        free(setup);
        return no_memory();
    }
    child->buf = setup;
    child->count = sizeof(*setup);
    int rc = start_message(child);
    if (rc != MPI_SUCCESS)
        free(setup);
    return rc;
}

static int await_setup(struct nof_part *p)
{
    for (struct unexpected **at = &unexpected; *at != NULL; at = &(*at)->next) {
        struct unexpected *u = *at;
        if (!same(p, u->comm, u->peer) || u->setup.tag != p->tag)
            continue;
        *at = u->next;
        give_setup(p, &u->setup);
        nof_comm_release(u->comm);
        free(u);
        return MPI_SUCCESS;
    }
    bool listening = anyone_waits(p->comm, p->peer);
    struct nof_part **end = &waiting;
    while (*end != NULL)
        end = &(*end)->next;
    p->next = NULL;
    *end = p;
    int rc = listening ? MPI_SUCCESS : listen(p->comm, p->peer);
    if (rc != MPI_SUCCESS && !p->matched && p->error == MPI_SUCCESS)
        *end = NULL;
    return rc;
}

static void setup_sent(struct nof_request *child)
{
    free(child->buf);
    nof_request_free(child); /* a peer that is dead fails the partitions too */
}

static int send_setup(struct nof_part *p)
{
    if (next_tag > INT_MAX - p->partitions)
        next_tag = FIRST_TAG;
    p->setup = (struct setup){.message_bytes = p->partition_bytes,
                              .messages = (uint32_t)p->partitions,
                              .tag = p->tag,
                              .first = next_tag};
    next_tag += p->partitions;
    struct setup *copy = malloc(sizeof(*copy));
    struct nof_request *child =
        copy == NULL ? NULL : message(NOF_REQUEST_SEND, p->comm, p->peer, SETUP_TAG, setup_sent);
    if (child == NULL || !room_for_flags(p)) {
        if (child != NULL)
            nof_request_free(child);
        free(copy);
        return no_memory();
    }
    *copy = p->setup;
    p->matched = true;
    child->buf = copy;
    child->count = sizeof(*copy);
    int rc = start_message(child);
    if (rc != MPI_SUCCESS)
        free(copy);
    return rc;
}

static int part_release(struct nof_request *req)
{
    part_free(req->part);
    return MPI_SUCCESS;
}

static int part_status(const struct nof_request *req, MPI_Status *status)
{
    bool receive = req->kind == NOF_REQUEST_PRECV;
    if (status != MPI_STATUS_IGNORE)
        nof_status_set(status, receive ? req->status_source : MPI_ANY_SOURCE,
                       receive ? req->status_tag : MPI_ANY_TAG, receive ? req->status_bytes : 0,
                       req->cancelled);
    return MPI_SUCCESS;
}

static const struct nof_request_ops ops = {
    .start = part_start, .status = part_status, .release = part_release};

static int make(const struct nof_part_args *args, bool send, struct nof_request *req)
{
    struct nof_part *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return no_memory();
    req->bytes = req->type->size * req->count;
    req->persistent = true;
    req->active = false;
    *p = (struct nof_part){.req = req,
                           .comm = req->comm,
                           .peer = req->peer,
                           .tag = req->tag,
                           .partitions = args->partitions,
                           .partition_bytes = req->type->size * (size_t)args->count};
    nof_comm_hold(p->comm);
    int rc = MPI_SUCCESS;
    if (p->peer != MPI_PROC_NULL)
        rc = send ? send_setup(p) : await_setup(p);
    if (rc != MPI_SUCCESS) {
        p->req = NULL;
        part_free(p);
        return rc;
    }
    req->kind = send ? NOF_REQUEST_PSEND : NOF_REQUEST_PRECV;
    req->part = p;
    req->ops = &ops;
    return MPI_SUCCESS;
}

int nof_part_new(const struct nof_part_args *args, bool send, struct nof_comm **comm_out,
                 struct nof_request **req_out)
{
    MPI_Count all;
    if (args->partitions < 0)
        return nof_error(MPI_ERR_ARG, "the number of partitions is %d", args->partitions);
    if (__builtin_mul_overflow(args->count, (MPI_Count)args->partitions, &all))
        return nof_error(MPI_ERR_COUNT, "%lld elements in each of %d partitions", (long long)args->count,
                         args->partitions);
    struct nof_pt2pt_args whole = {args->buf, all,        args->datatype, args->peer,
                                   args->tag, args->comm, args->callsite};
    struct nof_request *req = NULL;
    int rc = nof_pt2pt_send_new(&whole, NOF_SEND_STANDARD, comm_out, &req);
    if (rc == MPI_SUCCESS)
        rc = make(args, send, req);
    if (rc == MPI_SUCCESS)
        *req_out = req;
    else if (req != NULL)
        nof_request_free(req);
    return rc;
}

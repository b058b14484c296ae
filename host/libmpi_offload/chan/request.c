/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/wait_board.h"
#include "comm/comm.h"
#include "base/error.h"
#include "base/wait.h"

static struct nof_request *spare;

struct nof_request *nof_request_new(enum nof_request_kind kind)
{
    enum { BATCH = 64 };
    if (spare == NULL) {
        struct nof_request *batch = calloc(BATCH, sizeof(*batch));
        if (batch == NULL)
            return NULL;
        for (int i = 0; i < BATCH; i++) {
            batch[i].next = spare;
            spare = &batch[i];
        }
    }
    struct nof_request *req = spare;
    spare = req->next;
    *req = (struct nof_request){.kind = kind, .handle = MPI_REQUEST_NULL, .active = true};
    return req;
}

struct nof_request *nof_request_on(enum nof_request_kind kind, struct nof_comm *comm, struct nof_type *type)
{
    struct nof_request *req = nof_request_new(kind);
    if (req == NULL)
        return NULL;
    req->comm = comm;
    nof_comm_hold(comm);
    req->type = type;
    if (type != NULL)
        nof_type_hold(type);
    req->ctx = comm->ctx;
    return req;
}

struct nof_request *nof_request_internal(enum nof_request_kind kind, struct nof_comm *comm, const void *buf,
                                         size_t count, struct nof_type *type, int peer, int tag)
{
    struct nof_request *req = nof_request_on(kind, comm, type);
    if (req == NULL)
        return NULL;
    req->ctx = nof_comm_coll_ctx(comm);
    req->buf = nof_lib_unconst(buf);
    req->count = count;
    req->peer = peer;
    req->tag = tag;
    return req;
}

/* What its kind hangs on it is given back, once. */
static int release(struct nof_request *req)
{
    const struct nof_request_ops *ops = req->ops;
    req->ops = NULL;
    return ops == NULL ? MPI_SUCCESS : ops->release(req);
}

void nof_request_free(struct nof_request *req)
{
    if (req->ops != NULL)
        (void)release(req);
    if (req->handle != MPI_REQUEST_NULL)
        nof_handle_remove(&nof_lib.requests, nof_lib_bits(req->handle));
    if (req->comm != NULL)
        nof_comm_release(req->comm);
    if (req->type != NULL)
        nof_type_release(req->type);
    free(req->packed);
    req->next = spare;
    spare = req;
}

int nof_request_publish(struct nof_request *req, MPI_Request *handle_out)
{
    int rc = nof_error_if_null(handle_out, "the place for the request");
    if (rc != MPI_SUCCESS)
        return rc;
    uint64_t handle = nof_handle_add(&nof_lib.requests, req);
    if (handle == 0)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a request handle");
    req->handle = nof_lib_handle(handle);
    *handle_out = req->handle;
    return MPI_SUCCESS;
}

int nof_request_check(MPI_Request handle, struct nof_request **req_out)
{
    *req_out = NULL;
    if (handle == MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    *req_out = nof_handle_get(&nof_lib.requests, nof_lib_bits(handle));
    if (*req_out == NULL)
        return nof_error(MPI_ERR_REQUEST, "the handle names no request (completed or freed?)");
    return MPI_SUCCESS;
}

int nof_request_check_at(const MPI_Request *place, struct nof_request **req_out)
{
    *req_out = NULL;
    int rc = nof_error_if_null(place, "the place of the request");
    return rc == MPI_SUCCESS ? nof_request_check(*place, req_out) : rc;
}

void nof_request_end(struct nof_request *req)
{
    if (req->packed != NULL) {
        free(req->packed);
        req->packed = NULL;
    }
    if (req->waits_for != NULL) {
        req->ended = true;
        return;
    }
    req->complete = true;
    nof_wait_signal();
    if (req->on_done != NULL)
        req->on_done(req);
    else if (req->orphan)
        nof_request_free(req);
}

/* Of elements that lie apart there is no half. (In contiguous memory MPI_Get_elements tells.) */
static int check_elements(const struct nof_request *req)
{
    const struct nof_type *unit = nof_type_of_basic(req->type->uniform);
    if (unit == NULL || unit->size == 0 || req->status_bytes % unit->size == 0)
        return MPI_SUCCESS;
    return nof_error(MPI_ERR_TYPE,
                     "%zu bytes from rank %d (tag %d) are no whole number of elements of %zu bytes: "
                     "the sender's datatype is another",
                     req->status_bytes, req->status_source, req->status_tag, unit->size);
}

void nof_request_done(struct nof_request *req, int source, int tag, size_t len)
{
    if (req->kind == NOF_REQUEST_RECV || req->kind == NOF_REQUEST_PROBE) {
        req->status_source =
            req->peer == MPI_ANY_SOURCE ? nof_group_rank_of(nof_comm_peers(req->comm), source) : req->peer;
        req->status_tag = tag;
        req->status_bytes = len;
    }
    if (req->kind == NOF_REQUEST_RECV) {
        if (len > req->bytes) {
            req->error =
                nof_error(MPI_ERR_TRUNCATE, "%zu bytes from rank %d (tag %d) for a buffer of %zu bytes", len,
                          req->status_source, tag, req->bytes);
            req->status_bytes = req->bytes;
        }
        if (req->packed != NULL)
            nof_type_unpack(req->type, req->buf, req->count, 0, req->status_bytes, req->packed);
        if ((req->packed != NULL || req->streamed) && req->error == MPI_SUCCESS)
            req->error = check_elements(req);
    }
    nof_request_end(req);
}

void nof_request_store(const struct nof_request *req, const void *payload, size_t len)
{
    if (req->streamed)
        nof_type_unpack(req->type, req->buf, req->count, 0, len, payload);
    else if (len > 0)
        memcpy(req->data, payload, len);
}

void nof_request_fail(struct nof_request *req, int error)
{
    req->error = error;
    req->status_source = req->peer;
    req->status_tag = req->tag;
    req->status_bytes = 0;
    nof_request_end(req);
}

void nof_request_reset(struct nof_request *req)
{
    req->active = true;
    req->complete = false;
    req->cancelled = false;
    req->awaited = false;
    req->error = MPI_SUCCESS;
    req->status_source = MPI_ANY_SOURCE;
    req->status_tag = MPI_ANY_TAG;
    req->status_bytes = 0;
}

const struct nof_sched *nof_request_describe(const void *what)
{
    static const uint32_t kinds[] = {
        [NOF_REQUEST_SEND] = NOF_BOARD_SEND,     [NOF_REQUEST_RECV] = NOF_BOARD_RECV,
        [NOF_REQUEST_PROBE] = NOF_BOARD_PROBE,   [NOF_REQUEST_COLL] = NOF_BOARD_NOTHING,
        [NOF_REQUEST_LOCAL] = NOF_BOARD_NOTHING, [NOF_REQUEST_PSEND] = NOF_BOARD_SEND,
        [NOF_REQUEST_PRECV] = NOF_BOARD_RECV,    [NOF_REQUEST_GENERAL] = NOF_BOARD_NOTHING};
    const struct nof_request *req = what;
    if (req->comm != NULL)
        nof_board_name_comm(req->comm->name);
    if (req->sched != NULL)
        nof_board->kind = NOF_BOARD_COLL;
    if (req->ops != NULL && req->ops->missing != NULL)
        req->ops->missing(req, nof_board->missing, sizeof(nof_board->missing));
    if (kinds[req->kind] == NOF_BOARD_NOTHING)
        return req->sched;
    /* The receive of a send and receive in one is complete when both are. */
    const struct nof_request *of = req->ended && req->waits_for != NULL ? req->waits_for : req;
    nof_board->kind = kinds[of->kind];
    nof_board->tag = of->tag == MPI_ANY_TAG ? NOF_BOARD_ANY : of->tag;
    nof_board->bytes = of->kind < NOF_REQUEST_COLL ? of->bytes : of->type->size * of->count;
    nof_board_add_peer(of->peer == MPI_ANY_SOURCE ? NOF_BOARD_ANY : nof_comm_peer_world(of->comm, of->peer));
    return NULL;
}

void nof_request_await(struct nof_request *req)
{
    req->awaited = true;
    if (req->unawaited != NULL)
        __atomic_store_n(req->unawaited, *req->unawaited - 1, __ATOMIC_RELAXED);
    req->unawaited = NULL;
    if (req->waits_for != NULL)
        nof_request_await(req->waits_for);
}

static bool is_own(const struct nof_request *req)
{
    return (req->kind == NOF_REQUEST_PROBE && !req->probe_wait) ||
           (req->comm != NULL && req->comm->remote == NULL && nof_comm_size(req->comm) == 1);
}

int nof_request_wait(struct nof_request *req)
{
    nof_request_await(req);
    struct nof_wait wait = NOF_WAIT_START;
    wait.describe = nof_request_describe;
    wait.what = req;
    wait.own = nof_wait_in_operation && is_own(req);
    while (!req->complete)
        nof_wait_step(&wait);
    return req->error;
}

int nof_request_status(const struct nof_request *req, MPI_Status *status)
{
    if (req->ops != NULL && req->ops->status != NULL)
        return req->ops->status(req, status);
    if (status == MPI_STATUS_IGNORE)
        return MPI_SUCCESS;
    if (req->kind == NOF_REQUEST_RECV || req->kind == NOF_REQUEST_PROBE)
        nof_status_set(status, req->status_source, req->status_tag, req->status_bytes, req->cancelled);
    else
        nof_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, req->cancelled);
    return MPI_SUCCESS;
}

int nof_request_retire(struct nof_request *req, MPI_Request *handle, MPI_Status *status,
                       struct nof_comm **comm_out)
{
    int status_error = nof_request_status(req, status);
    int error = req->error != MPI_SUCCESS ? req->error : status_error;
    if (req->ops != NULL && !req->persistent) {
        int release_error = release(req);
        error = error == MPI_SUCCESS ? release_error : error;
    }
    if (error != MPI_SUCCESS && req->comm != NULL && comm_out != NULL && *comm_out == NULL) {
        *comm_out = req->comm;
        nof_comm_hold(req->comm);
    }
    if (req->persistent) {
        req->active = false;
        req->complete = false;
        req->error = MPI_SUCCESS;
    } else {
        nof_request_free(req);
        *handle = MPI_REQUEST_NULL;
    }
    return error;
}

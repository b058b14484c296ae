/* SPDX-License-Identifier: BSD-3-Clause */
#include "p2p/delta_p2p.h"

#include <stdio.h>
#include <stdlib.h>

#include "chan/chan.h"
#include "comm/comm.h"
#include "delta/delta_count.h"
#include "delta/delta_scan.h"
#include "delta/delta_watch.h"
#include "p2p/delta_settle.h"

static int left_error = MPI_SUCCESS; /* of a send that no call can tell of any more */

/* A receiver that has left the job is no news at its end; that one's own NIC is gone is of the same class. */
static void tell_left(const struct nof_request *req)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    if (nof_error_class(req->error) == MPIX_ERR_PROC_FAILED &&
        nof_chan_dead_member(nof_comm_world()) != nof_lib.world_rank)
        return;
    (void)nof_error_text(req->error, text);
    fprintf(stderr,
            "libmpi_offload: rank %d on %s: a delta send of %zu bytes to rank %d, tag %d, which was begun "
            "and never waited for, has "
            "failed: %s\n",
            nof_lib.world_rank, nof_lib.host, req->bytes, req->peer, req->tag, text);
    if (left_error == MPI_SUCCESS)
        left_error = req->error;
}

static int release(struct nof_request *req)
{
    const struct nof_delta_out *out = nof_delta_out_with(req);
    if (out != NULL && out->watched)
        (void)nof_delta_watch_send_end(out);
    if (req->orphan && req->error != MPI_SUCCESS)
        tell_left(req);
    return nof_delta_give_out(req);
}

static void missing(const struct nof_request *req, char *text, size_t bytes)
{
    if (!nof_delta_has_ended(req))
        snprintf(text, bytes, "which this rank has not ended (MPIX_Delta_send_end)");
}

static const struct nof_request_ops ops = {.release = release, .missing = missing};

/* Where the NIC will read, and who says what of it is ready: the program by addresses, or, of bytes that lie apart and are
 * packed at the end, the end. */
static int aim(struct nof_request *req)
{
    req->bytes = req->type->size * req->count;
    bool by_address = req->type->contiguous;
    if (by_address) {
        req->data = nof_lib_at(req->buf, req->type->tree->lb);
    } else {
        req->packed = malloc(req->bytes);
        req->data = req->packed;
        if (req->packed == NULL)
            return nof_error(MPI_ERR_NO_MEM, "no memory to pack %zu bytes", req->bytes);
    }
    const struct nof_delta_board *board = nof_chan_for(req)->delta;
    if (board == NULL || board->host() == NULL)
        return nof_error(
            MPI_ERR_UNSUPPORTED_OPERATION,
            "this process has no NIC that sends a message in increments; send it with MPI_Isend when it is "
            "whole");
    return nof_delta_take_out(req, 0, by_address, false)
               ? MPI_SUCCESS
               : nof_error(MPI_ERR_NO_MEM, "no memory for one more delta send");
}

static int start(struct nof_request *req)
{
    req->ops = &ops;
    req->delta_send = true;
    bool empty = req->type->size * req->count == 0;
    if (req->peer == MPI_PROC_NULL || empty)
        return nof_pt2pt_start(req);
    nof_delta_settle_buffer(req->buf, req->count, req->type);
    int rc = aim(req);
    if (rc == MPI_SUCCESS) {
        struct nof_delta_out *out = nof_delta_out_with(req);
        nof_delta_out_publish(out, req->handle);
        nof_chan_for(req)->send(req);
        if (!req->complete && req->packed == NULL && out->slot < NOF_DELTA_SLOTS && nof_delta_by_pages(req) &&
            nof_delta_watch_send(out, (enum nof_delta_way)req->comm->delta_way) && nof_delta_watch_look())
            nof_delta_scan_begin();
    }
    return rc;
}

int nof_delta_begin(const struct nof_pt2pt_args *args, MPI_Request *handle_out, struct nof_comm **comm_out)
{
    struct nof_request *req = NULL;
    int rc = nof_pt2pt_send_new(args, NOF_SEND_STANDARD, comm_out, &req);
    if (rc == MPI_SUCCESS)
        rc = nof_request_publish(req, handle_out);
    if (rc == MPI_SUCCESS)
        rc = start(req);
    if (rc != MPI_SUCCESS && req != NULL) {
        nof_request_free(req);
        if (handle_out != NULL)
            *handle_out = MPI_REQUEST_NULL;
    }
    return rc;
}

int nof_delta_check(MPI_Request handle, struct nof_request **req_out)
{
    int rc = nof_request_check(handle, req_out);
    if (rc == MPI_SUCCESS && (*req_out == NULL || !(*req_out)->delta_send))
        rc = nof_error(MPI_ERR_REQUEST, *req_out == NULL ? "the request is MPI_REQUEST_NULL"
                                                         : "the request is not of MPIX_Delta_send_begin");
    return rc;
}

bool nof_delta_has_ended(const struct nof_request *req)
{
    const struct nof_delta_out *out = nof_delta_out_with(req);
    return out == NULL ? req->delta_ended : __atomic_load_n(&out->ended, __ATOMIC_RELAXED);
}

static int end_at(struct nof_request *req, struct nof_delta_out *out, size_t bytes)
{
    uint64_t ready = __atomic_load_n(&out->highest, __ATOMIC_RELAXED);
    if (bytes < ready)
        return nof_error(MPI_ERR_ARG, "the message is to end after %zu bytes, but %llu were said to be ready",
                         bytes, (unsigned long long)ready);
    const void *twice = out->watched ? nof_delta_watch_send_end(out) : NULL;
    if (twice != NULL)
        req->delta_error = nof_error(MPI_ERR_ARG,
                                     "%p was written after that part of the delta send had gone: each part "
                                     "is written at once, and once, where pages say what is ready",
                                     twice);
    if (req->packed != NULL && !req->complete) {
        nof_delta_count(NOF_DELTA_COUNT_COPIED_BYTES, bytes);
        nof_type_pack(req->type, req->buf, req->count, 0, bytes, req->packed);
    }
    nof_delta_end_out(out, bytes);
    return MPI_SUCCESS;
}

int nof_delta_end(struct nof_request *req, MPI_Count count)
{
    struct nof_delta_out *out = nof_delta_out_with(req);
    size_t all = req->type->size * req->count, bytes;
    if (nof_delta_has_ended(req))
        return nof_error(MPI_ERR_REQUEST, "the delta send has been ended before");
    if (count > 0 && (size_t)count > req->count)
        return nof_error(MPI_ERR_COUNT, "the message has %lld elements at its end, and was begun with %zu",
                         (long long)count, req->count);
    bytes = count < 0 ? all : req->type->size * (size_t)count;
    int rc = out == NULL ? MPI_SUCCESS : end_at(req, out, bytes);
    if (rc != MPI_SUCCESS)
        return rc;
    req->delta_ended = true;
    return req->delta_error;
}

int nof_delta_refusal(enum nof_delta_out_result result, const struct nof_request *req, const void *address,
                      MPI_Count bytes)
{
    switch (result) {
    case NOF_DELTA_OUT_OK:
        break;
    case NOF_DELTA_OUT_RANGE:
        return nof_error(MPI_ERR_ARG, "%lld bytes at %p do not lie inside the message of %zu bytes at %p",
                         (long long)bytes, address, req->bytes, req->data);
    case NOF_DELTA_OUT_OVERLAP:
        return nof_error(MPI_ERR_ARG, "of %lld bytes at %p some were said to be ready before",
                         (long long)bytes, address);
    case NOF_DELTA_OUT_ENDED:
        return nof_error(MPI_ERR_ARG, "%lld bytes at %p are said to be ready after the end of the message",
                         (long long)bytes, address);
    }
    return MPI_SUCCESS;
}

static void look_at_left(void *object, void *context)
{
    const struct nof_request *req = object;
    (void)context;
    if (req->delta_send && req->complete && req->error != MPI_SUCCESS)
        tell_left(req);
}

int nof_delta_send_close(void)
{
    nof_handle_each(&nof_lib.requests, look_at_left, NULL);
    return left_error;
}

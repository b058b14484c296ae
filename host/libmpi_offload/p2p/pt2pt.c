/* SPDX-License-Identifier: BSD-3-Clause */
#include "p2p/pt2pt.h"

#include <stdlib.h>

#include "p2p/bsend.h"
#include "p2p/delta_settle.h"
#include "chan/chan.h"

__thread uint64_t nof_pt2pt_next_site;

static int check_peer(const struct nof_comm *comm, int peer, bool receive)
{
    if (peer == MPI_PROC_NULL || (receive && peer == MPI_ANY_SOURCE))
        return MPI_SUCCESS;
    int size = nof_comm_peers(comm)->size;
    if (peer < 0 || peer >= size)
        return nof_error(MPI_ERR_RANK, "%s rank %d in a %s of %d", receive ? "source" : "destination", peer,
                         comm->remote == NULL ? "communicator" : "remote group", size);
    return MPI_SUCCESS;
}

static int check_tag(int tag, bool receive)
{
    if (tag >= 0 || (receive && tag == MPI_ANY_TAG))
        return MPI_SUCCESS;
    return nof_error(MPI_ERR_TAG, "the tag is %d: must be 0 to %d%s", tag, INT32_MAX,
                     receive ? " or MPI_ANY_TAG" : "");
}

static int new_request(enum nof_request_kind kind, struct nof_comm *comm, const struct nof_pt2pt_args *args,
                       struct nof_request **req_out)
{
    bool receive = kind == NOF_REQUEST_RECV;
    struct nof_type *type = NULL;
    /* Of nothing there need be no type: programs rely on it. */
    bool no_type = args->count == 0 && args->datatype == MPI_DATATYPE_NULL;
    int rc = nof_type_check_data(no_type ? MPI_BYTE : args->datatype, args->buf, args->count, &type);
    if (rc == MPI_SUCCESS)
        rc = check_peer(comm, args->peer, receive);
    if (rc == MPI_SUCCESS)
        rc = check_tag(args->tag, receive);
    if (rc != MPI_SUCCESS)
        return rc;
    struct nof_request *req = nof_request_on(kind, comm, type);
    if (req == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a request");
    req->buf = nof_lib_unconst(args->buf);
    req->count = (size_t)args->count;
    req->peer = args->peer;
    req->tag = args->tag;
    req->callsite = args->callsite;
    if (receive && nof_pt2pt_next_site != 0) {
        req->callsite = nof_pt2pt_next_site;
        nof_pt2pt_next_site = 0;
    }
    *req_out = req;
    return MPI_SUCCESS;
}

int nof_pt2pt_send_new(const struct nof_pt2pt_args *args, enum nof_send_mode mode, struct nof_comm **comm_out,
                       struct nof_request **req_out)
{
    int rc = nof_comm_check(args->comm, comm_out);
    if (rc == MPI_SUCCESS)
        rc = new_request(NOF_REQUEST_SEND, *comm_out, args, req_out);
    if (rc == MPI_SUCCESS)
        (*req_out)->mode = mode;
    return rc;
}

int nof_pt2pt_recv_new(const struct nof_pt2pt_args *args, struct nof_comm **comm_out,
                       struct nof_request **req_out)
{
    int rc = nof_comm_check(args->comm, comm_out);
    return rc == MPI_SUCCESS ? new_request(NOF_REQUEST_RECV, *comm_out, args, req_out) : rc;
}

int nof_pt2pt_recv_on(struct nof_comm *comm, const struct nof_pt2pt_args *args, struct nof_request **req_out)
{
    return new_request(NOF_REQUEST_RECV, comm, args, req_out);
}

int nof_pt2pt_probe_new(int source, int tag, MPI_Comm comm, struct nof_comm **comm_out,
                        struct nof_request **req_out)
{
    int rc = nof_comm_check(comm, comm_out);
    if (rc == MPI_SUCCESS)
        rc = check_peer(*comm_out, source, true);
    if (rc == MPI_SUCCESS)
        rc = check_tag(tag, true);
    if (rc != MPI_SUCCESS)
        return rc;
    struct nof_request *req = nof_request_on(NOF_REQUEST_PROBE, *comm_out, NULL);
    if (req == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a request");
    req->peer = source;
    req->tag = tag;
    *req_out = req;
    return MPI_SUCCESS;
}

bool nof_pt2pt_place(const struct nof_chan *channel, const struct nof_type *type, const void *buf,
                     size_t count, struct nof_pt2pt_place *place_out)
{
    *place_out = (struct nof_pt2pt_place){.bytes = type->size * count};
    if (place_out->bytes == 0)
        return true;
    if (type->contiguous) {
        place_out->data = nof_lib_at(buf, type->tree->lb);
        return true;
    }
    if (!channel->streams(type, place_out->bytes))
        return false;
    place_out->data = nof_lib_unconst(buf);
    place_out->streamed = true;
    return true;
}

/* Where the channel finds or puts the bytes. */
static int prepare_data(struct nof_request *req)
{
    struct nof_pt2pt_place place;
    bool there = nof_pt2pt_place(nof_chan_for(req), req->type, req->buf, req->count, &place);
    bool buffered = req->kind == NOF_REQUEST_SEND && req->mode == NOF_SEND_BUFFERED;
    req->bytes = place.bytes;
    req->streamed = false;
    if (there && (!buffered || place.bytes == 0)) {
        req->data = place.data;
        req->streamed = place.streamed;
    } else {
        req->packed = malloc(req->bytes);
        if (req->packed == NULL)
            return nof_error(MPI_ERR_NO_MEM, "no memory to pack %zu bytes", req->bytes);
        req->data = req->packed;
        if (req->kind == NOF_REQUEST_SEND)
            nof_type_pack(req->type, req->buf, req->count, 0, req->bytes, req->packed);
    }
    return MPI_SUCCESS;
}

int nof_pt2pt_start(struct nof_request *req)
{
    if (req->peer == MPI_PROC_NULL) {
        req->status_source = MPI_PROC_NULL;
        req->status_tag = MPI_ANY_TAG;
        req->complete = true;
        return MPI_SUCCESS;
    }
    int rc = MPI_SUCCESS;
    nof_delta_settle_buffer(req->buf, req->count, req->type);
    if (req->mode == NOF_SEND_BUFFERED)
        rc = nof_bsend_reserve(req);
    if (rc == MPI_SUCCESS)
        rc = prepare_data(req);
    if (rc != MPI_SUCCESS) {
        if (req->bsend_bytes != 0)
            nof_bsend_release(req);
        return rc;
    }
    const struct nof_chan *channel = nof_chan_for(req);
    if (req->kind == NOF_REQUEST_SEND)
        channel->send(req);
    else
        channel->recv(req);
    return MPI_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/entry.h"
#include "p2p/pt2pt.h"
#include "p2p/short.h"

#define ARGS \
    { \
        buf, count, datatype, dest, tag, comm, NOF_CALLSITE \
    }

static int send_blocking(const struct nof_pt2pt_args *args, enum nof_send_mode mode, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c = NULL;
    struct nof_request *req = NULL;
    int rc = nof_pt2pt_send_new(args, mode, &c, &req);
    if (rc == MPI_SUCCESS) {
        req->awaited = mode != NOF_SEND_BUFFERED;
        rc = nof_pt2pt_start(req);
    }
    if (rc != MPI_SUCCESS || mode == NOF_SEND_BUFFERED) {
        /* A buffered send is over when its data is in the buffer; the rest is the library's. */
        if (req != NULL && rc == MPI_SUCCESS && !req->complete)
            req->orphan = true;
        else if (req != NULL)
            nof_request_free(req);
        return nof_lib_leave(c, rc, func);
    }
    rc = nof_request_wait(req);
    nof_request_free(req);
    return nof_lib_leave(c, rc, func);
}

static int send_nonblocking(const struct nof_pt2pt_args *args, enum nof_send_mode mode, MPI_Request *request,
                            const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c = NULL;
    struct nof_request *req = NULL;
    int rc = nof_pt2pt_send_new(args, mode, &c, &req);
    if (rc == MPI_SUCCESS)
        rc = nof_request_publish(req, request);
    if (rc == MPI_SUCCESS)
        rc = nof_pt2pt_start(req);
    if (rc != MPI_SUCCESS && req != NULL) {
        nof_request_free(req);
        if (request != NULL)
            *request = MPI_REQUEST_NULL;
    }
    return nof_lib_leave(c, rc, func);
}

static int send_init(const struct nof_pt2pt_args *args, enum nof_send_mode mode, MPI_Request *request,
                     const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c = NULL;
    struct nof_request *req = NULL;
    int rc = nof_pt2pt_send_new(args, mode, &c, &req);
    if (rc == MPI_SUCCESS) {
        req->persistent = true;
        req->active = false;
        rc = nof_request_publish(req, request);
        if (rc != MPI_SUCCESS)
            nof_request_free(req);
    }
    return nof_lib_leave(c, rc, func);
}

NOF_MPI(Send)
int PMPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    struct nof_pt2pt_args args = {buf, count, datatype, dest, tag, comm, 0};
    if (nof_short_send(&args))
        return MPI_SUCCESS;
    args.callsite = NOF_CALLSITE;
    return send_blocking(&args, NOF_SEND_STANDARD, __func__);
}

NOF_MPI(Send_c)
int PMPI_Send_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    struct nof_pt2pt_args args = {buf, count, datatype, dest, tag, comm, 0};
    if (nof_short_send(&args))
        return MPI_SUCCESS;
    args.callsite = NOF_CALLSITE;
    return send_blocking(&args, NOF_SEND_STANDARD, __func__);
}

NOF_MPI(Ssend)
int PMPI_Ssend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    struct nof_pt2pt_args args = ARGS;
    return send_blocking(&args, NOF_SEND_SYNC, __func__);
}

NOF_MPI(Ssend_c)
int PMPI_Ssend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    struct nof_pt2pt_args args = ARGS;
    return send_blocking(&args, NOF_SEND_SYNC, __func__);
}

NOF_MPI(Rsend)
int PMPI_Rsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    struct nof_pt2pt_args args = {buf, count, datatype, dest, tag, comm, 0};
    if (nof_short_send(&args))
        return MPI_SUCCESS;
    args.callsite = NOF_CALLSITE;
    return send_blocking(&args, NOF_SEND_READY, __func__);
}

NOF_MPI(Rsend_c)
int PMPI_Rsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    struct nof_pt2pt_args args = {buf, count, datatype, dest, tag, comm, 0};
    if (nof_short_send(&args))
        return MPI_SUCCESS;
    args.callsite = NOF_CALLSITE;
    return send_blocking(&args, NOF_SEND_READY, __func__);
}

NOF_MPI(Bsend)
int PMPI_Bsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    struct nof_pt2pt_args args = ARGS;
    return send_blocking(&args, NOF_SEND_BUFFERED, __func__);
}

NOF_MPI(Bsend_c)
int PMPI_Bsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    struct nof_pt2pt_args args = ARGS;
    return send_blocking(&args, NOF_SEND_BUFFERED, __func__);
}

NOF_MPI(Isend)
int PMPI_Isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_nonblocking(&args, NOF_SEND_STANDARD, request, __func__);
}

NOF_MPI(Isend_c)
int PMPI_Isend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                 MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_nonblocking(&args, NOF_SEND_STANDARD, request, __func__);
}

NOF_MPI(Issend)
int PMPI_Issend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_nonblocking(&args, NOF_SEND_SYNC, request, __func__);
}

NOF_MPI(Issend_c)
int PMPI_Issend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_nonblocking(&args, NOF_SEND_SYNC, request, __func__);
}

NOF_MPI(Irsend)
int PMPI_Irsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_nonblocking(&args, NOF_SEND_READY, request, __func__);
}

NOF_MPI(Irsend_c)
int PMPI_Irsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_nonblocking(&args, NOF_SEND_READY, request, __func__);
}

NOF_MPI(Ibsend)
int PMPI_Ibsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_nonblocking(&args, NOF_SEND_BUFFERED, request, __func__);
}

NOF_MPI(Ibsend_c)
int PMPI_Ibsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_nonblocking(&args, NOF_SEND_BUFFERED, request, __func__);
}

NOF_MPI(Send_init)
int PMPI_Send_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_init(&args, NOF_SEND_STANDARD, request, __func__);
}

NOF_MPI(Send_init_c)
int PMPI_Send_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                     MPI_Comm comm, MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_init(&args, NOF_SEND_STANDARD, request, __func__);
}

NOF_MPI(Ssend_init)
int PMPI_Ssend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_init(&args, NOF_SEND_SYNC, request, __func__);
}

NOF_MPI(Ssend_init_c)
int PMPI_Ssend_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_init(&args, NOF_SEND_SYNC, request, __func__);
}

NOF_MPI(Rsend_init)
int PMPI_Rsend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_init(&args, NOF_SEND_READY, request, __func__);
}

NOF_MPI(Rsend_init_c)
int PMPI_Rsend_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_init(&args, NOF_SEND_READY, request, __func__);
}

NOF_MPI(Bsend_init)
int PMPI_Bsend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_init(&args, NOF_SEND_BUFFERED, request, __func__);
}

NOF_MPI(Bsend_init_c)
int PMPI_Bsend_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    struct nof_pt2pt_args args = ARGS;
    return send_init(&args, NOF_SEND_BUFFERED, request, __func__);
}

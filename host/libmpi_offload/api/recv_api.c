/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/entry.h"
#include "p2p/pt2pt.h"
#include "p2p/short.h"

static int recv_blocking(const struct nof_pt2pt_args *args, MPI_Status *status, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c = NULL;
    struct nof_request *req = NULL;
    int rc = nof_pt2pt_recv_new(args, &c, &req);
    if (rc == MPI_SUCCESS) {
        req->awaited = true;
        rc = nof_pt2pt_start(req);
    }
    if (rc == MPI_SUCCESS) {
        rc = nof_request_wait(req);
        nof_request_status(req, status);
    }
    if (req != NULL)
        nof_request_free(req);
    return nof_lib_leave(c, rc, func);
}

NOF_MPI(Recv)
int PMPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Status *status)
{
    struct nof_pt2pt_args args = {buf, count, datatype, source, tag, comm, 0};
    if (nof_short_recv(&args, status))
        return MPI_SUCCESS;
    args.callsite = NOF_CALLSITE;
    return recv_blocking(&args, status, __func__);
}

NOF_MPI(Recv_c)
int PMPI_Recv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                MPI_Status *status)
{
    struct nof_pt2pt_args args = {buf, count, datatype, source, tag, comm, 0};
    if (nof_short_recv(&args, status))
        return MPI_SUCCESS;
    args.callsite = NOF_CALLSITE;
    return recv_blocking(&args, status, __func__);
}

static int recv_nonblocking(const struct nof_pt2pt_args *args, bool persistent, MPI_Request *request,
                            const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c = NULL;
    struct nof_request *req = NULL;
    int rc = nof_pt2pt_recv_new(args, &c, &req);
    if (rc == MPI_SUCCESS)
        rc = nof_request_publish(req, request);
    if (rc == MPI_SUCCESS && persistent) {
        req->persistent = true;
        req->active = false;
    } else if (rc == MPI_SUCCESS) {
        rc = nof_pt2pt_start(req);
    }
    if (rc != MPI_SUCCESS && req != NULL) {
        nof_request_free(req);
        if (request != NULL)
            *request = MPI_REQUEST_NULL;
    }
    return nof_lib_leave(c, rc, func);
}

NOF_MPI(Irecv)
int PMPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    struct nof_pt2pt_args args = {buf, count, datatype, source, tag, comm, NOF_CALLSITE};
    return recv_nonblocking(&args, false, request, __func__);
}

NOF_MPI(Irecv_c)
int PMPI_Irecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                 MPI_Request *request)
{
    struct nof_pt2pt_args args = {buf, count, datatype, source, tag, comm, NOF_CALLSITE};
    return recv_nonblocking(&args, false, request, __func__);
}

NOF_MPI(Recv_init)
int PMPI_Recv_init(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    struct nof_pt2pt_args args = {buf, count, datatype, source, tag, comm, NOF_CALLSITE};
    return recv_nonblocking(&args, true, request, __func__);
}

NOF_MPI(Recv_init_c)
int PMPI_Recv_init_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                     MPI_Request *request)
{
    struct nof_pt2pt_args args = {buf, count, datatype, source, tag, comm, NOF_CALLSITE};
    return recv_nonblocking(&args, true, request, __func__);
}

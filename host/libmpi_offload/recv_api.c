/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "channel.h"
#include "pt2pt.h"

NOF_MPI(Recv)
int PMPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Status *status)
{
    struct nof_pt2pt_args args = {buf, count, datatype, source, tag, comm, NOF_CALLSITE};
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct nof_request *req = NULL;
    int rc = nof_pt2pt_recv_new(&args, &c, &req);
    if (rc == MPI_SUCCESS)
        rc = nof_pt2pt_start(req);
    if (rc == MPI_SUCCESS) {
        rc = nof_request_wait(req);
        nof_request_status(req, status);
    }
    if (req != NULL)
        nof_request_free(req);
    return nof_lib_leave(c, rc, __func__);
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

NOF_MPI(Recv_init)
int PMPI_Recv_init(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    struct nof_pt2pt_args args = {buf, count, datatype, source, tag, comm, NOF_CALLSITE};
    return recv_nonblocking(&args, true, request, __func__);
}

/* Receive first, then send: both are under way before either is waited for. */
static int exchange(const struct nof_pt2pt_args *send_args, const struct nof_pt2pt_args *recv_args,
                    struct nof_comm **c, MPI_Status *status)
{
    struct nof_request *send = NULL, *recv = NULL;
    int rc = nof_pt2pt_send_new(send_args, NOF_SEND_STANDARD, c, &send);
    if (rc == MPI_SUCCESS)
        rc = nof_pt2pt_recv_new(recv_args, c, &recv);
    if (rc == MPI_SUCCESS)
        rc = nof_pt2pt_start(recv);
    if (rc != MPI_SUCCESS) {
        if (recv != NULL)
            nof_request_free(recv);
        if (send != NULL)
            nof_request_free(send);
        return rc;
    }
    rc = nof_pt2pt_start(send);
    int sent = rc == MPI_SUCCESS ? nof_request_wait(send) : rc;
    nof_request_free(send);
    if (sent != MPI_SUCCESS && !recv->complete)
        nof_channel->cancel(recv);
    rc = nof_request_wait(recv);
    nof_request_status(recv, status);
    nof_request_free(recv);
    return sent != MPI_SUCCESS ? sent : rc;
}

NOF_MPI(Sendrecv)
int PMPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                  void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                  MPI_Status *status)
{
    struct nof_pt2pt_args s = {sendbuf, sendcount, sendtype, dest, sendtag, comm, NOF_CALLSITE};
    struct nof_pt2pt_args r = {recvbuf, recvcount, recvtype, source, recvtag, comm, NOF_CALLSITE};
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    int rc = exchange(&s, &r, &c, status);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Sendrecv_replace)
int PMPI_Sendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
                          int recvtag, MPI_Comm comm, MPI_Status *status)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct nof_type *type = NULL;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check(datatype, true, &type);
    if (rc == MPI_SUCCESS && count < 0)
        rc = nof_error(MPI_ERR_COUNT, "the count is %d", count);
    size_t bytes = rc == MPI_SUCCESS ? type->size * (size_t)count : 0;
    void *copy = rc == MPI_SUCCESS ? malloc(bytes + 1) : NULL;
    if (rc == MPI_SUCCESS && copy == NULL)
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for a copy of %zu bytes", bytes);
    if (rc == MPI_SUCCESS) {
        nof_type_pack(type, buf, (size_t)count, 0, bytes, copy);
        struct nof_pt2pt_args s = {copy, (MPI_Count)bytes, MPI_BYTE, dest, sendtag, comm, NOF_CALLSITE};
        struct nof_pt2pt_args r = {buf, count, datatype, source, recvtag, comm, NOF_CALLSITE};
        rc = exchange(&s, &r, &c, status);
    }
    free(copy);
    return nof_lib_leave(c, rc, __func__);
}

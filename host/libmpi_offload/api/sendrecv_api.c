/* SPDX-License-Identifier: BSD-3-Clause */
/* Send and receive in one call. The receive is the request that the program sees; it ends when both have
 * ended, and with the first error. */
#include <stdlib.h>

#include "chan/chan.h"
#include "comm/entry.h"
#include "p2p/pt2pt.h"

static void send_ended(struct nof_request *send)
{
    struct nof_request *recv = send->context;
    recv->waits_for = NULL;
    if (recv->error == MPI_SUCCESS)
        recv->error = send->error;
    bool lost = send->error != MPI_SUCCESS;
    nof_request_free(send);
    if (recv->ended)
        nof_request_end(recv);
    else if (lost)
        nof_chan_for(recv)->cancel(recv);
}

/* Receive first, then send: both are under way before either is waited for. */
static int start_both(struct nof_request *recv, struct nof_request *send)
{
    recv->waits_for = send;
    send->on_done = send_ended;
    send->context = recv;
    int rc = nof_pt2pt_start(recv);
    if (rc != MPI_SUCCESS)
        return rc;
    if (recv->complete) { /* from MPI_PROC_NULL */
        recv->complete = false;
        recv->ended = true;
    }
    rc = nof_pt2pt_start(send);
    if (rc != MPI_SUCCESS)
        send->error = rc;
    /* Not started, or to MPI_PROC_NULL: nobody else will say that it ended. */
    if (rc != MPI_SUCCESS || (recv->waits_for == send && send->complete))
        send_ended(send);
    return MPI_SUCCESS;
}

/* `copy` (may be NULL): what is sent, in memory that goes with the request. */
static int begin(const struct nof_pt2pt_args *send_args, void *copy, const struct nof_pt2pt_args *recv_args,
                 bool blocking, struct nof_comm **c, struct nof_request **req_out)
{
    struct nof_request *send = NULL, *recv = NULL;
    int rc = nof_pt2pt_send_new(send_args, NOF_SEND_STANDARD, c, &send);
    if (rc == MPI_SUCCESS)
        send->packed = copy;
    else
        free(copy);
    if (rc == MPI_SUCCESS)
        rc = nof_pt2pt_recv_new(recv_args, c, &recv);
    if (rc == MPI_SUCCESS) {
        recv->awaited = send->awaited = blocking;
        rc = start_both(recv, send);
    }
    if (rc == MPI_SUCCESS) {
        *req_out = recv;
        return rc;
    }
    if (recv != NULL)
        nof_request_free(recv);
    if (send != NULL)
        nof_request_free(send);
    return rc;
}

static int begin_replace(const struct nof_pt2pt_args *args, int source, int recvtag, bool blocking,
                         struct nof_comm **c, struct nof_request **req_out)
{
    struct nof_type *type = NULL;
    int rc = nof_comm_check(args->comm, c);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_data(args->datatype, args->buf, args->count, &type);
    if (rc != MPI_SUCCESS)
        return rc;
    size_t bytes = type->size * (size_t)args->count;
    void *copy = malloc(bytes + 1);
    if (copy == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a copy of %zu bytes", bytes);
    nof_type_pack(type, args->buf, (size_t)args->count, 0, bytes, copy);
    struct nof_pt2pt_args send = *args, recv = *args;
    send.buf = copy;
    send.count = (MPI_Count)bytes;
    send.datatype = MPI_BYTE;
    recv.peer = source;
    recv.tag = recvtag;
    return begin(&send, copy, &recv, blocking, c, req_out);
}

/* Where the answer goes: to a status, or to a request. */
struct answer {
    bool blocking;
    MPI_Status *status;
    MPI_Request *request;
};

static int enter(const struct answer *to, const char *func)
{
    nof_lib_enter(func);
    return to->blocking ? MPI_SUCCESS : nof_error_if_null(to->request, "the place for the request");
}

static int leave(int rc, struct nof_comm *c, struct nof_request *req, const struct answer *to,
                 const char *func)
{
    if (rc == MPI_SUCCESS && to->blocking) {
        rc = nof_request_wait(req);
        nof_request_status(req, to->status);
        nof_request_free(req);
    } else if (rc == MPI_SUCCESS) {
        rc = nof_request_publish(req, to->request);
    }
    return nof_lib_leave(c, rc, func);
}

static int exchange(const struct nof_pt2pt_args *s, const struct nof_pt2pt_args *r, const struct answer *to,
                    const char *func)
{
    struct nof_comm *c = NULL;
    struct nof_request *req = NULL;
    int rc = enter(to, func);
    if (rc == MPI_SUCCESS)
        rc = begin(s, NULL, r, to->blocking, &c, &req);
    return leave(rc, c, req, to, func);
}

static int replace(const struct nof_pt2pt_args *args, int source, int recvtag, const struct answer *to,
                   const char *func)
{
    struct nof_comm *c = NULL;
    struct nof_request *req = NULL;
    int rc = enter(to, func);
    if (rc == MPI_SUCCESS)
        rc = begin_replace(args, source, recvtag, to->blocking, &c, &req);
    return leave(rc, c, req, to, func);
}

NOF_MPI(Sendrecv)
int PMPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                  void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                  MPI_Status *status)
{
    struct nof_pt2pt_args s = {sendbuf, sendcount, sendtype, dest, sendtag, comm, NOF_CALLSITE};
    struct nof_pt2pt_args r = {recvbuf, recvcount, recvtype, source, recvtag, comm, NOF_CALLSITE};
    return exchange(&s, &r, &(struct answer){true, status, NULL}, __func__);
}

NOF_MPI(Sendrecv_c)
int PMPI_Sendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                    void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                    MPI_Comm comm, MPI_Status *status)
{
    struct nof_pt2pt_args s = {sendbuf, sendcount, sendtype, dest, sendtag, comm, NOF_CALLSITE};
    struct nof_pt2pt_args r = {recvbuf, recvcount, recvtype, source, recvtag, comm, NOF_CALLSITE};
    return exchange(&s, &r, &(struct answer){true, status, NULL}, __func__);
}

NOF_MPI(Isendrecv)
int PMPI_Isendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                   void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                   MPI_Comm comm, MPI_Request *request)
{
    struct nof_pt2pt_args s = {sendbuf, sendcount, sendtype, dest, sendtag, comm, NOF_CALLSITE};
    struct nof_pt2pt_args r = {recvbuf, recvcount, recvtype, source, recvtag, comm, NOF_CALLSITE};
    return exchange(&s, &r, &(struct answer){.request = request}, __func__);
}

NOF_MPI(Isendrecv_c)
int PMPI_Isendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                     void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                     MPI_Comm comm, MPI_Request *request)
{
    struct nof_pt2pt_args s = {sendbuf, sendcount, sendtype, dest, sendtag, comm, NOF_CALLSITE};
    struct nof_pt2pt_args r = {recvbuf, recvcount, recvtype, source, recvtag, comm, NOF_CALLSITE};
    return exchange(&s, &r, &(struct answer){.request = request}, __func__);
}

NOF_MPI(Sendrecv_replace)
int PMPI_Sendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
                          int recvtag, MPI_Comm comm, MPI_Status *status)
{
    struct nof_pt2pt_args args = {buf, count, datatype, dest, sendtag, comm, NOF_CALLSITE};
    return replace(&args, source, recvtag, &(struct answer){true, status, NULL}, __func__);
}

NOF_MPI(Sendrecv_replace_c)
int PMPI_Sendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                            int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    struct nof_pt2pt_args args = {buf, count, datatype, dest, sendtag, comm, NOF_CALLSITE};
    return replace(&args, source, recvtag, &(struct answer){true, status, NULL}, __func__);
}

NOF_MPI(Isendrecv_replace)
int PMPI_Isendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
                           int recvtag, MPI_Comm comm, MPI_Request *request)
{
    struct nof_pt2pt_args args = {buf, count, datatype, dest, sendtag, comm, NOF_CALLSITE};
    return replace(&args, source, recvtag, &(struct answer){.request = request}, __func__);
}

NOF_MPI(Isendrecv_replace_c)
int PMPI_Isendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                             int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
    struct nof_pt2pt_args args = {buf, count, datatype, dest, sendtag, comm, NOF_CALLSITE};
    return replace(&args, source, recvtag, &(struct answer){.request = request}, __func__);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/chan.h"
#include "comm/entry.h"
#include "p2p/pt2pt.h"

struct answer {
    bool found;
    struct nof_message *message;
};

/* Ask the channel; wait: until something matches. */
static int probe(int source, int tag, MPI_Comm comm, bool wait, bool take, struct nof_comm **c,
                 struct answer *answer, MPI_Status *status)
{
    struct nof_request *req = NULL;
    int rc = nof_pt2pt_probe_new(source, tag, comm, c, &req);
    if (rc != MPI_SUCCESS)
        return rc;
    if (source == MPI_PROC_NULL) {
        answer->found = true;
        if (status != MPI_STATUS_IGNORE)
            nof_status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
    } else {
        req->probe_wait = wait;
        req->probe_take = take;
        nof_chan_for(req)->probe(req);
        rc = nof_request_wait(req);
        if (rc != MPI_SUCCESS)
            (void)
                nof_wait_poll(); /* an error may come at once: who asks again and again is there for others all the same */
        answer->found = rc == MPI_SUCCESS && req->found;
        answer->message = req->message;
        if (answer->found)
            nof_request_status(req, status);
    }
    nof_request_free(req);
    return rc;
}

NOF_MPI(Probe)
int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct answer answer = {0};
    int rc = probe(source, tag, comm, true, false, &c, &answer, status);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Iprobe)
int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct answer answer = {0};
    int rc = probe(source, tag, comm, false, false, &c, &answer, status);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(flag, "the place for the flag");
    if (rc == MPI_SUCCESS)
        *flag = answer.found;
    return nof_lib_leave(c, rc, __func__);
}

static MPI_Message message_handle(const struct answer *answer)
{
    return answer->message == NULL ? MPI_MESSAGE_NO_PROC : answer->message->handle;
}

NOF_MPI(Mprobe)
int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct answer answer = {0};
    int rc = nof_error_if_null(message, "the place for the message");
    if (rc == MPI_SUCCESS)
        rc = probe(source, tag, comm, true, true, &c, &answer, status);
    if (rc == MPI_SUCCESS)
        *message = message_handle(&answer);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Improbe)
int PMPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct answer answer = {0};
    int rc = nof_error_if_null(message == NULL ? NULL : flag, "the place for the flag or the message");
    if (rc == MPI_SUCCESS)
        rc = probe(source, tag, comm, false, true, &c, &answer, status);
    if (rc == MPI_SUCCESS) {
        *flag = answer.found;
        *message = answer.found ? message_handle(&answer) : MPI_MESSAGE_NULL;
    }
    return nof_lib_leave(c, rc, __func__);
}

/* A started receive of this message. The handle is used up. *c, with a reference: the program may have freed it.
 * *own_out: this process sent it. */
static int receive_message(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *handle,
                           uint64_t callsite, struct nof_comm **c, struct nof_request **req_out,
                           bool *own_out)
{
    struct nof_message *message;
    int rc = nof_error_if_null(handle, "the place of the message");
    if (rc == MPI_SUCCESS)
        rc = nof_message_check(*handle, &message);
    if (rc != MPI_SUCCESS)
        return rc;
    *c = message == NULL ? nof_comm_self() : message->comm;
    nof_comm_hold(*c);
    struct nof_pt2pt_args args = {
        .buf = buf,
        .count = count,
        .datatype = datatype,
        .peer = message == NULL ? MPI_PROC_NULL : message->source,
        .tag = message == NULL ? MPI_ANY_TAG : message->tag,
        .comm = MPI_COMM_NULL,
        .callsite = callsite,
    };
    rc = nof_pt2pt_recv_on(*c, &args, req_out);
    if (rc != MPI_SUCCESS)
        return rc;
    (*req_out)->message = message;
    rc = nof_pt2pt_start(*req_out);
    (*req_out)->message = NULL;
    *own_out = message != NULL && message->source_world == nof_lib.world_rank;
    if (message != NULL)
        nof_message_free(message);
    *handle = MPI_MESSAGE_NULL;
    return rc;
}

static int recv_blocking(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message,
                         MPI_Status *status, uint64_t callsite, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c = NULL;
    struct nof_request *req = NULL;
    bool own;
    int rc = receive_message(buf, count, datatype, message, callsite, &c, &req, &own);
    if (rc == MPI_SUCCESS) {
        rc = nof_request_wait(req);
        nof_request_status(req, status);
    }
    if (req != NULL)
        nof_request_free(req);
    return nof_lib_leave_held(c, rc, func);
}

static int recv_nonblocking(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message,
                            MPI_Request *request, uint64_t callsite, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c = NULL;
    struct nof_request *req = NULL;
    int rc = nof_error_if_null(request, "the place for the request");
    bool own = false;
    if (rc == MPI_SUCCESS)
        rc = receive_message(buf, count, datatype, message, callsite, &c, &req, &own);
    /* All of it is here: programs that send to themselves expect to have it, with no more than a look (MPI_Test). */
    if (rc == MPI_SUCCESS && own)
        (void)nof_request_wait(req);
    if (rc == MPI_SUCCESS)
        rc = nof_request_publish(req, request);
    if (rc != MPI_SUCCESS && req != NULL)
        nof_request_free(req);
    return nof_lib_leave_held(c, rc, func);
}

NOF_MPI(Mrecv)
int PMPI_Mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status)
{
    return recv_blocking(buf, count, datatype, message, status, NOF_CALLSITE, __func__);
}

NOF_MPI(Mrecv_c)
int PMPI_Mrecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status)
{
    return recv_blocking(buf, count, datatype, message, status, NOF_CALLSITE, __func__);
}

NOF_MPI(Imrecv)
int PMPI_Imrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request)
{
    return recv_nonblocking(buf, count, datatype, message, request, NOF_CALLSITE, __func__);
}

NOF_MPI(Imrecv_c)
int PMPI_Imrecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message,
                  MPI_Request *request)
{
    return recv_nonblocking(buf, count, datatype, message, request, NOF_CALLSITE, __func__);
}

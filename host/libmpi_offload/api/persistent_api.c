/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/chan.h"
#include "comm/entry.h"
#include "api/greq.h"
#include "p2p/part.h"
#include "p2p/pt2pt.h"
#include "base/wait.h"

static int start(struct nof_request *req)
{
    if (!req->persistent)
        return nof_error(MPI_ERR_REQUEST, "the request is not persistent");
    if (req->active)
        return nof_error(MPI_ERR_REQUEST, "the persistent request is active: wait for it first");
    nof_request_reset(req);
    int rc = req->ops != NULL ? req->ops->start(req) : nof_pt2pt_start(req);
    if (rc != MPI_SUCCESS)
        req->active = false;
    return rc;
}

static int start_handle(MPI_Request handle, struct nof_comm **c)
{
    struct nof_request *req;
    int rc = nof_request_check(handle, &req);
    if (rc == MPI_SUCCESS && req == NULL)
        rc = nof_error(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL");
    if (rc != MPI_SUCCESS)
        return rc;
    *c = req->comm;
    return start(req);
}

NOF_MPI(Start)
int PMPI_Start(MPI_Request *request)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    int rc = nof_error_if_null(request, "the place of the request");
    if (rc == MPI_SUCCESS)
        rc = start_handle(*request, &c);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Startall)
int PMPI_Startall(int count, MPI_Request array_of_requests[])
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    int rc = MPI_SUCCESS;
    if (count < 0)
        rc = nof_error(MPI_ERR_COUNT, "the count is %d", count);
    if (rc == MPI_SUCCESS && count > 0)
        rc = nof_error_if_null(array_of_requests, "the array of requests");
    for (int i = 0; rc == MPI_SUCCESS && i < count; i++)
        rc = start_handle(array_of_requests[i], &c);
    return nof_lib_leave(c, rc, __func__);
}

/* What runs goes on without its request, if nothing needs the request any more. */
static int check_free(const struct nof_request *req)
{
    char unready[64];
    if (req == NULL)
        return nof_error(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL");
    if (!req->active || req->complete)
        return MPI_SUCCESS;
    if (req->kind == NOF_REQUEST_COLL)
        return nof_error(MPI_ERR_REQUEST, "a collective operation that still runs must be waited for");
    if (req->kind == NOF_REQUEST_PSEND && nof_part_unready(req, unready, sizeof(unready)))
        return nof_error(MPI_ERR_REQUEST,
                         "a partitioned send %s would never end: call MPI_Pready for all first", unready);
    return MPI_SUCCESS;
}

NOF_MPI(Request_free)
int PMPI_Request_free(MPI_Request *request)
{
    nof_lib_enter(__func__);
    struct nof_request *req;
    int rc = nof_request_check_at(request, &req);
    if (rc == MPI_SUCCESS)
        rc = check_free(req);
    if (rc == MPI_SUCCESS) {
        bool running = req->active && !req->complete;
        if (req->greq == NULL) { /* a generalized one is completed through a copy of its handle */
            nof_handle_remove(&nof_lib.requests, nof_lib_bits(req->handle));
            req->handle = MPI_REQUEST_NULL;
        }
        if (running)
            req->orphan = true;
        else
            nof_request_free(req);
        *request = MPI_REQUEST_NULL;
    }
    return nof_lib_leave(NULL, rc, __func__);
}

/* Programs ask with one MPI_Test, MPI_Iprobe or MPI_Request_get_status whether a cancel took hold, and go on by the
 * answer: where the NIC of this process decides alone, it is waited for. Looked up anew each time: another thread may
 * have completed it while the lock was away. */
static void cancel(MPI_Request handle, struct nof_request *req)
{
    struct nof_wait wait = NOF_WAIT_START;
    wait.own = true;
    const struct nof_chan *channel = nof_chan_for(req);
    channel->cancel(req);
    while (nof_request_check(handle, &req) == MPI_SUCCESS && req != NULL && channel->cancelling(req))
        nof_wait_step(&wait);
}

NOF_MPI(Cancel)
int PMPI_Cancel(MPI_Request *request)
{
    nof_lib_enter(__func__);
    struct nof_request *req;
    int rc = nof_request_check_at(request, &req);
    if (rc == MPI_SUCCESS && req == NULL)
        rc = nof_error(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL");
    if (rc == MPI_SUCCESS && req->kind != NOF_REQUEST_SEND && req->kind != NOF_REQUEST_RECV &&
        req->greq == NULL)
        rc = nof_error(MPI_ERR_REQUEST, "only a send or a receive can be cancelled");
    if (rc == MPI_SUCCESS && req->greq != NULL)
        rc = nof_greq_cancel(req);
    else if (rc == MPI_SUCCESS && req->active && !req->complete && req->peer != MPI_PROC_NULL)
        cancel(*request, req);
    return nof_lib_leave(NULL, rc, __func__);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/greq.h"

#include <stdlib.h>

#include "comm/entry.h"
#include "base/error.h"
#include "chan/request.h"

static int greq_status(const struct nof_request *req, MPI_Status *status)
{
    struct nof_greq own = *req->greq; /* another thread may end the request meanwhile */
    MPI_Status answer = {.MPI_ERROR = MPI_SUCCESS};
    nof_status_set(&answer, MPI_UNDEFINED, MPI_UNDEFINED, 0, false);
    nof_lib_unlock();
    int rc = own.query(own.extra_state, &answer);
    nof_lib_lock();
    if (status != MPI_STATUS_IGNORE) {
        int error = status->MPI_ERROR;
        *status = answer;
        status->MPI_ERROR = error;
    }
    return rc;
}

static int greq_release(struct nof_request *req)
{
    struct nof_greq own = *req->greq;
    free(req->greq);
    req->greq = NULL;
    nof_lib_unlock();
    int rc = own.free(own.extra_state);
    nof_lib_lock();
    return rc;
}

static const struct nof_request_ops ops = {.status = greq_status, .release = greq_release};

int nof_greq_cancel(const struct nof_request *req)
{
    struct nof_greq own = *req->greq;
    int complete = req->complete;
    nof_lib_unlock();
    int rc = own.cancel(own.extra_state, complete);
    nof_lib_lock();
    return rc;
}

NOF_MPI(Grequest_start)
int PMPI_Grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                        MPI_Grequest_cancel_function *cancel_fn, void *extra_state, MPI_Request *request)
{
    nof_lib_enter(__func__);
    int rc = MPI_SUCCESS;
    if (query_fn == NULL || free_fn == NULL || cancel_fn == NULL || request == NULL)
        rc = nof_error(MPI_ERR_ARG, "a callback or the place for the request is NULL");
    struct nof_request *req = rc == MPI_SUCCESS ? nof_request_new(NOF_REQUEST_GENERAL) : NULL;
    if (req != NULL)
        req->greq = malloc(sizeof(*req->greq));
    if (rc == MPI_SUCCESS && (req == NULL || req->greq == NULL))
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for a request");
    if (rc == MPI_SUCCESS) {
        rc = nof_request_publish(req, request);
        *req->greq = (struct nof_greq){query_fn, free_fn, cancel_fn, extra_state};
        req->ops = &ops;
    }
    if (rc != MPI_SUCCESS && req != NULL) {
        free(req->greq);
        req->greq = NULL;
        req->ops = NULL;
        nof_request_free(req);
    }
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Grequest_complete)
int PMPI_Grequest_complete(MPI_Request request)
{
    nof_lib_enter(__func__);
    struct nof_request *req;
    int rc = nof_request_check(request, &req);
    if (rc == MPI_SUCCESS && (req == NULL || req->greq == NULL))
        rc = nof_error(MPI_ERR_REQUEST, "the request is not a generalized one");
    if (rc == MPI_SUCCESS && req->complete)
        rc = nof_error(MPI_ERR_REQUEST, "the request was completed before");
    if (rc == MPI_SUCCESS)
        nof_request_end(req);
    return nof_lib_leave(NULL, rc, __func__);
}

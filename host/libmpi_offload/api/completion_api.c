/* SPDX-License-Identifier: BSD-3-Clause */
/* The wait and test families. What they share: a request is *idle* (null, or persistent and not
 * started), *running* or *ended*; ended ones are retired one by one. */
#include <stdlib.h>

#include "comm/comm.h"
#include "comm/entry.h"
#include "base/error.h"
#include "chan/request.h"
#include "base/wait.h"

/* Leave with an error that belongs to `comm`, whose reference is given back afterwards. An error handler gets a code that
 * says which was the first; what is returned is the error code MPI_ERR_IN_STATUS itself (MPI 4.1, 3.7.5). */
static int leave(struct nof_comm *comm, int rc, const char *func)
{
    rc = nof_lib_leave(comm, rc, func);
    if (comm != NULL) {
        nof_lib_lock();
        nof_comm_release(comm);
        nof_lib_unlock();
    }
    return nof_error_class(rc) == MPI_ERR_IN_STATUS ? MPI_ERR_IN_STATUS : rc;
}

static bool idle(const struct nof_request *req)
{
    return req == NULL || !req->active;
}

static int check_all(int count, const MPI_Request *handles)
{
    struct nof_request *req;
    int rc = MPI_SUCCESS;
    if (count < 0)
        return nof_error(MPI_ERR_COUNT, "the number of requests is %d", count);
    if (count > 0 && handles == NULL)
        return nof_error(MPI_ERR_ARG, "the array of requests is NULL");
    for (int i = 0; rc == MPI_SUCCESS && i < count; i++)
        rc = nof_request_check(handles[i], &req);
    return rc;
}

/* The places for the answers. */
static int check_places(const int *first, const int *second)
{
    return first == NULL || second == NULL ? nof_error(MPI_ERR_ARG, "a place for an answer is NULL")
                                           : MPI_SUCCESS;
}

/* As check_all(), with the places of the answers; those for indices may be missing where there are no requests. */
static int check_some(int count, const MPI_Request *handles, const int *outcount, const int *indices)
{
    int rc = check_all(count, handles);
    return rc == MPI_SUCCESS ? check_places(outcount, count == 0 ? outcount : indices) : rc;
}

/* Looked up anew each time: another thread may have retired it while the lock was away. */
static struct nof_request *get(MPI_Request handle)
{
    struct nof_request *req = NULL;
    return nof_request_check(handle, &req) == MPI_SUCCESS ? req : NULL;
}

NOF_MPI(Wait)
int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct nof_request *req;
    int rc = nof_request_check_at(request, &req);
    if (rc == MPI_SUCCESS && idle(req)) {
        nof_status_empty(status);
    } else if (rc == MPI_SUCCESS) {
        nof_request_wait(req);
        rc = nof_request_retire(req, request, status, &c);
    }
    return leave(c, rc, __func__);
}

NOF_MPI(Test)
int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct nof_request *req;
    int rc = nof_request_check_at(request, &req);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(flag, "the place for the flag");
    if (rc == MPI_SUCCESS && idle(req)) {
        *flag = 1;
        nof_status_empty(status);
    } else if (rc == MPI_SUCCESS) {
        if (!req->complete)
            nof_wait_poll();
        *flag = req->complete;
        if (req->complete)
            rc = nof_request_retire(req, request, status, &c);
    }
    return leave(c, rc, __func__);
}

NOF_MPI(Request_get_status)
int PMPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    nof_lib_enter(__func__);
    struct nof_request *req;
    int rc = nof_request_check(request, &req);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(flag, "the place for the flag");
    if (rc == MPI_SUCCESS && idle(req)) {
        *flag = 1;
        nof_status_empty(status);
    } else if (rc == MPI_SUCCESS) {
        if (!req->complete)
            nof_wait_poll();
        *flag = req->complete;
        if (req->complete)
            rc = nof_request_status(req, status);
    }
    return nof_lib_leave(NULL, rc, __func__);
}

/* The first ended request, or -1; *active_out: how many are not idle. */
static int find_ended(int count, const MPI_Request *handles, int *active_out)
{
    int active = 0;
    for (int i = 0; i < count; i++) {
        const struct nof_request *req = get(handles[i]);
        if (idle(req))
            continue;
        if (req->complete) {
            *active_out = 1;
            return i;
        }
        active++;
    }
    *active_out = active;
    return -1;
}

static int retire_any(int at, MPI_Request *handles, int *index, MPI_Status *status, struct nof_comm **c)
{
    if (at < 0) {
        *index = MPI_UNDEFINED;
        nof_status_empty(status);
        return MPI_SUCCESS;
    }
    *index = at;
    return nof_request_retire(get(handles[at]), &handles[at], status, c);
}

NOF_MPI(Waitany)
int PMPI_Waitany(int count, MPI_Request array_of_requests[], int *index, MPI_Status *status)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    int rc = check_all(count, array_of_requests);
    if (rc == MPI_SUCCESS)
        rc = check_places(index, index);
    if (rc == MPI_SUCCESS) {
        struct nof_wait wait = NOF_WAIT_START;
        int at, active;
        while ((at = find_ended(count, array_of_requests, &active)) < 0 && active > 0)
            nof_wait_step(&wait);
        rc = retire_any(at, array_of_requests, index, status, &c);
    }
    return leave(c, rc, __func__);
}

NOF_MPI(Testany)
int PMPI_Testany(int count, MPI_Request array_of_requests[], int *index, int *flag, MPI_Status *status)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    int rc = check_all(count, array_of_requests);
    if (rc == MPI_SUCCESS)
        rc = check_places(index, flag);
    if (rc == MPI_SUCCESS) {
        int active, at = find_ended(count, array_of_requests, &active);
        if (at < 0 && active > 0) {
            nof_wait_poll();
            at = find_ended(count, array_of_requests, &active);
        }
        *flag = at >= 0 || active == 0;
        rc = retire_any(at, array_of_requests, index, status, &c);
    }
    return leave(c, rc, __func__);
}

static bool all_ended(int count, const MPI_Request *handles)
{
    for (int i = 0; i < count; i++) {
        const struct nof_request *req = get(handles[i]);
        if (!idle(req) && !req->complete)
            return false;
    }
    return true;
}

/* Retire request i into a status of its own; returns its code. */
static int retire_one(MPI_Request *handle, MPI_Status *status, struct nof_comm **c)
{
    struct nof_request *req = get(*handle);
    if (idle(req)) {
        nof_status_empty(status);
        return MPI_SUCCESS;
    }
    return nof_request_retire(req, handle, status, c);
}

static bool is_partitioned(MPI_Request handle)
{
    const struct nof_request *req = get(handle);
    return req != NULL && (req->kind == NOF_REQUEST_PSEND || req->kind == NOF_REQUEST_PRECV);
}

/* The codes of all, in the statuses only if one of them is an error (MPI 4.1, 3.2.5); of partitioned operations always, as other
 * libraries do: there are programs that read them. */
static int retire_all(int count, MPI_Request *handles, MPI_Status *statuses, struct nof_comm **c)
{
    int first_error = MPI_SUCCESS;
    for (int i = 0; i < count; i++) {
        MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
        bool says = is_partitioned(handles[i]);
        int rc = retire_one(&handles[i], status, c);
        if (rc != MPI_SUCCESS && first_error == MPI_SUCCESS) {
            first_error = rc;
            for (int k = 0; status != MPI_STATUS_IGNORE && k < i; k++)
                statuses[k].MPI_ERROR = MPI_SUCCESS;
        }
        if ((says || first_error != MPI_SUCCESS) && status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = rc;
    }
    if (first_error == MPI_SUCCESS)
        return MPI_SUCCESS;
    char text[MPI_MAX_ERROR_STRING];
    nof_error_text(first_error, text);
    return nof_error(MPI_ERR_IN_STATUS, "the first is %.330s", text);
}

NOF_MPI(Waitall)
int PMPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[])
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    int rc = check_all(count, array_of_requests);
    if (rc == MPI_SUCCESS) {
        for (int i = 0; i < count; i++)
            if (!idle(get(array_of_requests[i])))
                nof_request_await(get(array_of_requests[i]));
        for (int i = 0; i < count; i++) {
            struct nof_request *req = get(array_of_requests[i]);
            if (!idle(req))
                nof_request_wait(req);
        }
        rc = retire_all(count, array_of_requests, array_of_statuses, &c);
    }
    return leave(c, rc, __func__);
}

NOF_MPI(Testall)
int PMPI_Testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status array_of_statuses[])
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    int rc = check_all(count, array_of_requests);
    if (rc == MPI_SUCCESS)
        rc = check_places(flag, flag);
    if (rc == MPI_SUCCESS) {
        if (!all_ended(count, array_of_requests))
            nof_wait_poll();
        *flag = all_ended(count, array_of_requests);
        if (*flag)
            rc = retire_all(count, array_of_requests, array_of_statuses, &c);
    }
    return leave(c, rc, __func__);
}

static int retire_some(int count, MPI_Request *handles, int *outcount, int *indices, MPI_Status *statuses,
                       struct nof_comm **c)
{
    int n = 0, first_error = MPI_SUCCESS;
    for (int i = 0; i < count; i++) {
        struct nof_request *req = get(handles[i]);
        if (idle(req) || !req->complete)
            continue;
        MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[n];
        int rc = nof_request_retire(req, &handles[i], status, c);
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = rc;
        if (first_error == MPI_SUCCESS)
            first_error = rc;
        indices[n++] = i;
    }
    *outcount = n;
    if (first_error == MPI_SUCCESS)
        return MPI_SUCCESS;
    char text[MPI_MAX_ERROR_STRING];
    nof_error_text(first_error, text);
    return nof_error(MPI_ERR_IN_STATUS, "the first is %.330s", text);
}

NOF_MPI(Waitsome)
int PMPI_Waitsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                  MPI_Status array_of_statuses[])
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    int rc = check_some(incount, array_of_requests, outcount, array_of_indices);
    if (rc == MPI_SUCCESS) {
        struct nof_wait wait = NOF_WAIT_START;
        int active;
        while (find_ended(incount, array_of_requests, &active) < 0 && active > 0)
            nof_wait_step(&wait);
        if (active == 0)
            *outcount = MPI_UNDEFINED;
        else
            rc = retire_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses, &c);
    }
    return leave(c, rc, __func__);
}

NOF_MPI(Testsome)
int PMPI_Testsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                  MPI_Status array_of_statuses[])
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    int rc = check_some(incount, array_of_requests, outcount, array_of_indices);
    if (rc == MPI_SUCCESS) {
        int active;
        nof_wait_poll();
        (void)find_ended(incount, array_of_requests, &active);
        if (active == 0)
            *outcount = MPI_UNDEFINED;
        else
            rc = retire_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses, &c);
    }
    return leave(c, rc, __func__);
}

/* Asking without ending: the requests stay as they are (MPI 4.1, 3.7.6). */

NOF_MPI(Request_get_status_any)
int PMPI_Request_get_status_any(int count, const MPI_Request array_of_requests[], int *indx, int *flag,
                                MPI_Status *status)
{
    nof_lib_enter(__func__);
    int rc = check_all(count, array_of_requests);
    if (rc == MPI_SUCCESS)
        rc = check_places(indx, flag);
    if (rc == MPI_SUCCESS) {
        int active, at = find_ended(count, array_of_requests, &active);
        if (at < 0 && active > 0) {
            nof_wait_poll();
            at = find_ended(count, array_of_requests, &active);
        }
        *flag = at >= 0 || active == 0;
        *indx = at >= 0 ? at : MPI_UNDEFINED;
        if (at >= 0)
            rc = nof_request_status(get(array_of_requests[at]), status);
        else if (*flag)
            nof_status_empty(status);
    }
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Request_get_status_all)
int PMPI_Request_get_status_all(int count, const MPI_Request array_of_requests[], int *flag,
                                MPI_Status *array_of_statuses)
{
    nof_lib_enter(__func__);
    int rc = check_all(count, array_of_requests);
    if (rc == MPI_SUCCESS)
        rc = check_places(flag, flag);
    if (rc == MPI_SUCCESS) {
        if (!all_ended(count, array_of_requests))
            nof_wait_poll();
        *flag = all_ended(count, array_of_requests);
    }
    for (int i = 0; rc == MPI_SUCCESS && *flag && i < count; i++) {
        const struct nof_request *req = get(array_of_requests[i]);
        MPI_Status *status =
            array_of_statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &array_of_statuses[i];
        if (idle(req))
            nof_status_empty(status);
        else
            rc = nof_request_status(req, status);
    }
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Request_get_status_some)
int PMPI_Request_get_status_some(int incount, const MPI_Request array_of_requests[], int *outcount,
                                 int array_of_indices[], MPI_Status *array_of_statuses)
{
    nof_lib_enter(__func__);
    int active, n = 0;
    int rc = check_some(incount, array_of_requests, outcount, array_of_indices);
    if (rc == MPI_SUCCESS) {
        nof_wait_poll();
        (void)find_ended(incount, array_of_requests, &active);
        *outcount = active == 0 ? MPI_UNDEFINED : 0;
    }
    for (int i = 0; rc == MPI_SUCCESS && active > 0 && i < incount; i++) {
        const struct nof_request *req = get(array_of_requests[i]);
        if (idle(req) || !req->complete)
            continue;
        rc = nof_request_status(req, array_of_statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE
                                                                              : &array_of_statuses[n]);
        array_of_indices[n++] = i;
        *outcount = n;
    }
    return nof_lib_leave(NULL, rc, __func__);
}

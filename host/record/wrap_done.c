/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where requests start and end: receives for any source or tag are named by the status that they end with. */
#include "recorder.h"

#include <stddef.h>
#include <stdlib.h>

EXPORT int MPI_Start(MPI_Request *request)
{
    int rc = REAL(Start)(request);

    if (rc == MPI_SUCCESS && nof_record_on() && nof_record_any_known())
        nof_record_started(*request, SITE());
    return rc;
}

EXPORT int MPI_Startall(int n, MPI_Request requests[])
{
    int rc = REAL(Startall)(n, requests);

    for (int i = 0; rc == MPI_SUCCESS && i < n && nof_record_on() && nof_record_any_known(); i++)
        nof_record_started(requests[i], SITE());
    return rc;
}

EXPORT int MPI_Request_free(MPI_Request *request)
{
    struct nof_record_request *known =
        nof_record_on() && nof_record_any_known() ? nof_record_known(*request) : NULL;
    int rc = REAL(Request_free)(request);

    if (rc == MPI_SUCCESS && known != NULL)
        nof_record_ended(known, NULL, true);
    return rc;
}

/* What is known of the requests of one call, and statuses that are there. */
struct look {
    struct nof_record_request **known; /* NULL: of none, and the call goes through as it is */
    MPI_Status *status;
    MPI_Status *own; /* to be freed */
};

static struct look look_at(int n, const MPI_Request requests[], MPI_Status *theirs)
{
    struct look l = {.status = theirs};
    bool any = false;

    if (n <= 0 || !nof_record_on() || !nof_record_any_known())
        return l;
    l.known = calloc((size_t)n, sizeof(struct nof_record_request *));
    if (theirs == MPI_STATUSES_IGNORE) /* the same as MPI_STATUS_IGNORE */
        l.status = l.own = calloc((size_t)n, sizeof(*l.own));
    for (int i = 0; l.known != NULL && i < n; i++)
        any |= (l.known[i] = nof_record_known(requests[i])) != NULL;
    if (l.known != NULL && l.status != NULL && any)
        return l;
    free(l.known);
    free(l.own);
    return (struct look){.status = theirs};
}

static void done(struct look *l)
{
    free(l->known);
    free(l->own);
}

static void ended(const struct look *l, int request, int status, int rc)
{
    const MPI_Status *s = &l->status[status];
    bool well = rc == MPI_SUCCESS || (rc == MPI_ERR_IN_STATUS && s->MPI_ERROR == MPI_SUCCESS);

    if (l->known[request] != NULL && !(rc == MPI_ERR_IN_STATUS && s->MPI_ERROR == MPI_ERR_PENDING))
        nof_record_ended(l->known[request], well ? s : NULL, false);
}

EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    struct look l = look_at(1, request, status);
    int rc = REAL(Wait)(request, l.status);

    if (l.known != NULL && (rc == MPI_SUCCESS || *request == MPI_REQUEST_NULL))
        ended(&l, 0, 0, rc);
    done(&l);
    return rc;
}

EXPORT int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct look l = look_at(1, request, status);
    int rc = REAL(Test)(request, flag, l.status);

    if (l.known != NULL && (rc == MPI_SUCCESS ? *flag != 0 : *request == MPI_REQUEST_NULL))
        ended(&l, 0, 0, rc);
    done(&l);
    return rc;
}

static void ended_all(const struct look *l, int n, int rc)
{
    for (int i = 0; l->known != NULL && i < n && (rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS); i++)
        ended(l, i, i, rc);
}

EXPORT int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
    struct look l = look_at(n, requests, statuses);
    int rc = REAL(Waitall)(n, requests, l.status);

    ended_all(&l, n, rc);
    done(&l);
    return rc;
}

EXPORT int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    struct look l = look_at(n, requests, statuses);
    int rc = REAL(Testall)(n, requests, flag, l.status);

    if (rc != MPI_SUCCESS || *flag)
        ended_all(&l, n, rc);
    done(&l);
    return rc;
}

EXPORT int MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status)
{
    struct look l = look_at(n, requests, status);
    int rc = REAL(Waitany)(n, requests, index, l.status);

    if (l.known != NULL && rc == MPI_SUCCESS && *index != MPI_UNDEFINED)
        ended(&l, *index, 0, rc);
    done(&l);
    return rc;
}

EXPORT int MPI_Testany(int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    struct look l = look_at(n, requests, status);
    int rc = REAL(Testany)(n, requests, index, flag, l.status);

    if (l.known != NULL && rc == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED)
        ended(&l, *index, 0, rc);
    done(&l);
    return rc;
}

static void ended_some(const struct look *l, int n, const int indices[], int rc)
{
    if (l->known == NULL || n == MPI_UNDEFINED || (rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS))
        return;
    for (int i = 0; i < n; i++)
        ended(l, indices[i], i, rc);
}

EXPORT int MPI_Waitsome(int n, MPI_Request requests[], int *n_out, int indices[], MPI_Status statuses[])
{
    struct look l = look_at(n, requests, statuses);
    int rc = REAL(Waitsome)(n, requests, n_out, indices, l.status);

    ended_some(&l, *n_out, indices, rc);
    done(&l);
    return rc;
}

EXPORT int MPI_Testsome(int n, MPI_Request requests[], int *n_out, int indices[], MPI_Status statuses[])
{
    struct look l = look_at(n, requests, statuses);
    int rc = REAL(Testsome)(n, requests, n_out, indices, l.status);

    ended_some(&l, *n_out, indices, rc);
    done(&l);
    return rc;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Generalized requests: the program does the work and says when it is done (MPI 4.1, 13.2).
 *
 * query is called whenever a status is asked for and the request is complete, free once, before the
 * request goes away. Callbacks run without the library's lock; their codes are those of the call. */
#ifndef NOF_MPI_GREQ_H
#define NOF_MPI_GREQ_H

#include "base/lib.h"

struct nof_request;

struct nof_greq {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *extra_state;
};

int nof_greq_cancel(const struct nof_request *req);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Generalized requests of Fortran programs: the library calls the C functions here, they call Fortran's. */
#include "fortran/nof_f.h"

typedef void query_function(MPI_Aint *extra_state, MPI_Fint *status, MPI_Fint *ierror);
typedef void free_function(MPI_Aint *extra_state, MPI_Fint *ierror);
typedef void cancel_function(MPI_Aint *extra_state, MPI_Fint *complete, MPI_Fint *ierror);

/* The extra state of such a request; freed with it. The program's own is a variable of its, which its procedures
 * may change and the program reads again: it must live as long as the request. */
struct generalized {
    query_function *query;
    free_function *free;
    cancel_function *cancel;
    MPI_Aint *extra_state;
};

static int call_query(void *extra_state, MPI_Status *status)
{
    struct generalized *g = extra_state;
    MPI_Fint ierror = MPI_SUCCESS;
    g->query(g->extra_state, (MPI_Fint *)status, &ierror);
    return ierror;
}

static int call_free(void *extra_state)
{
    struct generalized *g = extra_state;
    MPI_Fint ierror = MPI_SUCCESS;
    g->free(g->extra_state, &ierror);
    free(g);
    return ierror;
}

static int call_cancel(void *extra_state, int complete)
{
    struct generalized *g = extra_state;
    MPI_Fint ierror = MPI_SUCCESS;
    g->cancel(g->extra_state, &complete, &ierror);
    return ierror;
}

NOF_F(grequest_start, void,
      (query_function * query_fn, free_function *free_fn, cancel_function *cancel_fn, MPI_Aint *extra_state,
       MPI_Fint *request, MPI_Fint *ierror))
void pmpi_grequest_start_(query_function *query_fn, free_function *free_fn, cancel_function *cancel_fn,
                          MPI_Aint *extra_state, MPI_Fint *request, MPI_Fint *ierror)
{
    MPI_Request c_request = MPI_REQUEST_NULL;
    struct generalized *g = malloc(sizeof(*g));
    int rc = MPI_ERR_NO_MEM;
    if (g == NULL) {
        PMPI_Comm_call_errhandler(MPI_COMM_SELF, rc);
    } else {
        *g = (struct generalized){query_fn, free_fn, cancel_fn, extra_state};
        rc = MPI_Grequest_start(call_query, call_free, call_cancel, g, &c_request);
        if (rc != MPI_SUCCESS)
            free(g);
    }
    *request = MPI_Request_c2f(c_request);
    nof_f_ierror(ierror, rc);
}

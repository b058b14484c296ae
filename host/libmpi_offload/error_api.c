/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "error.h"

/* Error texts and classes may be asked for before MPI_Init and after MPI_Finalize. */
NOF_MPI(Error_string)
int PMPI_Error_string(int errorcode, char *string, int *resultlen)
{
    nof_lib_lock();
    int known = nof_error_text(errorcode, string);
    nof_lib_unlock();
    if (known != 0) {
        string[0] = '\0';
        *resultlen = 0;
        if (nof_lib.phase != NOF_LIB_RUNNING)
            return MPI_ERR_ARG;
        nof_lib_enter(__func__);
        return nof_lib_leave(NULL, nof_error(MPI_ERR_ARG, "%d is no error code", errorcode), __func__);
    }
    *resultlen = (int)strlen(string);
    return MPI_SUCCESS;
}

NOF_MPI(Error_class)
int PMPI_Error_class(int errorcode, int *errorclass)
{
    nof_lib_lock();
    *errorclass = nof_error_class(errorcode);
    nof_lib_unlock();
    return MPI_SUCCESS;
}

NOF_MPI(Add_error_class)
int PMPI_Add_error_class(int *errorclass)
{
    nof_lib_lock();
    int added = nof_error_add_class();
    nof_lib_unlock();
    if (added == 0)
        return MPI_ERR_NO_MEM;
    *errorclass = added;
    return MPI_SUCCESS;
}

NOF_MPI(Add_error_code)
int PMPI_Add_error_code(int errorclass, int *errorcode)
{
    nof_lib_lock();
    int known = nof_error_class(errorclass) == errorclass;
    int added = known ? nof_error_add_code(errorclass) : 0;
    nof_lib_unlock();
    if (!known)
        return MPI_ERR_ARG;
    if (added == 0)
        return MPI_ERR_NO_MEM;
    *errorcode = added;
    return MPI_SUCCESS;
}

NOF_MPI(Add_error_string)
int PMPI_Add_error_string(int errorcode, const char *string)
{
    nof_lib_lock();
    int rc = nof_error_add_string(errorcode, string);
    nof_lib_unlock();
    return rc;
}

NOF_MPI(Comm_create_errhandler)
int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function *comm_errhandler_fn, MPI_Errhandler *errhandler)
{
    nof_lib_lock();
    int rc = MPI_SUCCESS;
    struct nof_errhandler *own = NULL;
    if (comm_errhandler_fn == NULL || errhandler == NULL)
        rc = nof_error(MPI_ERR_ARG, "the handler function or the place for its handle is NULL");
    else if ((own = calloc(1, sizeof(*own))) == NULL)
        rc = MPI_ERR_NO_MEM;
    if (rc == MPI_SUCCESS) {
        own->fn = comm_errhandler_fn;
        own->refs = 1;
        own->handle = nof_lib_handle(nof_handle_add(&nof_lib.errhandlers, own));
        *errhandler = own->handle;
    }
    nof_lib_unlock();
    return rc == MPI_SUCCESS ? rc : nof_error_raise(NULL, rc, &__func__[1]);
}

NOF_MPI(Comm_set_errhandler)
int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    struct nof_errhandler *handler = nof_errhandler_get(errhandler);
    if (rc == MPI_SUCCESS && handler == NULL)
        rc = nof_error(MPI_ERR_ERRHANDLER, "the handle names no error handler");
    if (rc == MPI_SUCCESS) {
        nof_errhandler_hold(handler);
        nof_errhandler_release(c->errhandler);
        c->errhandler = handler;
    }
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_get_errhandler)
int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS) {
        struct nof_errhandler *handler = c->errhandler;
        /* The program frees what it got, so each answer is a handle and a reference of its own. */
        if (handler->fn != NULL) {
            nof_errhandler_hold(handler);
            *errhandler = nof_lib_handle(nof_handle_add(&nof_lib.errhandlers, handler));
        } else {
            *errhandler = handler->handle;
        }
    }
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_call_errhandler)
int PMPI_Comm_call_errhandler(MPI_Comm comm, int errorcode)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc != MPI_SUCCESS)
        return nof_lib_leave(NULL, rc, __func__);
    nof_lib_leave(c, MPI_SUCCESS, __func__);
    nof_error_raise(c, errorcode, &__func__[1]);
    return MPI_SUCCESS;
}

NOF_MPI(Errhandler_free)
int PMPI_Errhandler_free(MPI_Errhandler *errhandler)
{
    nof_lib_lock();
    int rc = MPI_SUCCESS;
    struct nof_errhandler *handler = nof_errhandler_get(*errhandler);
    if (handler == NULL) {
        rc = nof_error(MPI_ERR_ERRHANDLER, "the handle names no error handler");
    } else {
        if (handler->fn != NULL) {
            nof_handle_remove(&nof_lib.errhandlers, nof_lib_bits(*errhandler));
            nof_errhandler_release(handler);
        }
        *errhandler = MPI_ERRHANDLER_NULL;
    }
    nof_lib_unlock();
    return rc == MPI_SUCCESS ? rc : nof_error_raise(NULL, rc, &__func__[1]);
}

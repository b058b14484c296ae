/* SPDX-License-Identifier: BSD-3-Clause */
/* Making error handlers, and those of communicators. */
#include <stdlib.h>

#include "comm/comm.h"
#include "comm/entry.h"
#include "base/error.h"

/* Handlers may be made and freed at any time (MPI 4.1, 11.4). */
static int create(const struct nof_errhandler *pattern, MPI_Errhandler *errhandler, const char *func)
{
    nof_lib_lock();
    int rc = MPI_SUCCESS;
    struct nof_errhandler *own = NULL;
    if (pattern->fn.comm == NULL || errhandler == NULL)
        rc = nof_error(MPI_ERR_ARG, "the handler function or the place for its handle is NULL");
    else if ((own = malloc(sizeof(*own))) == NULL)
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for an error handler");
    if (rc == MPI_SUCCESS) {
        *own = *pattern;
        rc = nof_errhandler_handle(own, errhandler);
        if (rc != MPI_SUCCESS)
            free(own);
    }
    return nof_lib_leave_anytime(rc, func);
}

NOF_MPI(Comm_create_errhandler)
int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function *comm_errhandler_fn, MPI_Errhandler *errhandler)
{
    struct nof_errhandler pattern = {.kind = NOF_ERRHANDLER_COMM, .fn.comm = comm_errhandler_fn};
    return create(&pattern, errhandler, __func__);
}

NOF_MPI(Win_create_errhandler)
int PMPI_Win_create_errhandler(MPI_Win_errhandler_function *win_errhandler_fn, MPI_Errhandler *errhandler)
{
    struct nof_errhandler pattern = {.kind = NOF_ERRHANDLER_WIN, .fn.win = win_errhandler_fn};
    return create(&pattern, errhandler, __func__);
}

NOF_MPI(File_create_errhandler)
int PMPI_File_create_errhandler(MPI_File_errhandler_function *file_errhandler_fn, MPI_Errhandler *errhandler)
{
    struct nof_errhandler pattern = {.kind = NOF_ERRHANDLER_FILE, .fn.file = file_errhandler_fn};
    return create(&pattern, errhandler, __func__);
}

NOF_MPI(Session_create_errhandler)
int PMPI_Session_create_errhandler(MPI_Session_errhandler_function *session_errhandler_fn,
                                   MPI_Errhandler *errhandler)
{
    struct nof_errhandler pattern = {.kind = NOF_ERRHANDLER_SESSION, .fn.session = session_errhandler_fn};
    return create(&pattern, errhandler, __func__);
}

NOF_MPI(Errhandler_free)
int PMPI_Errhandler_free(MPI_Errhandler *errhandler)
{
    nof_lib_lock();
    struct nof_errhandler *handler = errhandler == NULL ? NULL : nof_errhandler_get(*errhandler);
    int rc = MPI_SUCCESS;
    if (handler == NULL) {
        rc = nof_error(MPI_ERR_ERRHANDLER, "the handle names no error handler (freed?)");
    } else {
        nof_errhandler_give_back(handler);
        *errhandler = MPI_ERRHANDLER_NULL;
    }
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Comm_set_errhandler)
int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_errhandler *handler;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_errhandler_check(errhandler, NOF_ERRHANDLER_COMM, &handler);
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
    if (rc == MPI_SUCCESS && errhandler == NULL)
        rc = nof_error(MPI_ERR_ARG, "the place for the handle is NULL");
    if (rc == MPI_SUCCESS)
        rc = nof_errhandler_handle(c->errhandler, errhandler);
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
    struct nof_error_object object = {c->handle, c->errhandler};
    (void)nof_lib_leave_at(&object, errorcode, __func__);
    return MPI_SUCCESS;
}

/* Files: only MPI_FILE_NULL, whose handler is the default of all files, exists. */

static struct nof_errhandler *of_no_file; /* NULL: the default, MPI_ERRORS_RETURN (MPI 4.1, 14.7) */

static struct nof_errhandler *handler_of_files(void)
{
    return of_no_file == NULL ? nof_errhandler_get(MPI_ERRORS_RETURN) : of_no_file;
}

int nof_error_leave_file(int rc, const char *func)
{
    struct nof_error_object object = {MPI_FILE_NULL, handler_of_files()};
    return nof_lib_leave_at(&object, rc, func);
}

static int check_file(MPI_File file)
{
    return file == MPI_FILE_NULL ? MPI_SUCCESS : nof_error(MPI_ERR_FILE, "the handle names no file");
}

NOF_MPI(File_set_errhandler)
int PMPI_File_set_errhandler(MPI_File file, MPI_Errhandler errhandler)
{
    nof_lib_enter(__func__);
    struct nof_errhandler *handler;
    int rc = check_file(file);
    if (rc == MPI_SUCCESS)
        rc = nof_errhandler_check(errhandler, NOF_ERRHANDLER_FILE, &handler);
    if (rc == MPI_SUCCESS) {
        nof_errhandler_hold(handler);
        nof_errhandler_release(handler_of_files());
        of_no_file = handler;
    }
    return nof_error_leave_file(rc, __func__);
}

NOF_MPI(File_get_errhandler)
int PMPI_File_get_errhandler(MPI_File file, MPI_Errhandler *errhandler)
{
    nof_lib_enter(__func__);
    int rc = check_file(file);
    if (rc == MPI_SUCCESS && errhandler == NULL)
        rc = nof_error(MPI_ERR_ARG, "the place for the handle is NULL");
    if (rc == MPI_SUCCESS)
        rc = nof_errhandler_handle(handler_of_files(), errhandler);
    return nof_error_leave_file(rc, __func__);
}

NOF_MPI(File_call_errhandler)
int PMPI_File_call_errhandler(MPI_File fh, int errorcode)
{
    nof_lib_enter(__func__);
    int rc = check_file(fh);
    if (rc != MPI_SUCCESS)
        return nof_error_leave_file(rc, __func__);
    nof_error_leave_file(errorcode, __func__);
    return MPI_SUCCESS;
}

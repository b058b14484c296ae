/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

#include "comm/comm.h"
#include "launch/launch.h"

/* The predefined handlers live for ever: their reference counts are never looked at. */
static struct nof_errhandler are_fatal = {.handle = MPI_ERRORS_ARE_FATAL};
static struct nof_errhandler only_return = {.handle = MPI_ERRORS_RETURN};
static struct nof_errhandler do_abort = {.handle = MPI_ERRORS_ABORT};

static struct nof_error_object of_session; /* no handler: none, or MPI_Init was called */
static struct nof_errhandler *of_no_file = &only_return; /* MPI_FILE_NULL's: the default (MPI 4.1, 14.7) */

struct nof_errhandler *nof_errhandler_get(MPI_Errhandler handle)
{
    if (handle == MPI_ERRORS_ARE_FATAL)
        return &are_fatal;
    if (handle == MPI_ERRORS_RETURN)
        return &only_return;
    if (handle == MPI_ERRORS_ABORT)
        return &do_abort;
    return nof_handle_get(&nof_lib.errhandlers, nof_lib_bits(handle));
}

int nof_errhandler_check(MPI_Errhandler handle, enum nof_errhandler_kind kind,
                         struct nof_errhandler **handler_out)
{
    *handler_out = nof_errhandler_get(handle);
    if (*handler_out == NULL)
        return nof_error(MPI_ERR_ERRHANDLER, "%s",
                         handle == MPI_ERRHANDLER_NULL ? "the error handler is MPI_ERRHANDLER_NULL"
                                                       : "the handle names no error handler (freed?)");
    if ((*handler_out)->kind != NOF_ERRHANDLER_ANY && (*handler_out)->kind != kind)
        return nof_error(MPI_ERR_ERRHANDLER, "the error handler was made for another kind of object");
    return MPI_SUCCESS;
}

void nof_errhandler_hold(struct nof_errhandler *handler)
{
    if (handler->kind != NOF_ERRHANDLER_ANY)
        handler->refs++;
}

void nof_errhandler_release(struct nof_errhandler *handler)
{
    if (handler->kind != NOF_ERRHANDLER_ANY && --handler->refs == 0)
        free(handler);
}

int nof_errhandler_handle(struct nof_errhandler *handler, MPI_Errhandler *handle_out)
{
    /* All who have it have the same handle (programs compare), and each frees it once. */
    if (handler->kind != NOF_ERRHANDLER_ANY && handler->users == 0) {
        uint64_t handle = nof_handle_add(&nof_lib.errhandlers, handler);
        if (handle == 0)
            return nof_error(MPI_ERR_NO_MEM, "no memory for the handle of an error handler");
        handler->handle = nof_lib_handle(handle);
    }
    handler->users++;
    nof_errhandler_hold(handler);
    *handle_out = handler->handle;
    return MPI_SUCCESS;
}

void nof_errhandler_give_back(struct nof_errhandler *handler)
{
    if (handler->kind == NOF_ERRHANDLER_ANY)
        return;
    if (--handler->users == 0)
        nof_handle_remove(&nof_lib.errhandlers, nof_lib_bits(handler->handle));
    nof_errhandler_release(handler);
}

void nof_error_set_session(const struct nof_error_object *session)
{
    if (session != NULL)
        nof_errhandler_hold(session->errhandler);
    if (of_session.errhandler != NULL)
        nof_errhandler_release(of_session.errhandler);
    of_session = session == NULL ? (struct nof_error_object){0} : *session;
}

/* MPI 4.1, 9.3: errors that belong to no communicator go to MPI_COMM_SELF's handler. Programs
 * written for older versions set the one of MPI_COMM_WORLD only: it counts when SELF's is as it
 * was. */
static struct nof_error_object last_resort(void)
{
    struct nof_comm *self = nof_comm_self();
    if (of_session.errhandler != NULL)
        return of_session;
    if (self == NULL)
        return (struct nof_error_object){MPI_COMM_WORLD, &are_fatal};
    if (self->errhandler == &are_fatal)
        self = nof_comm_world();
    return (struct nof_error_object){self->handle, self->errhandler};
}

/* A launcher has its own sentence about a dead rank, and ends the job with the exit code of that one. */
static _Noreturn void die(int code, const char *func, const char *text)
{
    if (nof_error_class(code) == MPIX_ERR_PROC_FAILED)
        nof_lib_linger(nof_launch_death_ms());
    nof_lib_die(nof_error_class(code) & 0xff, "%s: %s", func, text);
}

static void call(const struct nof_error_object *object, int code, const char *func)
{
    char text[MPI_MAX_ERROR_STRING];
    void *handle = object->handle;
    switch (object->errhandler->kind) {
    case NOF_ERRHANDLER_COMM:
        object->errhandler->fn.comm((MPI_Comm *)&handle, &code);
        break;
    case NOF_ERRHANDLER_WIN:
        object->errhandler->fn.win((MPI_Win *)&handle, &code);
        break;
    case NOF_ERRHANDLER_FILE:
        object->errhandler->fn.file((MPI_File *)&handle, &code);
        break;
    case NOF_ERRHANDLER_SESSION:
        object->errhandler->fn.session((MPI_Session *)&handle, &code);
        break;
    case NOF_ERRHANDLER_ANY:
        if (object->errhandler == &only_return)
            break;
        nof_lib_lock();
        if (nof_error_text(code, text) != 0)
            snprintf(text, sizeof(text), "error code %d", code);
        nof_lib_unlock();
        die(code, func, text);
    }
}

int nof_error_raise_at(const struct nof_error_object *object, int code, const char *func)
{
    nof_lib_lock();
    nof_errhandler_hold(object->errhandler);
    nof_lib_unlock();
    call(object, code, func);
    nof_lib_lock();
    nof_errhandler_release(object->errhandler);
    nof_lib_unlock();
    return code;
}

int nof_error_raise(struct nof_comm *comm, int code, const char *func)
{
    nof_lib_lock();
    struct nof_error_object object =
        comm == NULL ? last_resort() : (struct nof_error_object){comm->handle, comm->errhandler};
    nof_errhandler_hold(object.errhandler);
    nof_lib_unlock();
    call(&object, code, func);
    nof_lib_lock();
    nof_errhandler_release(object.errhandler);
    nof_lib_unlock();
    return code;
}

int nof_error_leave_at(const struct nof_error_object *object, int rc, const char *func)
{
    /* The object's own reference may go away with the lock. */
    nof_errhandler_hold(object->errhandler);
    nof_lib_unlock();
    if (rc != MPI_SUCCESS)
        call(object, rc, func[0] == 'P' ? func + 1 : func);
    nof_lib_lock();
    nof_errhandler_release(object->errhandler);
    nof_lib_unlock();
    return rc;
}

int nof_error_leave_file(int rc, const char *func)
{
    struct nof_error_object object = {MPI_FILE_NULL, of_no_file};
    return nof_error_leave_at(&object, rc, func);
}

/* ---- files: only MPI_FILE_NULL, whose handler is the default of all files, exists ---- */

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
        nof_errhandler_release(of_no_file);
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
        rc = nof_errhandler_handle(of_no_file, errhandler);
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

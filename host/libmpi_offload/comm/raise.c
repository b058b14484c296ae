/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "comm/comm.h"
#include "comm/entry.h"
#include "launch/launch.h"

static struct nof_error_object of_session; /* no handler: none, or MPI_Init was called */

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
        return (struct nof_error_object){MPI_COMM_WORLD, nof_errhandler_get(MPI_ERRORS_ARE_FATAL)};
    if (self->errhandler == nof_errhandler_get(MPI_ERRORS_ARE_FATAL))
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
        if (object->errhandler->handle == MPI_ERRORS_RETURN)
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

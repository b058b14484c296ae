/* SPDX-License-Identifier: BSD-3-Clause */
#include "error.h"

#include <stdio.h>
#include <stdlib.h>

#include "comm.h"

#define LAUNCHER_MS 2000 /* more than any needs to notice a death on its own host */

/* The predefined handlers live for ever: their reference counts are never looked at. */
static struct nof_errhandler are_fatal, only_return, do_abort;

struct nof_errhandler *nof_errhandler_get(MPI_Errhandler handle)
{
    if (handle == MPI_ERRORS_ARE_FATAL || handle == MPI_ERRORS_RETURN || handle == MPI_ERRORS_ABORT) {
        struct nof_errhandler *e = handle == MPI_ERRORS_ARE_FATAL ? &are_fatal
                                   : handle == MPI_ERRORS_RETURN  ? &only_return
                                                                  : &do_abort;
        e->handle = handle;
        return e;
    }
    return nof_handle_get(&nof_lib.errhandlers, nof_lib_bits(handle));
}

void nof_errhandler_hold(struct nof_errhandler *handler)
{
    if (handler->fn != NULL)
        handler->refs++;
}

void nof_errhandler_release(struct nof_errhandler *handler)
{
    if (handler->fn != NULL && --handler->refs == 0)
        free(handler);
}

/* MPI 4.1, 9.3: errors that belong to no communicator go to MPI_COMM_SELF's handler. Programs
 * written for older versions set the one of MPI_COMM_WORLD only: it counts when SELF's is as it
 * was. */
static struct nof_comm *comm_of_last_resort(void)
{
    struct nof_comm *self = nof_comm_self();
    if (self == NULL)
        return NULL;
    return self->errhandler->handle == MPI_ERRORS_ARE_FATAL ? nof_comm_world() : self;
}

/* A launcher has its own sentence about a dead rank, and ends the job with the exit code of that one. */
static _Noreturn void die(int code, const char *func, const char *text)
{
    if (nof_error_class(code) == MPIX_ERR_PROC_FAILED)
        nof_lib_linger(LAUNCHER_MS);
    nof_lib_die(nof_error_class(code) & 0xff, "%s: %s", func, text);
}

int nof_error_raise(struct nof_comm *comm, int code, const char *func)
{
    char text[MPI_MAX_ERROR_STRING];
    nof_lib_lock();
    if (comm == NULL)
        comm = comm_of_last_resort();
    struct nof_errhandler *handler =
        comm == NULL ? nof_errhandler_get(MPI_ERRORS_ARE_FATAL) : comm->errhandler;
    nof_errhandler_hold(handler);
    MPI_Comm handle = comm == NULL ? MPI_COMM_WORLD : comm->handle;
    if (nof_error_text(code, text) != 0)
        snprintf(text, sizeof(text), "error code %d", code);
    nof_lib_unlock();

    if (handler->fn != NULL)
        handler->fn(&handle, &code);
    else if (handler->handle != MPI_ERRORS_RETURN)
        die(code, func, text);

    nof_lib_lock();
    nof_errhandler_release(handler);
    nof_lib_unlock();
    return code;
}

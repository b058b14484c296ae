/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/error.h"

#include <stdlib.h>

/* The predefined handlers live for ever: their reference counts are never looked at. */
static struct nof_errhandler are_fatal = {.handle = MPI_ERRORS_ARE_FATAL};
static struct nof_errhandler only_return = {.handle = MPI_ERRORS_RETURN};
static struct nof_errhandler do_abort = {.handle = MPI_ERRORS_ABORT};

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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: a handle, an error handler, and a reason for the library to be there.
 * Threads: under the library's lock. */
#ifndef NOF_MPI_SESSION_H
#define NOF_MPI_SESSION_H

#include "comm/comm.h"
#include "base/lib.h"

struct nof_errhandler;

struct nof_session {
    MPI_Session handle;
    struct nof_errhandler *errhandler;
    struct nof_bsend bsend; /* buffer of MPI_Session_attach_buffer */
};

/* Session behind a handle, with the error the standard names. *session_out is NULL on error. */
int nof_session_check(MPI_Session handle, struct nof_session **session_out);

/* As nof_lib_leave(), through the error handler of the session (NULL: as for no object). */
int nof_session_leave(const struct nof_session *session, int rc, const char *func);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the functions answer that the library does not implement: MPI_ERR_UNSUPPORTED_OPERATION with
 * a text that names the function, through the error handler of the object it works on (MPI 4.1, 9.3).
 * Their bodies are written by gen_mpi.py.
 *
 * func: "MPI_X"; why: a reason for the user, or "". All return the code unless the handler ends the
 * process. */
#ifndef NOF_MPI_UNSUPPORTED_H
#define NOF_MPI_UNSUPPORTED_H

#include "comm/entry.h"

int nof_unsupported(const char *func, const char *why);
int nof_unsupported_comm(MPI_Comm comm, const char *func, const char *why);

/* No file can be open: the handler is that of MPI_FILE_NULL. */
int nof_unsupported_file(const char *func, const char *why);

#endif

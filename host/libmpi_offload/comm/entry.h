/* SPDX-License-Identifier: BSD-3-Clause */
/* What every entry point does first and last.
 *
 *   NOF_MPI(X)
 *   int PMPI_X(...)
 *   {
 *       nof_lib_enter(__func__);            phase check, lock
 *       ... rc = MPI_SUCCESS or nof_error(class, text) ...
 *       return nof_lib_leave(comm, rc, __func__);   unlock, error handler of comm
 *   }
 */
#ifndef NOF_MPI_ENTRY_H
#define NOF_MPI_ENTRY_H

#include "base/error.h"

struct nof_comm;

/* In front of a definition of PMPI_X: exports it, and MPI_X as its weak alias. */
#define NOF_MPI(name) \
    __attribute__((visibility("default"))) __typeof__(MPI_##name) PMPI_##name; \
    __attribute__((visibility("default"), weak, \
                   alias("PMPI_" #name))) extern __typeof__(MPI_##name) MPI_##name;

/* Where the program called MPI, for the NIC's predictor: the caller of the entry point that says so, unless a
 * binding of another language, whose code that would be, named the program's own place (fortran_hooks.h). */
#define NOF_CALLSITE \
    (nof_lib_callsite != 0 ? nof_lib_callsite : (uint64_t)(uintptr_t)__builtin_return_address(0))

/* Enter an MPI function: ends the process with a clear sentence when MPI is not running here. */
void nof_lib_enter(const char *func);

/* Leave it. A nonzero rc goes through the error handler of comm (NULL: the handler for errors that
 * belong to no communicator). Returns rc unless the handler ends the process. */
int nof_lib_leave(struct nof_comm *comm, int rc, const char *func);

/* The same, where the call held comm (or NULL) because its object names it and may be gone by now: gives that back. */
int nof_lib_leave_held(struct nof_comm *comm, int rc, const char *func);

/* Leave a call that is legal at any time and began with nof_lib_lock(): errors belong to no communicator. */
int nof_lib_leave_anytime(int rc, const char *func);

/* As nof_lib_leave(), for a call that works on an object with an error handler of its own. */
int nof_lib_leave_at(const struct nof_error_object *object, int rc, const char *func);

/* raise.c: whose handler takes an error. Called without the lock. */

/* The turn of the error handler of comm, or, NULL, of errors that belong to no object. Returns code when it lets the
 * program go on. */
int nof_error_raise(struct nof_comm *comm, int code, const char *func);

/* nof_error_raise() for any object. */
int nof_error_raise_at(const struct nof_error_object *object, int code, const char *func);

/* In a process that uses sessions but not MPI_Init: whose handler takes the errors that belong to no object.
 * NULL: none. Holds a reference of the handler. With the lock. */
void nof_error_set_session(const struct nof_error_object *session);

#endif

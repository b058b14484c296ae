/* SPDX-License-Identifier: BSD-3-Clause */
/* Error classes, codes and handlers.
 *
 * A code is: a standard class; or class | instance << 14, whose own text (peer, cause) is kept in a
 * ring of the last 1024; or, with bit 30, a class or code that the program added.
 *
 * Threads: under the library's lock, except nof_error_raise(), which is called without it. */
#ifndef NOF_MPI_ERROR_H
#define NOF_MPI_ERROR_H

#include "lib.h"

struct nof_errhandler {
    MPI_Comm_errhandler_function *fn; /* NULL for the predefined ones */
    MPI_Errhandler handle;
    uint32_t refs;
};

/* A code of `error_class` with a text of its own. The text names what was wrong, with values. */
int nof_error(int error_class, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The class of any code that the library gave out or the program added; MPI_ERR_UNKNOWN otherwise. */
int nof_error_class(int code);

/* Write the text of a code into text[MPI_MAX_ERROR_STRING]. Returns 0, or -1 for an unknown code. */
int nof_error_text(int code, char *text);

/* The error handler's turn. Returns code when it lets the program go on. */
int nof_error_raise(struct nof_comm *comm, int code, const char *func);

/* Look up an error handler handle; NULL when it is none. */
struct nof_errhandler *nof_errhandler_get(MPI_Errhandler handle);
void nof_errhandler_hold(struct nof_errhandler *handler);
void nof_errhandler_release(struct nof_errhandler *handler);

/* What the program added (Add_error_class, _code, _string). 0 when memory is short. */
int nof_error_add_class(void);
int nof_error_add_code(int error_class);
int nof_error_add_string(int code, const char *text);

/* Highest class or code in use: the attribute MPI_LASTUSEDCODE. */
int nof_error_last_used(void);

#endif

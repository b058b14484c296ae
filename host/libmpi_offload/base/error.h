/* SPDX-License-Identifier: BSD-3-Clause */
/* Error classes, codes and handlers.
 *
 * A code is: a standard class; or class | instance << 14, whose own text (peer, cause) is kept in a
 * ring of the last 1024; or, with bit 30, a class or code that the program added. What fails in great numbers for one
 * reason (all sends to a rank that has died) has one code.
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_ERROR_H
#define NOF_MPI_ERROR_H

#include "base/lib.h"

enum nof_errhandler_kind {
    NOF_ERRHANDLER_ANY, /* the predefined ones */
    NOF_ERRHANDLER_COMM,
    NOF_ERRHANDLER_WIN,
    NOF_ERRHANDLER_FILE,
    NOF_ERRHANDLER_SESSION
};

/* The function gets a pointer to the object's handle. Fortran's procedures are called the same way: an
 * INTEGER handle is the low half of the handle. */
struct nof_errhandler {
    enum nof_errhandler_kind kind;
    union {
        MPI_Comm_errhandler_function *comm;
        MPI_Win_errhandler_function *win;
        MPI_File_errhandler_function *file;
        MPI_Session_errhandler_function *session;
    } fn; /* unless predefined */
    MPI_Errhandler handle; /* names it while the program has it */
    uint32_t users; /* how often the program has it, by creation and by asking objects for theirs */
    uint32_t refs; /* those, and one per object that has it */
};

/* What an error belongs to. */
struct nof_error_object {
    void *handle; /* MPI_Comm, MPI_Win, MPI_File or MPI_Session, as the handler's kind says */
    struct nof_errhandler *errhandler;
};

/* A code of `error_class` with a text of its own. The text names what was wrong, with values. */
int nof_error(int error_class, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* MPI_ERR_ARG when a pointer that the call has to follow is NULL; what: "the place for the rank". */
int nof_error_if_null(const void *pointer, const char *what);

/* The class of any code that the library gave out or the program added; MPI_ERR_UNKNOWN otherwise. */
int nof_error_class(int code);

/* Write the text of a code into text[MPI_MAX_ERROR_STRING]. Returns 0, or -1 for an unknown code. */
int nof_error_text(int code, char *text);

/* Leave a call that works on a file: as nof_lib_leave(). */
int nof_error_leave_file(int rc, const char *func);

/* Look up an error handler that may be set on objects of `kind`, with the error the standard names. */
int nof_errhandler_check(MPI_Errhandler handle, enum nof_errhandler_kind kind,
                         struct nof_errhandler **handler_out);

/* Look up an error handler handle; NULL when it is none. */
struct nof_errhandler *nof_errhandler_get(MPI_Errhandler handle);

/* The handle for a program that makes a handler or asks an object for its handler; to be given back. */
int nof_errhandler_handle(struct nof_errhandler *handler, MPI_Errhandler *handle_out);
/* The program frees one of its handles. */
void nof_errhandler_give_back(struct nof_errhandler *handler);
void nof_errhandler_hold(struct nof_errhandler *handler);
void nof_errhandler_release(struct nof_errhandler *handler);

/* What the program added (Add_error_class, _code, _string). 0 when memory is short. */
int nof_error_add_class(void);
int nof_error_add_code(int error_class);
int nof_error_add_string(int code, const char *text);

/* What was added is taken away again. A class must have no codes left, and no class or code a text (MPI 4.1, 9.5). */
int nof_error_remove_class(int error_class);
int nof_error_remove_code(int code);
int nof_error_remove_string(int code);

/* Highest class or code in use: the attribute MPI_LASTUSEDCODE. */
int nof_error_last_used(void);

#endif

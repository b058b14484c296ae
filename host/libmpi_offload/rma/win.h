/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows: memory that other processes of a communicator may read and write (one-sided communication;
 * docs/decisions/0011-one-sided.md).
 *
 *   nof_win_make()  collective: a window with a communicator of its own, whose command stream is open
 *   nof_win_free()  collective: everything is done, everybody is here, the stream is closed
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_WIN_H
#define NOF_MPI_WIN_H

#include "comm/comm.h"

struct nof_attr_owner;
struct nof_info;
struct nof_rma;

enum { NOF_WIN_HINTS = 7 };

/* A window as each process sees the part of another. */
struct nof_win_part {
    uint64_t base; /* address in the owner's memory */
    uint64_t size; /* bytes */
    uint64_t disp_unit;
};

struct nof_win {
    MPI_Win handle;
    struct nof_comm *comm; /* its own */
    struct nof_errhandler *errhandler;
    struct nof_attr *attrs;
    int flavor; /* MPI_WIN_FLAVOR_* */
    void *base; /* of this process */
    MPI_Aint size;
    MPI_Aint disp_unit;
    struct {
        int disp_unit;
        int model;
    } facts; /* what predefined attributes point to */
    struct nof_win_part *parts; /* by rank; not for dynamic windows */
    void *memory; /* what nof_win_free() gives back: ALLOCATE */
    void *shared; /* ... and the mapping of SHARED */
    size_t shared_bytes;
    struct nof_rma *rma; /* operations under way, synchronization: rma.h */
    char *hints[NOF_WIN_HINTS]; /* win_hints.c; NULL: as the standard has it */
    char name[MPI_MAX_OBJECT_NAME];
};

/* Window behind a handle, with the error the standard names. *win_out is NULL on error. */
int nof_win_check(MPI_Win handle, struct nof_win **win_out);

/* As nof_lib_leave(), through the error handler of the window. */
int nof_win_leave(struct nof_win *win, int rc, const char *func);

/* Collective over comm: a window of this flavor over base[0..size). */
struct nof_win_spec {
    struct nof_comm *comm;
    int flavor;
    void *base;
    MPI_Aint size;
    MPI_Aint disp_unit;
    const struct nof_info *hints; /* may be NULL */
    bool no_memory; /* there is no base: all ranks get MPI_ERR_NO_MEM */
};
int nof_win_make(const struct nof_win_spec *spec, struct nof_win **win_out);
/* The window is gone when this returns MPI_SUCCESS. *late_out: what a target reported since the last
 * synchronization, to be raised by the caller. */
int nof_win_free(struct nof_win *win, int *late_out);

/* win_hints.c: keep the hints that the standard has for windows (info may be NULL), and tell them. */
int nof_win_take_hints(struct nof_win *win, const struct nof_info *info);
int nof_win_tell_hints(const struct nof_win *win, struct nof_info *info);

/* Takes a reference. */
void nof_win_set_errhandler(struct nof_win *win, struct nof_errhandler *handler);

/* attr.h */
struct nof_attr_owner nof_attr_of_win(struct nof_win *win);

#endif

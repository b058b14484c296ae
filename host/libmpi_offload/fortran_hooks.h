/* SPDX-License-Identifier: BSD-3-Clause */
/* The one door between libmpi_offload and its Fortran bindings, libmpi_offload_fortran: what these need and the
 * standard's C functions do not offer. Not for programs.
 *
 * Threads: as the MPI functions. */
#ifndef NOF_MPI_FORTRAN_HOOKS_H
#define NOF_MPI_FORTRAN_HOOKS_H

#include <stdbool.h>

struct nof_fortran_hooks {
    /* The next MPI calls of this thread are made for a program that called at `site`; NULL: for themselves. */
    void (*callsite)(const void *site);
    /* This thread's next call of an attribute function speaks for Fortran: keyvals get Fortran procedures, values
     * are integers in place of pointers; is_old: INTEGERs of MPI-1. */
    void (*attributes)(bool is_old);
};

extern const struct nof_fortran_hooks nof_fortran_hooks;

#endif

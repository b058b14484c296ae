/* SPDX-License-Identifier: BSD-3-Clause */
/* The one door between libmpi_offload and its Fortran bindings, libmpi_offload_fortran: what these need and the
 * standard's C functions do not offer. Not for programs.
 *
 * Threads: as the MPI functions. */
#ifndef NOF_MPI_FORTRAN_HOOKS_H
#define NOF_MPI_FORTRAN_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

#include "mpi.h"

#define NOF_SECTION_RANK_MAX 15

/* A section of an array: elements of elem_bytes, in Fortran's order; dimension i is extent[i] of them stride[i] bytes
 * apart. Dimensions that lie one after the other are told as one. */
struct nof_section {
    void *base; /* its first element */
    size_t elem_bytes; /* > 0 */
    int rank;
    size_t extent[NOF_SECTION_RANK_MAX]; /* > 1 */
    ptrdiff_t stride[NOF_SECTION_RANK_MAX];
};

struct nof_fortran_hooks {
    /* The next MPI calls of this thread are made for a program that called at `site`; NULL: for themselves. */
    void (*callsite)(const void *site);
    /* This thread's next call of an attribute function speaks for Fortran: keyvals get Fortran procedures, values
     * are integers in place of pointers; is_old: INTEGERs of MPI-1. */
    void (*attributes)(bool is_old);
    /* The committed type of which one element at the section's base is `count` elements of `type` in the section's
     * elements strung together; `step_bytes` not 0: of that extent. MPI_SUCCESS, or MPI_ERR_TYPE, MPI_ERR_COUNT or
     * MPI_ERR_NO_MEM, which is not raised. The caller frees it with free_type(). */
    int (*section_type)(const struct nof_section *section, MPI_Datatype type, MPI_Count count,
                        ptrdiff_t step_bytes, MPI_Datatype *made_out);
    void (*free_type)(MPI_Datatype made);
    /* The next collective of this thread whose buffer is `section->base` means the section's elements strung together;
     * two at most. `is_read`: the collective does not write there. forget_sections() after the call. */
    void (*section)(const struct nof_section *section, bool is_read);
    void (*forget_sections)(void);
    /* An error that the binding found, by the handler of errors that belong to no communicator. Returns its code. */
    int (*raise)(int error_class, const char *text);
};

extern const struct nof_fortran_hooks nof_fortran_hooks;

#endif

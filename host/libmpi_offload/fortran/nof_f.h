/* SPDX-License-Identifier: BSD-3-Clause */
/* What the C functions behind the Fortran bindings share.
 *
 * A Fortran program calls mpi_x_ with the address of every argument; each of these functions turns the arguments
 * into C's, calls MPI_X (not PMPI_X: a profiling library that wraps the C function sees Fortran's calls too), and
 * turns the results back. The same function serves mpif.h, the module mpi and the module mpi_f08, whose handles
 * and statuses are the same words with a type, and whose ierror may be left out (then it is NULL).
 *
 * A Fortran handle is the low word of C's. Compilers: gfortran's conventions (one underscore, lengths of strings
 * last as size_t, LOGICAL of the size of an int with the values 0 and 1). */
#ifndef NOF_F_H
#define NOF_F_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "api/fortran_hooks.h"
#include "mpi.h"

/* In front of the definition of pmpi_x_: exports it under the names of all three bindings, of which a profiling
 * library may replace all but pmpi_x_. */
#define NOF_F_ALIAS(alias_name, name, ret, args) \
    __attribute__((visibility("default"), weak, alias("pmpi_" #name "_"))) ret alias_name args;
#define NOF_F_PROTOTYPE(name, ret, args) __attribute__((visibility("default"))) ret pmpi_##name##_ args;
#define NOF_F(name, ret, args) \
    NOF_F_PROTOTYPE(name, ret, args) \
    NOF_F_ALIAS(mpi_##name##_, name, ret, args) \
    NOF_F_ALIAS(mpi_##name##_f08_, name, ret, args) \
    NOF_F_ALIAS(pmpi_##name##_f08_, name, ret, args)

/* Fortran's procedures, whatever their arguments. */
typedef void nof_f_function(void);

/* No output string of an MPI function is longer. */
#define NOF_F_STRING_MAX (MPI_MAX_LIBRARY_VERSION_STRING + 1)

/* The objects that stand for addresses no argument can have: common blocks of the modules, of mpif.h and of programs,
 * of which the linker makes one each. (Defined in C they would be larger under AddressSanitizer.) */
extern MPI_Fint mpi_fortran_bottom_[1], mpi_fortran_in_place_[1], mpi_fortran_buffer_automatic_[1];
extern MPI_Fint mpi_fortran_status_ignore_[MPI_F_STATUS_SIZE],
    mpi_fortran_statuses_ignore_[MPI_F_STATUS_SIZE];
extern MPI_Fint mpi_fortran_errcodes_ignore_[1], mpi_fortran_unweighted_[1], mpi_fortran_weights_empty_[1];
extern char mpi_fortran_argv_null_[1], mpi_fortran_argvs_null_[1];

/* Arguments that stand for something else. */

/* A choice buffer: MPI_BOTTOM, MPI_IN_PLACE, MPI_BUFFER_AUTOMATIC or itself. */
void *nof_f_buffer(void *buffer);
/* A status or an array of them; NULL for MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE. */
MPI_Status *nof_f_status(MPI_Fint *status);
int *nof_f_weights(MPI_Fint *weights);
int *nof_f_errcodes(MPI_Fint *errcodes);

/* Strings. */

/* A C string for a blank padded one; the caller frees it. Never NULL: ends the process without memory. */
char *nof_f_string_in(const char *string, size_t len);
/* The same without leading blanks, as keys and values of info objects want it. */
char *nof_f_string_trimmed(const char *string, size_t len);
/* A C string into a blank padded one; what is too long is cut. */
void nof_f_string_out(const char *from, char *string, size_t len);

/* Arrays of handles. */

enum nof_f_kind { NOF_F_REQUEST, NOF_F_TYPE, NOF_F_INFO };

struct nof_f_handles {
    enum nof_f_kind kind;
    size_t count;
    void *items; /* array of MPI_Request, MPI_Datatype or MPI_Info */
    void *room[32];
};

/* C handles for `count` Fortran ones (negative: none). Returns MPI_SUCCESS or, raised already, MPI_ERR_NO_MEM. */
int nof_f_handles_in(struct nof_f_handles *handles, enum nof_f_kind kind, const MPI_Fint *from,
                     MPI_Count count);
/* Back to Fortran (NULL: not wanted), and free. */
void nof_f_handles_out(struct nof_f_handles *handles, MPI_Fint *to);

/* How many processes a collective of this communicator exchanges data with. */
int nof_f_peers(MPI_Comm comm);
/* How many neighbours it sends to (incoming == 0) or receives from. */
int nof_f_neighbours(MPI_Comm comm, int incoming);

/* Results. */

static inline int nof_f_position(int index)
{
    return index >= 0 ? index + 1 : index;
}
void nof_f_positions(MPI_Fint *indices, int count);

static inline int nof_f_worst(int rc, int other)
{
    return rc != MPI_SUCCESS ? rc : other;
}

static inline void nof_f_ierror(MPI_Fint *ierror, int rc)
{
    if (ierror != NULL)
        *ierror = rc;
}

#endif

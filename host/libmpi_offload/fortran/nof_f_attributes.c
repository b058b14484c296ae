/* SPDX-License-Identifier: BSD-3-Clause */
/* The attribute functions that the standard itself has, as procedures that a Fortran program passes on or calls. */
#include "fortran/nof_f.h"

#define UNUSED __attribute__((unused))

typedef void copy_function(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *extra_state, MPI_Aint *in,
                           MPI_Aint *out, MPI_Fint *flag, MPI_Fint *ierror);
typedef void delete_function(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *value, MPI_Aint *extra_state,
                             MPI_Fint *ierror);
/* Those of MPI-1, whose values are INTEGERs. */
typedef void old_copy_function(MPI_Fint *object, MPI_Fint *keyval, MPI_Fint *extra_state, MPI_Fint *in,
                               MPI_Fint *out, MPI_Fint *flag, MPI_Fint *ierror);
typedef void old_delete_function(MPI_Fint *object, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *extra_state,
                                 MPI_Fint *ierror);

#define PREDEFINED(prefix) \
    __attribute__((visibility("default"))) copy_function mpi_##prefix##null_copy_fn_, mpi_##prefix##dup_fn_; \
    __attribute__((visibility("default"))) delete_function mpi_##prefix##null_delete_fn_; \
    void mpi_##prefix##null_copy_fn_(MPI_Fint *object UNUSED, MPI_Fint *keyval UNUSED, \
                                     MPI_Aint *extra_state UNUSED, MPI_Aint *in UNUSED, \
                                     MPI_Aint *out UNUSED, MPI_Fint *flag, MPI_Fint *ierror) \
    { \
        *flag = 0; \
        *ierror = MPI_SUCCESS; \
    } \
    void mpi_##prefix##dup_fn_(MPI_Fint *object UNUSED, MPI_Fint *keyval UNUSED, \
                               MPI_Aint *extra_state UNUSED, MPI_Aint *in, MPI_Aint *out, MPI_Fint *flag, \
                               MPI_Fint *ierror) \
    { \
        *out = *in; \
        *flag = 1; \
        *ierror = MPI_SUCCESS; \
    } \
    void mpi_##prefix##null_delete_fn_(MPI_Fint *object UNUSED, MPI_Fint *keyval UNUSED, \
                                       MPI_Aint *value UNUSED, MPI_Aint *extra_state UNUSED, \
                                       MPI_Fint *ierror) \
    { \
        *ierror = MPI_SUCCESS; \
    }
PREDEFINED(comm_)
PREDEFINED(type_)
PREDEFINED(win_)

__attribute__((visibility("default"))) old_copy_function mpi_null_copy_fn_, mpi_dup_fn_;
__attribute__((visibility("default"))) old_delete_function mpi_null_delete_fn_;

void mpi_null_copy_fn_(MPI_Fint *object UNUSED, MPI_Fint *keyval UNUSED, MPI_Fint *extra_state UNUSED,
                       MPI_Fint *in UNUSED, MPI_Fint *out UNUSED, MPI_Fint *flag, MPI_Fint *ierror)
{
    *flag = 0;
    *ierror = MPI_SUCCESS;
}

void mpi_dup_fn_(MPI_Fint *object UNUSED, MPI_Fint *keyval UNUSED, MPI_Fint *extra_state UNUSED, MPI_Fint *in,
                 MPI_Fint *out, MPI_Fint *flag, MPI_Fint *ierror)
{
    *out = *in;
    *flag = 1;
    *ierror = MPI_SUCCESS;
}

void mpi_null_delete_fn_(MPI_Fint *object UNUSED, MPI_Fint *keyval UNUSED, MPI_Fint *value UNUSED,
                         MPI_Fint *extra_state UNUSED, MPI_Fint *ierror)
{
    *ierror = MPI_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Procedures of MPI-1 that MPI-3.0 removed, for the programs that still call them: addresses and displacements are
 * INTEGERs here, where the C functions of these names have MPI_Aint. Each is its successor with narrower
 * arguments. Not in mpi_f08. */
#include "fortran/nof_f.h"

#include <limits.h>

#define OLD(name, args) \
    NOF_F_PROTOTYPE(name, void, args) \
    NOF_F_ALIAS(mpi_##name##_, name, void, args) \
    void pmpi_##name##_ args

/* An address-sized result as an INTEGER; what does not fit is an error of the caller's choice of function. */
static int narrow(int rc, MPI_Aint wide, MPI_Fint *out)
{
    if (rc != MPI_SUCCESS)
        return rc;
    if (wide < INT_MIN || wide > INT_MAX) {
        PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_VALUE_TOO_LARGE);
        return MPI_ERR_VALUE_TOO_LARGE;
    }
    *out = (MPI_Fint)wide;
    return MPI_SUCCESS;
}

/* Displacements as addresses; freed by the caller. NULL without memory. */
static MPI_Aint *widen(const MPI_Fint *from, MPI_Fint count)
{
    size_t n = count > 0 ? (size_t)count : 0;
    MPI_Aint *wide = calloc(n + 1, sizeof(*wide));
    for (size_t i = 0; i < n && wide != NULL; i++)
        wide[i] = from[i];
    return wide;
}

static int no_memory(void)
{
    PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
}

OLD(address, (void *location, MPI_Fint *address, MPI_Fint *ierror))
{
    MPI_Aint wide = 0;
    int rc = MPI_Get_address(nof_f_buffer(location), &wide);
    nof_f_ierror(ierror, narrow(rc, wide, address));
}

OLD(type_extent, (MPI_Fint * datatype, MPI_Fint *extent, MPI_Fint *ierror))
{
    MPI_Aint lb = 0, wide = 0;
    int rc = MPI_Type_get_extent(MPI_Type_f2c(*datatype), &lb, &wide);
    nof_f_ierror(ierror, narrow(rc, wide, extent));
}

OLD(type_lb, (MPI_Fint * datatype, MPI_Fint *displacement, MPI_Fint *ierror))
{
    MPI_Aint lb = 0, wide = 0;
    int rc = MPI_Type_get_extent(MPI_Type_f2c(*datatype), &lb, &wide);
    nof_f_ierror(ierror, narrow(rc, lb, displacement));
}

OLD(type_ub, (MPI_Fint * datatype, MPI_Fint *displacement, MPI_Fint *ierror))
{
    MPI_Aint lb = 0, wide = 0;
    int rc = MPI_Type_get_extent(MPI_Type_f2c(*datatype), &lb, &wide);
    nof_f_ierror(ierror, narrow(rc, lb + wide, displacement));
}

OLD(type_hvector, (MPI_Fint * count, MPI_Fint *blocklength, MPI_Fint *stride, MPI_Fint *oldtype,
                   MPI_Fint *newtype, MPI_Fint *ierror))
{
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int rc = MPI_Type_create_hvector(*count, *blocklength, *stride, MPI_Type_f2c(*oldtype), &made);
    *newtype = MPI_Type_c2f(made);
    nof_f_ierror(ierror, rc);
}

OLD(type_hindexed, (MPI_Fint * count, MPI_Fint *blocklengths, MPI_Fint *displacements, MPI_Fint *oldtype,
                    MPI_Fint *newtype, MPI_Fint *ierror))
{
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Aint *wide = widen(displacements, *count);
    int rc = wide == NULL
                 ? no_memory()
                 : MPI_Type_create_hindexed(*count, blocklengths, wide, MPI_Type_f2c(*oldtype), &made);
    free(wide);
    *newtype = MPI_Type_c2f(made);
    nof_f_ierror(ierror, rc);
}

OLD(type_struct, (MPI_Fint * count, MPI_Fint *blocklengths, MPI_Fint *displacements, MPI_Fint *oldtypes,
                  MPI_Fint *newtype, MPI_Fint *ierror))
{
    MPI_Datatype made = MPI_DATATYPE_NULL;
    struct nof_f_handles types;
    MPI_Aint *wide = widen(displacements, *count);
    int rc = nof_f_handles_in(&types, NOF_F_TYPE, oldtypes, *count);
    if (rc == MPI_SUCCESS)
        rc = wide == NULL ? no_memory()
                          : MPI_Type_create_struct(*count, blocklengths, wide, types.items, &made);
    nof_f_handles_out(&types, NULL);
    free(wide);
    *newtype = MPI_Type_c2f(made);
    nof_f_ierror(ierror, rc);
}

OLD(errhandler_create, (nof_f_function * function, MPI_Fint *errhandler, MPI_Fint *ierror))
{
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    int rc = MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)function, &made);
    *errhandler = MPI_Errhandler_c2f(made);
    nof_f_ierror(ierror, rc);
}

OLD(errhandler_set, (MPI_Fint * comm, MPI_Fint *errhandler, MPI_Fint *ierror))
{
    nof_f_ierror(ierror, MPI_Comm_set_errhandler(MPI_Comm_f2c(*comm), MPI_Errhandler_f2c(*errhandler)));
}

OLD(errhandler_get, (MPI_Fint * comm, MPI_Fint *errhandler, MPI_Fint *ierror))
{
    MPI_Errhandler found = MPI_ERRHANDLER_NULL;
    int rc = MPI_Comm_get_errhandler(MPI_Comm_f2c(*comm), &found);
    *errhandler = MPI_Errhandler_c2f(found);
    nof_f_ierror(ierror, rc);
}

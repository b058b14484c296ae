/* SPDX-License-Identifier: BSD-3-Clause */
/* What MPI-3.0 removed from MPI-1 and programs still call: each is its successor under the old name (MPI-4.1, chapter
 * 17 lists the pairs). The one file whose functions call PMPI_ names: there is nothing of their own in them. */
#include "comm/entry.h"
#include "base/lib.h"

NOF_MPI(Address)
int PMPI_Address(void *location, MPI_Aint *address)
{
    return PMPI_Get_address(location, address);
}

NOF_MPI(Errhandler_create)
int PMPI_Errhandler_create(MPI_Handler_function *handler_fn, MPI_Errhandler *errhandler)
{
    return PMPI_Comm_create_errhandler(handler_fn, errhandler);
}

NOF_MPI(Errhandler_get)
int PMPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    return PMPI_Comm_get_errhandler(comm, errhandler);
}

NOF_MPI(Errhandler_set)
int PMPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
    return PMPI_Comm_set_errhandler(comm, errhandler);
}

NOF_MPI(Type_extent)
int PMPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent)
{
    MPI_Aint lb;
    return PMPI_Type_get_extent(datatype, &lb, extent);
}

NOF_MPI(Type_hindexed)
int PMPI_Type_hindexed(int count, int array_of_blocklengths[], MPI_Aint array_of_displacements[],
                       MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return PMPI_Type_create_hindexed(count, array_of_blocklengths, array_of_displacements, oldtype, newtype);
}

NOF_MPI(Type_hvector)
int PMPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                      MPI_Datatype *newtype)
{
    return PMPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}

NOF_MPI(Type_lb)
int PMPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint extent;
    return PMPI_Type_get_extent(datatype, displacement, &extent);
}

NOF_MPI(Type_struct)
int PMPI_Type_struct(int count, int array_of_blocklengths[], MPI_Aint array_of_displacements[],
                     MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
    return PMPI_Type_create_struct(count, array_of_blocklengths, array_of_displacements, array_of_types,
                                   newtype);
}

NOF_MPI(Type_ub)
int PMPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint lb, extent;
    int rc = PMPI_Type_get_extent(datatype, &lb, displacement == NULL ? NULL : &extent);
    if (rc == MPI_SUCCESS)
        *displacement = lb + extent;
    return rc;
}

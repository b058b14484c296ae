/* SPDX-License-Identifier: BSD-3-Clause */
/* A status in C, in Fortran's array of eight INTEGERs and as Fortran 2008's type: the same 32 bytes
 * three times (MPI 4.1, 19.3.5). */
#include <string.h>

#include "comm/entry.h"
#include "base/lib.h"

_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint), "a status is eight words");
_Static_assert(sizeof(MPI_Status) == sizeof(MPI_F08_status), "a status is eight words");

static int convert(const void *from, void *to)
{
    if (from == NULL || to == NULL)
        return MPI_ERR_ARG;
    memcpy(to, from, sizeof(MPI_Status));
    return MPI_SUCCESS;
}

NOF_MPI(Status_c2f)
int PMPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    return convert(c_status, f_status);
}

NOF_MPI(Status_f2c)
int PMPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
    return convert(f_status, c_status);
}

NOF_MPI(Status_c2f08)
int PMPI_Status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status)
{
    return convert(c_status, f08_status);
}

NOF_MPI(Status_f082c)
int PMPI_Status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status)
{
    return convert(f08_status, c_status);
}

NOF_MPI(Status_f2f08)
int PMPI_Status_f2f08(const MPI_Fint *f_status, MPI_F08_status *f08_status)
{
    return convert(f_status, f08_status);
}

NOF_MPI(Status_f082f)
int PMPI_Status_f082f(const MPI_F08_status *f08_status, MPI_Fint *f_status)
{
    return convert(f08_status, f_status);
}

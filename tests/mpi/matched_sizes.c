/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Type_match_size finds every Fortran type that the library has, the shortest included. */
#include "mpitest.h"

static void finds(int typeclass, int size, MPI_Datatype expected)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int bytes = 0;
    OK(MPI_Type_match_size(typeclass, size, &type));
    OK(MPI_Type_size(type, &bytes));
    CHECK(type == expected && bytes == size);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    t_errors_return();
    MPI_Datatype type;
    finds(MPI_TYPECLASS_REAL, 2, MPI_REAL2);
    finds(MPI_TYPECLASS_REAL, 4, MPI_REAL4);
    finds(MPI_TYPECLASS_REAL, 8, MPI_REAL8);
    finds(MPI_TYPECLASS_REAL, 16, MPI_REAL16);
    finds(MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4);
    finds(MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8);
    finds(MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16);
    finds(MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32);
    finds(MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1);
    finds(MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16);
    FAILS(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type), MPI_ERR_ARG);
    return t_end();
}

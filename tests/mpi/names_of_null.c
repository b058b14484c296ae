/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles that are null have names (MPI 4.1: as if a program had set them), of which a program can print one without
 * asking first whether there is an object. */
#include "mpitest.h"

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    t_errors_return();
    char name[MPI_MAX_OBJECT_NAME];
    int len;
    OK(MPI_Comm_get_name(MPI_COMM_NULL, name, &len));
    CHECK(strcmp(name, "MPI_COMM_NULL") == 0 && len == (int)strlen(name));
    OK(MPI_Win_get_name(MPI_WIN_NULL, name, &len));
    CHECK(strcmp(name, "MPI_WIN_NULL") == 0 && len == (int)strlen(name));
    OK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &len));
    CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0 && len == (int)strlen(name));
    FAILS(MPI_Comm_set_name(MPI_COMM_NULL, "x"), MPI_ERR_COMM);
    return t_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* An error class with codes or a text, and a code with a text, are in use: they can be removed only when those are. */
#include "mpitest.h"

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    t_errors_return();
    int class, code, len;
    char text[MPI_MAX_ERROR_STRING];
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_string(class, "of the class"));
    OK(MPI_Add_error_string(code, "of the code"));
    FAILS(MPI_Remove_error_class(class), MPI_ERR_OTHER);
    FAILS(MPI_Remove_error_code(code), MPI_ERR_OTHER);
    OK(MPI_Error_string(code, text, &len));
    CHECK(strcmp(text, "of the code") == 0);
    OK(MPI_Remove_error_string(code));
    OK(MPI_Remove_error_code(code));
    FAILS(MPI_Remove_error_class(class), MPI_ERR_OTHER);
    OK(MPI_Error_string(class, text, &len));
    CHECK(strcmp(text, "of the class") == 0);
    OK(MPI_Remove_error_string(class));
    OK(MPI_Remove_error_class(class));
    FAILS(MPI_Remove_error_class(class), MPI_ERR_ARG);
    return t_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Error handlers belong to communicators: a user's function is called with communicator and code, is
 * inherited by a duplicate, and does not concern other communicators. */
#include "mpitest.h"

static int calls;
static MPI_Comm last_comm;
static int last_class;

static void handler(MPI_Comm *comm, int *code, ...)
{
    calls++;
    last_comm = *comm;
    MPI_Error_class(*code, &last_class);
}

static void file_handler(MPI_File *file, int *code, ...)
{
    calls++;
    CHECK(*file == MPI_FILE_NULL);
    MPI_Error_class(*code, &last_class);
}

/* What is not supported says so through the handler of its object, and leaves null handles behind. */
static void unsupported(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int len, codes[1];
    MPI_File file;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Errhandler own;
    calls = 0;
    OK(MPI_Comm_create_errhandler(handler, &own));
    FAILS(MPI_File_set_errhandler(MPI_FILE_NULL, own), MPI_ERR_ERRHANDLER); /* of the wrong kind */
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, own));
    OK(MPI_Errhandler_free(&own));
    int code = MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm, codes);
    CHECK(t_class(code) == MPI_ERR_UNSUPPORTED_OPERATION && comm == MPI_COMM_NULL);
    CHECK(calls == 1 && last_comm == MPI_COMM_SELF && last_class == MPI_ERR_UNSUPPORTED_OPERATION);
    OK(MPI_Error_string(code, text, &len));
    CHECK(strstr(text, "MPI_Comm_spawn") != NULL && len == (int)strlen(text));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));

    FAILS(MPI_File_open(MPI_COMM_SELF, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
          MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(calls == 1 && file == MPI_FILE_NULL);
    OK(MPI_File_create_errhandler(file_handler, &own));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, own));
    OK(MPI_Errhandler_free(&own));
    FAILS(MPI_File_open(MPI_COMM_SELF, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
          MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(calls == 2 && last_class == MPI_ERR_UNSUPPORTED_OPERATION);
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
}

static void classes(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int own_class, code, len, *last, flag;
    OK(MPI_Add_error_class(&own_class));
    OK(MPI_Add_error_code(own_class, &code));
    OK(MPI_Add_error_string(code, "out of coffee"));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
    CHECK(flag && *last >= own_class && *last >= code && own_class > MPI_ERR_LASTCODE);
    CHECK(t_class(code) == own_class && t_class(own_class) == own_class);
    OK(MPI_Error_string(code, text, &len));
    CHECK(strcmp(text, "out of coffee") == 0);
    FAILS(MPI_Remove_error_class(own_class), MPI_ERR_OTHER); /* it has a code */
    OK(MPI_Remove_error_string(code));
    OK(MPI_Error_string(code, text, &len));
    CHECK(len == 0);
    OK(MPI_Remove_error_code(code));
    OK(MPI_Remove_error_class(own_class));
    FAILS(MPI_Remove_error_class(own_class), MPI_ERR_ARG);
    FAILS(MPI_Remove_error_class(MPI_ERR_ARG), MPI_ERR_ARG);
    FAILS(MPI_Add_error_string(MPI_ERR_ARG, "mine"), MPI_ERR_ARG);
    CHECK(t_class(own_class) == MPI_ERR_UNKNOWN);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    t_errors_return();
    MPI_Errhandler own, got;
    MPI_Comm comm, copy;
    int v = 0;
    OK(MPI_Comm_create_errhandler(handler, &own));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, own));
    OK(MPI_Comm_get_errhandler(comm, &got));
    CHECK(got == own); /* programs compare */
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Comm_set_errhandler(comm, own)); /* each of the two was a handle to give back */
    OK(MPI_Errhandler_free(&own)); /* lives on in the communicator */
    CHECK(own == MPI_ERRHANDLER_NULL);
    OK(MPI_Comm_dup(comm, &copy));

    FAILS(MPI_Send(&v, 1, MPI_INT, t_size, 0, comm), MPI_ERR_RANK);
    CHECK(calls == 1 && last_comm == comm && last_class == MPI_ERR_RANK);
    FAILS(MPI_Send(&v, 1, MPI_INT, 0, -9, copy), MPI_ERR_TAG);
    CHECK(calls == 2 && last_comm == copy && last_class == MPI_ERR_TAG);
    FAILS(MPI_Send(&v, 1, MPI_INT, t_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    CHECK(calls == 2);

    OK(MPI_Comm_get_errhandler(copy, &got));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, got));
    OK(MPI_Errhandler_free(&got));
    FAILS(MPI_Send(&v, 1, MPI_INT, t_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    CHECK(calls == 3);
    OK(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
    CHECK(calls == 4 && last_class == MPI_ERR_OTHER);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free(&copy));
    unsupported();
    classes();
    return t_end();
}

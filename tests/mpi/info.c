/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects keep their keys in the order of setting, cut values to the room given, work before MPI_Init and after
 * MPI_Finalize; hints of a communicator are not inherited; MPI_INFO_ENV says how the program was started. */
#include "mpitest.h"

static void keys(void)
{
    char key[MPI_MAX_INFO_KEY], value[16];
    int n, flag, len;
    MPI_Info info, copy;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "one", "1"));
    OK(MPI_Info_set(info, "two", "22"));
    OK(MPI_Info_set(info, "three", "333"));
    OK(MPI_Info_set(info, "two", "twenty two"));
    OK(MPI_Info_delete(info, "one"));
    OK(MPI_Info_dup(info, &copy));
    OK(MPI_Info_free(&info));
    CHECK(info == MPI_INFO_NULL);

    OK(MPI_Info_get_nkeys(copy, &n));
    CHECK(n == 2);
    OK(MPI_Info_get_nthkey(copy, 0, key));
    CHECK(strcmp(key, "two") == 0);
    OK(MPI_Info_get_nthkey(copy, 1, key));
    CHECK(strcmp(key, "three") == 0);

    OK(MPI_Info_get(copy, "two", 6, value, &flag));
    CHECK(flag && strcmp(value, "twenty") == 0);
    OK(MPI_Info_get_valuelen(copy, "two", &len, &flag));
    CHECK(flag && len == 10);
    len = 4;
    OK(MPI_Info_get_string(copy, "two", &len, value, &flag));
    CHECK(flag && len == 11 && strcmp(value, "twe") == 0);
    len = 0;
    OK(MPI_Info_get_string(copy, "two", &len, NULL, &flag));
    CHECK(flag && len == 11);
    OK(MPI_Info_get(copy, "one", 6, value, &flag));
    CHECK(!flag);
    OK(MPI_Info_free(&copy));
}

static void errors(void)
{
    char longest[MPI_MAX_INFO_VAL + 1];
    MPI_Info info, freed;
    int flag;
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    OK(MPI_Info_create(&info));
    FAILS(MPI_Info_set(info, longest, "v"), MPI_ERR_INFO_KEY);
    FAILS(MPI_Info_set(info, "", "v"), MPI_ERR_INFO_KEY);
    FAILS(MPI_Info_set(info, "k", longest), MPI_ERR_INFO_VALUE);
    FAILS(MPI_Info_delete(info, "k"), MPI_ERR_INFO_NOKEY);
    FAILS(MPI_Info_get_nthkey(info, 0, longest), MPI_ERR_ARG);
    freed = info;
    OK(MPI_Info_free(&info));
    FAILS(MPI_Info_get(freed, "k", 1, longest, &flag), MPI_ERR_INFO);
    FAILS(MPI_Info_set(MPI_INFO_NULL, "k", "v"), MPI_ERR_INFO);
    FAILS(MPI_Info_set(MPI_INFO_ENV, "k", "v"), MPI_ERR_INFO);
}

static void hints(void)
{
    char value[8];
    int flag;
    MPI_Info info, used;
    MPI_Comm comm, copy;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    OK(MPI_Comm_get_info(comm, &used));
    OK(MPI_Info_get(used, "mpi_assert_no_any_tag", 7, value, &flag));
    CHECK(flag && strcmp(value, "true") == 0);
    OK(MPI_Info_free(&used));
    OK(MPI_Comm_dup(comm, &copy));
    OK(MPI_Comm_get_info(copy, &used));
    OK(MPI_Info_get(used, "mpi_assert_no_any_tag", 7, value, &flag));
    CHECK(flag && strcmp(value, "false") == 0);
    OK(MPI_Info_free(&used));
    FAILS(MPI_Comm_set_info(comm, MPI_INFO_NULL), MPI_ERR_INFO);
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free(&copy));
}

/* Every type that a Fortran compiler may lack is spoken of, and as MPI_Type_size does. */
static void fortran_types(MPI_Info info)
{
    static const struct {
        const char *key;
        MPI_Datatype type;
    } types[] = {
        {"mpi_logical1_supported", MPI_LOGICAL1},
        {"mpi_logical2_supported", MPI_LOGICAL2},
        {"mpi_logical4_supported", MPI_LOGICAL4},
        {"mpi_logical8_supported", MPI_LOGICAL8},
        {"mpi_logical16_supported", MPI_LOGICAL16},
        {"mpi_integer1_supported", MPI_INTEGER1},
        {"mpi_integer2_supported", MPI_INTEGER2},
        {"mpi_integer4_supported", MPI_INTEGER4},
        {"mpi_integer8_supported", MPI_INTEGER8},
        {"mpi_integer16_supported", MPI_INTEGER16},
        {"mpi_real2_supported", MPI_REAL2},
        {"mpi_real4_supported", MPI_REAL4},
        {"mpi_real8_supported", MPI_REAL8},
        {"mpi_real16_supported", MPI_REAL16},
        {"mpi_complex4_supported", MPI_COMPLEX4},
        {"mpi_complex8_supported", MPI_COMPLEX8},
        {"mpi_complex16_supported", MPI_COMPLEX16},
        {"mpi_complex32_supported", MPI_COMPLEX32},
        {"mpi_double_complex_supported", MPI_DOUBLE_COMPLEX},
    };
    char value[16];
    int flag, size, keys;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        OK(MPI_Info_get(info, types[i].key, 15, value, &flag));
        OK(MPI_Type_size(types[i].type, &size));
        CHECK(flag && strcmp(value, size == MPI_UNDEFINED ? "false" : "true") == 0);
    }
    OK(MPI_Info_get_nkeys(info, &keys));
    CHECK(keys == 4 + (int)(sizeof(types) / sizeof(types[0])));
    MPI_Info other;
    OK(MPI_Info_dup(info, &other));
    OK(MPI_Info_set(other, "mpi_real16_supported", "false"));
    FAILS(MPI_Abi_set_fortran_info(other), MPI_ERR_ABI);
    OK(MPI_Info_free(&other));
}

/* What the library says of itself in info objects. */
static void platform(void)
{
    char value[16];
    int flag, yes = 7, no = 7, is_set = 0, wrong = -1;
    MPI_Info info;
    OK(MPI_Abi_get_info(&info));
    OK(MPI_Info_get(info, "mpi_count_size", 15, value, &flag));
    CHECK(flag && atoi(value) == (int)sizeof(MPI_Count));
    OK(MPI_Info_free(&info));
    OK(MPI_Abi_get_fortran_info(&info));
    fortran_types(info);
    OK(MPI_Abi_set_fortran_info(info));
    OK(MPI_Info_set(info, "mpi_integer_size", "16"));
    FAILS(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
    OK(MPI_Info_free(&info));
    OK(MPI_Abi_get_fortran_booleans((int)sizeof(yes), &yes, &no, &is_set));
    CHECK(is_set && yes == 1 && no == 0);
    OK(MPI_Abi_set_fortran_booleans((int)sizeof(yes), &yes, &no));
    FAILS(MPI_Abi_set_fortran_booleans((int)sizeof(yes), &wrong, &no), MPI_ERR_ABI);
    OK(MPI_Get_hw_resource_info(&info));
    OK(MPI_Info_get(info, "mpi_shared_memory", 15, value, &flag));
    CHECK(flag && strcmp(value, "true") == 0);
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    char value[MPI_MAX_INFO_VAL], size[16];
    int flag;
    keys();
    t_begin(&argc, &argv, 1);
    t_errors_return();
    keys();
    errors();
    hints();
    platform();
    OK(MPI_Info_get(MPI_INFO_ENV, "maxprocs", MPI_MAX_INFO_VAL - 1, value, &flag));
    snprintf(size, sizeof(size), "%d", t_size);
    CHECK(flag && strcmp(value, size) == 0);
    OK(MPI_Info_get(MPI_INFO_ENV, "command", MPI_MAX_INFO_VAL - 1, value, &flag));
    CHECK(flag && strcmp(value, argv[0]) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    keys();
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ABI leaves to the platform: sizes of C's and Fortran's types, and Fortran's logical values (MPI 5.0, 20).
 * The library and its Fortran bindings are built with gfortran's; nothing of it can be changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/entry.h"
#include "base/error.h"
#include "base/info.h"

struct size {
    const char *key;
    int bytes;
};

static const struct size c_sizes[] = {
    {"mpi_aint_size", sizeof(MPI_Aint)},
    {"mpi_count_size", sizeof(MPI_Count)},
    {"mpi_offset_size", sizeof(MPI_Offset)},
};

static const struct size fortran_sizes[] = {
    {"mpi_logical_size", sizeof(MPI_Fint)},
    {"mpi_integer_size", sizeof(MPI_Fint)},
    {"mpi_real_size", sizeof(float)},
    {"mpi_double_precision_size", sizeof(double)},
};
/* Types that a Fortran compiler need not have; the library knows them all, whatever gfortran offers. */
static const char *const fortran_types[] = {
    "logical1", "logical2", "logical4",  "logical8",  "logical16",      "integer1", "integer2",
    "integer4", "integer8", "integer16", "real2",     "real4",          "real8",    "real16",
    "complex4", "complex8", "complex16", "complex32", "double_complex",
};
enum {
    C_SIZES = sizeof(c_sizes) / sizeof(c_sizes[0]),
    FORTRAN_SIZES = sizeof(fortran_sizes) / sizeof(fortran_sizes[0]),
    FORTRAN_TYPES = sizeof(fortran_types) / sizeof(fortran_types[0]),
    KEY_BYTES = 40,
};

static void supported_key(char key[KEY_BYTES], size_t i)
{
    snprintf(key, KEY_BYTES, "mpi_%s_supported", fortran_types[i]);
}

static int make(MPI_Info *info, struct nof_info **made)
{
    return info == NULL ? nof_error(MPI_ERR_ARG, "the place for the handle is NULL")
                        : nof_info_new(info, made);
}

static int add_sizes(struct nof_info *made, const struct size *sizes, size_t count)
{
    int rc = MPI_SUCCESS;
    for (size_t i = 0; rc == MPI_SUCCESS && i < count; i++) {
        char text[16];
        snprintf(text, sizeof(text), "%d", sizes[i].bytes);
        rc = nof_info_set(made, sizes[i].key, text);
    }
    return rc;
}

NOF_MPI(Abi_get_info)
int PMPI_Abi_get_info(MPI_Info *info)
{
    nof_lib_lock();
    struct nof_info *made;
    int rc = make(info, &made);
    if (rc == MPI_SUCCESS)
        rc = add_sizes(made, c_sizes, C_SIZES);
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Abi_get_fortran_info)
int PMPI_Abi_get_fortran_info(MPI_Info *info)
{
    nof_lib_lock();
    struct nof_info *made;
    int rc = make(info, &made);
    if (rc == MPI_SUCCESS)
        rc = add_sizes(made, fortran_sizes, FORTRAN_SIZES);
    for (size_t i = 0; rc == MPI_SUCCESS && i < FORTRAN_TYPES; i++) {
        char key[KEY_BYTES];
        supported_key(key, i);
        rc = nof_info_set(made, key, "true");
    }
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Abi_set_fortran_info)
int PMPI_Abi_set_fortran_info(MPI_Info info)
{
    nof_lib_lock();
    struct nof_info *wanted;
    int rc = nof_info_check(info, &wanted);
    for (size_t i = 0; rc == MPI_SUCCESS && i < FORTRAN_SIZES; i++) {
        const char *value = nof_info_get(wanted, fortran_sizes[i].key);
        if (value != NULL && atoi(value) != fortran_sizes[i].bytes)
            rc = nof_error(MPI_ERR_ABI, "%s is %d here, not %.20s", fortran_sizes[i].key,
                           fortran_sizes[i].bytes, value);
    }
    for (size_t i = 0; rc == MPI_SUCCESS && i < FORTRAN_TYPES; i++) {
        char key[KEY_BYTES];
        supported_key(key, i);
        const char *value = nof_info_get(wanted, key);
        if (value != NULL && strcmp(value, "true") != 0)
            rc = nof_error(MPI_ERR_ABI, "%s is true here, not %.20s", key, value);
    }
    return nof_lib_leave_anytime(rc, __func__);
}

/* gfortran: a LOGICAL of any size is 1 or 0. */
static int booleans(int size, unsigned char *yes, unsigned char *no)
{
    if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16)
        return nof_error(MPI_ERR_ARG, "there is no LOGICAL of %d bytes", size);
    memset(yes, 0, (size_t)size);
    memset(no, 0, (size_t)size);
    yes[0] = 1; /* little-endian, as all that gfortran and this library meet on */
    return MPI_SUCCESS;
}

NOF_MPI(Abi_get_fortran_booleans)
int PMPI_Abi_get_fortran_booleans(int logical_size, void *logical_true, void *logical_false, int *is_set)
{
    nof_lib_lock();
    int rc = logical_true == NULL || logical_false == NULL || is_set == NULL
                 ? nof_error(MPI_ERR_ARG, "the place for a value is NULL")
                 : booleans(logical_size, logical_true, logical_false);
    if (rc == MPI_SUCCESS)
        *is_set = 1;
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Abi_set_fortran_booleans)
int PMPI_Abi_set_fortran_booleans(int logical_size, void *logical_true, void *logical_false)
{
    unsigned char yes[16], no[16];
    nof_lib_lock();
    int rc = logical_true == NULL || logical_false == NULL ? nof_error(MPI_ERR_ARG, "a value is NULL")
                                                           : booleans(logical_size, yes, no);
    if (rc == MPI_SUCCESS && (memcmp(yes, logical_true, (size_t)logical_size) != 0 ||
                              memcmp(no, logical_false, (size_t)logical_size) != 0))
        rc = nof_error(MPI_ERR_ABI, "Fortran's .TRUE. and .FALSE. are 1 and 0 here and cannot be changed");
    return nof_lib_leave_anytime(rc, __func__);
}

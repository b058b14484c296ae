/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "chan/chan.h"
#include "comm/entry.h"
#include "base/error.h"
#include "type/type.h"

NOF_MPI(Type_commit)
int PMPI_Type_commit(MPI_Datatype *datatype)
{
    nof_lib_enter(__func__);
    struct nof_type *type;
    int rc = nof_error_if_null(datatype, "the place of the datatype");
    if (rc == MPI_SUCCESS)
        rc = nof_type_check(*datatype, false, &type);
    if (rc == MPI_SUCCESS && !type->committed) {
        type->committed = true;
        nof_chan_commit(type);
    }
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Type_free)
int PMPI_Type_free(MPI_Datatype *datatype)
{
    nof_lib_enter(__func__);
    struct nof_type *type;
    int rc = nof_error_if_null(datatype, "the place of the datatype");
    if (rc == MPI_SUCCESS)
        rc = nof_type_check(*datatype, false, &type);
    if (rc == MPI_SUCCESS && type->predefined)
        rc = nof_error(MPI_ERR_TYPE, "%s is predefined and cannot be freed", type->name);
    if (rc == MPI_SUCCESS)
        rc = nof_attr_delete_type(type);
    if (rc == MPI_SUCCESS) {
        nof_handle_remove(&nof_lib.types, nof_lib_bits(*datatype));
        nof_type_release(type);
        *datatype = MPI_DATATYPE_NULL;
    }
    return nof_lib_leave(NULL, rc, __func__);
}

static int size_of(MPI_Datatype datatype, MPI_Count *size)
{
    struct nof_type *type;
    int rc = nof_type_check(datatype, false, &type);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(size, "the place for the size");
    if (rc == MPI_SUCCESS)
        *size = (MPI_Count)type->size;
    return rc;
}

NOF_MPI(Type_size)
int PMPI_Type_size(MPI_Datatype datatype, int *size)
{
    nof_lib_enter(__func__);
    MPI_Count bytes = 0;
    int rc = size_of(datatype, &bytes);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(size, "the place for the size");
    if (rc == MPI_SUCCESS)
        *size = bytes > INT_MAX ? MPI_UNDEFINED : (int)bytes;
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Type_size_x)
int PMPI_Type_size_x(MPI_Datatype datatype, MPI_Count *size)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, size_of(datatype, size), __func__);
}

NOF_MPI(Type_size_c)
int PMPI_Type_size_c(MPI_Datatype datatype, MPI_Count *size)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, size_of(datatype, size), __func__);
}

/* An MPI_Aint is an MPI_Count. touched: from the first byte of data to the last. */
static int extent_of(MPI_Datatype datatype, bool touched, MPI_Count *lb, MPI_Count *extent, const char *func)
{
    nof_lib_enter(func);
    struct nof_type *type;
    int rc = nof_type_check(datatype, false, &type);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(lb == NULL ? NULL : extent, "the place for the bound or the extent");
    if (rc == MPI_SUCCESS) {
        *lb = touched ? type->tree->lb : type->lb;
        *extent = touched ? type->tree->ub - type->tree->lb : nof_type_extent(type);
    }
    return nof_lib_leave(NULL, rc, func);
}

NOF_MPI(Type_get_extent)
int PMPI_Type_get_extent(MPI_Datatype datatype, MPI_Aint *lb, MPI_Aint *extent)
{
    return extent_of(datatype, false, lb, extent, __func__);
}

NOF_MPI(Type_get_extent_x)
int PMPI_Type_get_extent_x(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
    return extent_of(datatype, false, lb, extent, __func__);
}

NOF_MPI(Type_get_extent_c)
int PMPI_Type_get_extent_c(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
    return extent_of(datatype, false, lb, extent, __func__);
}

NOF_MPI(Type_get_true_extent)
int PMPI_Type_get_true_extent(MPI_Datatype datatype, MPI_Aint *true_lb, MPI_Aint *true_extent)
{
    return extent_of(datatype, true, true_lb, true_extent, __func__);
}

NOF_MPI(Type_get_true_extent_x)
int PMPI_Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
    return extent_of(datatype, true, true_lb, true_extent, __func__);
}

NOF_MPI(Type_get_true_extent_c)
int PMPI_Type_get_true_extent_c(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
    return extent_of(datatype, true, true_lb, true_extent, __func__);
}

NOF_MPI(Type_set_name)
int PMPI_Type_set_name(MPI_Datatype datatype, const char *type_name)
{
    nof_lib_enter(__func__);
    struct nof_type *type;
    int rc = nof_type_check(datatype, false, &type);
    if (rc == MPI_SUCCESS && type_name == NULL)
        rc = nof_error(MPI_ERR_ARG, "the name is NULL");
    if (rc == MPI_SUCCESS)
        snprintf(type->name, sizeof(type->name), "%s", type_name);
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Type_get_name)
int PMPI_Type_get_name(MPI_Datatype datatype, char *type_name, int *resultlen)
{
    nof_lib_enter(__func__);
    struct nof_type *type = NULL;
    int rc = datatype == MPI_DATATYPE_NULL ? MPI_SUCCESS : nof_type_check(datatype, false, &type);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(type_name == NULL ? NULL : resultlen, "the place for the name or its length");
    if (rc == MPI_SUCCESS)
        *resultlen =
            snprintf(type_name, MPI_MAX_OBJECT_NAME, "%s", type == NULL ? "MPI_DATATYPE_NULL" : type->name);
    return nof_lib_leave(NULL, rc, __func__);
}

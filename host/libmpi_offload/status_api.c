/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>

#include "error.h"
#include "request.h"

static int check(const MPI_Status *status, MPI_Datatype datatype, struct nof_type **type)
{
    if (status == MPI_STATUS_IGNORE)
        return nof_error(MPI_ERR_ARG, "the status is MPI_STATUS_IGNORE");
    return nof_type_check(datatype, true, type);
}

NOF_MPI(Get_count)
int PMPI_Get_count(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    nof_lib_enter(__func__);
    struct nof_type *type;
    int rc = check(status, datatype, &type);
    if (rc == MPI_SUCCESS) {
        size_t bytes = nof_status_bytes(status);
        if (type->size == 0)
            *count = bytes == 0 ? 0 : MPI_UNDEFINED;
        else if (bytes % type->size != 0 || bytes / type->size > INT_MAX)
            *count = MPI_UNDEFINED;
        else
            *count = (int)(bytes / type->size);
    }
    return nof_lib_leave(NULL, rc, __func__);
}

static int elements(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    struct nof_type *type;
    int rc = check(status, datatype, &type);
    if (rc == MPI_SUCCESS) {
        size_t n = nof_type_elements(type, nof_status_bytes(status));
        *count = n == SIZE_MAX ? MPI_UNDEFINED : (MPI_Count)n;
    }
    return rc;
}

NOF_MPI(Get_elements)
int PMPI_Get_elements(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    nof_lib_enter(__func__);
    MPI_Count n = 0;
    int rc = elements(status, datatype, &n);
    if (rc == MPI_SUCCESS)
        *count = n > INT_MAX ? MPI_UNDEFINED : (int)n;
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Get_elements_x)
int PMPI_Get_elements_x(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, elements(status, datatype, count), __func__);
}

/* Bytes that `count` basic elements of a type take, whole types first. */
static size_t bytes_of_elements(const struct nof_type *type, size_t count)
{
    size_t each = type->tree->elements;
    if (each == 0)
        return 0;
    size_t bytes = count / each * type->size;
    for (size_t rest = count % each, part = 0; rest > 0 && part < type->size;) {
        part++;
        if (nof_type_elements(type, part) == rest) {
            bytes += part;
            break;
        }
    }
    return bytes;
}

static int set_elements(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    struct nof_type *type;
    int rc = check(status, datatype, &type);
    if (rc == MPI_SUCCESS && count < 0)
        rc = nof_error(MPI_ERR_COUNT, "the count is negative");
    if (rc == MPI_SUCCESS)
        nof_status_set(status, status->MPI_SOURCE, status->MPI_TAG, bytes_of_elements(type, (size_t)count),
                       nof_status_cancelled(status));
    return rc;
}

NOF_MPI(Status_set_elements)
int PMPI_Status_set_elements(MPI_Status *status, MPI_Datatype datatype, int count)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, set_elements(status, datatype, count), __func__);
}

NOF_MPI(Status_set_elements_x)
int PMPI_Status_set_elements_x(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, set_elements(status, datatype, count), __func__);
}

NOF_MPI(Status_set_cancelled)
int PMPI_Status_set_cancelled(MPI_Status *status, int flag)
{
    nof_lib_enter(__func__);
    nof_status_set(status, status->MPI_SOURCE, status->MPI_TAG, nof_status_bytes(status), flag != 0);
    return nof_lib_leave(NULL, MPI_SUCCESS, __func__);
}

NOF_MPI(Test_cancelled)
int PMPI_Test_cancelled(const MPI_Status *status, int *flag)
{
    nof_lib_enter(__func__);
    int rc = MPI_SUCCESS;
    if (status == MPI_STATUS_IGNORE)
        rc = nof_error(MPI_ERR_ARG, "the status is MPI_STATUS_IGNORE");
    else
        *flag = nof_status_cancelled(status);
    return nof_lib_leave(NULL, rc, __func__);
}

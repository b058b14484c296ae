/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>

#include "comm/entry.h"
#include "base/error.h"
#include "chan/request.h"

static int check_given(const MPI_Status *status)
{
    return status == MPI_STATUS_IGNORE ? nof_error(MPI_ERR_ARG, "the status is MPI_STATUS_IGNORE")
                                       : MPI_SUCCESS;
}

static int check(const MPI_Status *status, MPI_Datatype datatype, struct nof_type **type)
{
    int rc = check_given(status);
    return rc == MPI_SUCCESS ? nof_type_check(datatype, true, type) : rc;
}

static int count_of(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    struct nof_type *type;
    int rc = check(status, datatype, &type);
    if (rc != MPI_SUCCESS)
        return rc;
    size_t bytes = nof_status_bytes(status);
    if (bytes == NOF_STATUS_BYTES_UNKNOWN)
        *count = MPI_UNDEFINED;
    else if (type->size == 0)
        *count = bytes == 0 ? 0 : MPI_UNDEFINED;
    else
        *count = bytes % type->size != 0 ? MPI_UNDEFINED : (MPI_Count)(bytes / type->size);
    return MPI_SUCCESS;
}

NOF_MPI(Get_count)
int PMPI_Get_count(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    nof_lib_enter(__func__);
    MPI_Count n = 0;
    int rc = count_of(status, datatype, &n);
    if (rc == MPI_SUCCESS)
        *count = n > INT_MAX ? MPI_UNDEFINED : (int)n;
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Get_count_c)
int PMPI_Get_count_c(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, count_of(status, datatype, count), __func__);
}

static int elements(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    struct nof_type *type;
    int rc = check(status, datatype, &type);
    if (rc == MPI_SUCCESS) {
        size_t bytes = nof_status_bytes(status);
        size_t n = bytes == NOF_STATUS_BYTES_UNKNOWN ? SIZE_MAX : nof_type_elements(type, bytes);
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

NOF_MPI(Get_elements_c)
int PMPI_Get_elements_c(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, elements(status, datatype, count), __func__);
}

static int set_elements(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    struct nof_type *type;
    int rc = check(status, datatype, &type);
    if (rc == MPI_SUCCESS && count < 0)
        rc = nof_error(MPI_ERR_COUNT, "the count is negative");
    if (rc == MPI_SUCCESS)
        nof_status_set(status, status->MPI_SOURCE, status->MPI_TAG, nof_type_bytes_of(type, (size_t)count),
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

NOF_MPI(Status_set_elements_c)
int PMPI_Status_set_elements_c(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, set_elements(status, datatype, count), __func__);
}

NOF_MPI(Status_set_cancelled)
int PMPI_Status_set_cancelled(MPI_Status *status, int flag)
{
    nof_lib_enter(__func__);
    int rc = check_given(status);
    if (rc == MPI_SUCCESS)
        nof_status_set(status, status->MPI_SOURCE, status->MPI_TAG, nof_status_bytes(status), flag != 0);
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Test_cancelled)
int PMPI_Test_cancelled(const MPI_Status *status, int *flag)
{
    nof_lib_enter(__func__);
    int rc = check_given(status);
    if (rc == MPI_SUCCESS)
        *flag = nof_status_cancelled(status);
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Status_get_source)
int PMPI_Status_get_source(const MPI_Status *status, int *source)
{
    nof_lib_enter(__func__);
    int rc = check_given(status);
    if (rc == MPI_SUCCESS)
        *source = status->MPI_SOURCE;
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Status_set_source)
int PMPI_Status_set_source(MPI_Status *status, int source)
{
    nof_lib_enter(__func__);
    int rc = check_given(status);
    if (rc == MPI_SUCCESS)
        status->MPI_SOURCE = source;
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Status_get_tag)
int PMPI_Status_get_tag(const MPI_Status *status, int *tag)
{
    nof_lib_enter(__func__);
    int rc = check_given(status);
    if (rc == MPI_SUCCESS)
        *tag = status->MPI_TAG;
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Status_set_tag)
int PMPI_Status_set_tag(MPI_Status *status, int tag)
{
    nof_lib_enter(__func__);
    int rc = check_given(status);
    if (rc == MPI_SUCCESS)
        status->MPI_TAG = tag;
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Status_get_error)
int PMPI_Status_get_error(const MPI_Status *status, int *error)
{
    nof_lib_enter(__func__);
    int rc = check_given(status);
    if (rc == MPI_SUCCESS)
        *error = status->MPI_ERROR;
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Status_set_error)
int PMPI_Status_set_error(MPI_Status *status, int error)
{
    nof_lib_enter(__func__);
    int rc = check_given(status);
    if (rc == MPI_SUCCESS)
        status->MPI_ERROR = error;
    return nof_lib_leave(NULL, rc, __func__);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "comm/entry.h"
#include "base/error.h"

/* Error texts and classes may be asked for before MPI_Init and after MPI_Finalize. */
NOF_MPI(Error_string)
int PMPI_Error_string(int errorcode, char *string, int *resultlen)
{
    nof_lib_lock();
    int rc = nof_error_if_null(string == NULL ? NULL : resultlen, "the place for the text or its length");
    if (rc != MPI_SUCCESS)
        return nof_lib_leave_anytime(rc, __func__);
    if (nof_error_text(errorcode, string) != 0) {
        string[0] = '\0';
        rc = nof_error(MPI_ERR_ARG, "%d is no error code", errorcode);
    }
    *resultlen = (int)strlen(string);
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Error_class)
int PMPI_Error_class(int errorcode, int *errorclass)
{
    nof_lib_lock();
    int rc = nof_error_if_null(errorclass, "the place for the class");
    if (rc == MPI_SUCCESS)
        *errorclass = nof_error_class(errorcode);
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Add_error_class)
int PMPI_Add_error_class(int *errorclass)
{
    nof_lib_lock();
    int added = 0, rc = nof_error_if_null(errorclass, "the place for the class");
    if (rc == MPI_SUCCESS && (added = nof_error_add_class()) == 0)
        rc = MPI_ERR_NO_MEM;
    if (rc == MPI_SUCCESS)
        *errorclass = added;
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Add_error_code)
int PMPI_Add_error_code(int errorclass, int *errorcode)
{
    nof_lib_lock();
    int added = 0, rc = nof_error_if_null(errorcode, "the place for the code");
    if (rc != MPI_SUCCESS)
        return nof_lib_leave_anytime(rc, __func__);
    if (errorclass == MPI_SUCCESS || nof_error_class(errorclass) != errorclass)
        rc = nof_error(MPI_ERR_ARG, "%d is no error class", errorclass);
    else if ((added = nof_error_add_code(errorclass)) == 0)
        rc = MPI_ERR_NO_MEM;
    if (rc == MPI_SUCCESS)
        *errorcode = added;
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Add_error_string)
int PMPI_Add_error_string(int errorcode, const char *string)
{
    nof_lib_lock();
    int rc =
        string == NULL ? nof_error(MPI_ERR_ARG, "the text is NULL") : nof_error_add_string(errorcode, string);
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Remove_error_class)
int PMPI_Remove_error_class(int errorclass)
{
    nof_lib_lock();
    return nof_lib_leave_anytime(nof_error_remove_class(errorclass), __func__);
}

NOF_MPI(Remove_error_code)
int PMPI_Remove_error_code(int errorcode)
{
    nof_lib_lock();
    return nof_lib_leave_anytime(nof_error_remove_code(errorcode), __func__);
}

NOF_MPI(Remove_error_string)
int PMPI_Remove_error_string(int errorcode)
{
    nof_lib_lock();
    return nof_lib_leave_anytime(nof_error_remove_string(errorcode), __func__);
}

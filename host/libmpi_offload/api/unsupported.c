/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/unsupported.h"

#include "comm/comm.h"
#include "comm/entry.h"
#include "base/error.h"

static int unsupported(const char *func, const char *why)
{
    return nof_error(MPI_ERR_UNSUPPORTED_OPERATION, "%s is not supported by this library%s%s", func,
                     why[0] == '\0' ? "" : ": ", why);
}

int nof_unsupported(const char *func, const char *why)
{
    nof_lib_enter(func);
    return nof_lib_leave(NULL, unsupported(func, why), func);
}

int nof_unsupported_comm(MPI_Comm comm, const char *func, const char *why)
{
    nof_lib_enter(func);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = unsupported(func, why);
    return nof_lib_leave(c, rc, func);
}

int nof_unsupported_file(const char *func, const char *why)
{
    nof_lib_enter(func);
    return nof_error_leave_file(unsupported(func, why), func);
}

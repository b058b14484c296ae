/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/info.h"

static struct nof_info environment;
static bool environment_filled;

static struct nof_info *env(void)
{
    /* What MPI_Init finds out is part of it: complete from then on. */
    if (!environment_filled && nof_lib.phase != NOF_LIB_BEFORE_INIT) {
        environment_filled = true;
        (void)nof_info_fill_env(&environment, -1, NULL);
        (void)nof_info_fill_job(&environment);
    }
    return &environment;
}

int nof_info_check(MPI_Info handle, struct nof_info **info_out)
{
    *info_out = handle == MPI_INFO_ENV ? env() : nof_handle_get(&nof_lib.infos, nof_lib_bits(handle));
    if (*info_out == NULL)
        return nof_error(MPI_ERR_INFO, "%s",
                         handle == MPI_INFO_NULL ? "the info object is MPI_INFO_NULL"
                                                 : "the handle names no info object (freed?)");
    return MPI_SUCCESS;
}

int nof_info_check_optional(MPI_Info handle, struct nof_info **info_out)
{
    *info_out = NULL;
    return handle == MPI_INFO_NULL ? MPI_SUCCESS : nof_info_check(handle, info_out);
}

int nof_info_new(MPI_Info *handle_out, struct nof_info **info_out)
{
    struct nof_info *info = calloc(1, sizeof(*info));
    uint64_t handle = info == NULL ? 0 : nof_handle_add(&nof_lib.infos, info);
    if (handle == 0) {
        free(info);
        return nof_error(MPI_ERR_NO_MEM, "no memory for an info object");
    }
    *handle_out = nof_lib_handle(handle);
    if (info_out != NULL)
        *info_out = info;
    return MPI_SUCCESS;
}

void nof_info_drop(MPI_Info handle)
{
    struct nof_info *info = nof_handle_get(&nof_lib.infos, nof_lib_bits(handle));
    nof_handle_remove(&nof_lib.infos, nof_lib_bits(handle));
    nof_info_clear(info);
    free(info);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/entry.h"
#include "base/info.h"
#include "rma/win.h"

NOF_MPI(Win_set_info)
int PMPI_Win_set_info(MPI_Win win, MPI_Info info)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    struct nof_info *hints;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS)
        rc = nof_info_check(info, &hints);
    if (rc == MPI_SUCCESS)
        rc = nof_win_take_hints(w, hints);
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_get_info)
int PMPI_Win_get_info(MPI_Win win, MPI_Info *info_used)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    struct nof_info *hints;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS && info_used == NULL)
        rc = nof_error(MPI_ERR_ARG, "the place for the handle is NULL");
    if (rc == MPI_SUCCESS)
        rc = nof_info_new(info_used, &hints);
    if (rc == MPI_SUCCESS)
        rc = nof_win_tell_hints(w, hints);
    return nof_win_leave(w, rc, __func__);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints of windows (MPI 4.1, 12.2). The library needs none of them: it keeps the standard's keys for
 * whoever asks. Other keys have no meaning to it. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/info.h"
#include "rma/win.h"

static const struct {
    const char *key;
    const char *value; /* unless the program says otherwise */
} known[NOF_WIN_HINTS] = {
    {"no_locks", "false"},
    {"accumulate_ordering", "rar,raw,war,waw"},
    {"accumulate_ops", "same_op_no_op"},
    {"mpi_accumulate_granularity", "0"},
    {"same_size", "false"},
    {"same_disp_unit", "false"},
    {"alloc_shared_noncontig", "false"},
};

int nof_win_take_hints(struct nof_win *win, const struct nof_info *info)
{
    for (size_t i = 0; info != NULL && i < NOF_WIN_HINTS; i++) {
        const char *value = nof_info_get(info, known[i].key);
        if (value == NULL)
            continue;
        char *copy = strdup(value);
        if (copy == NULL)
            return nof_error(MPI_ERR_NO_MEM, "no memory for the hint %s", known[i].key);
        free(win->hints[i]);
        win->hints[i] = copy;
    }
    return MPI_SUCCESS;
}

int nof_win_tell_hints(const struct nof_win *win, struct nof_info *info)
{
    int rc = MPI_SUCCESS;
    for (size_t i = 0; rc == MPI_SUCCESS && i < NOF_WIN_HINTS; i++)
        rc = nof_info_set(info, known[i].key, win->hints[i] == NULL ? known[i].value : win->hints[i]);
    return rc;
}

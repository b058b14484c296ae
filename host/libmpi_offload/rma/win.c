/* SPDX-License-Identifier: BSD-3-Clause */
#include "rma/win.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/attr.h"
#include "coll/coll.h"
#include "make/comm_make.h"
#include "comm/entry.h"
#include "rma/rma.h"

int nof_win_check(MPI_Win handle, struct nof_win **win_out)
{
    *win_out = nof_handle_get(&nof_lib.wins, nof_lib_bits(handle));
    if (*win_out == NULL)
        return nof_error(MPI_ERR_WIN, "%s",
                         handle == MPI_WIN_NULL ? "the window is MPI_WIN_NULL"
                                                : "the handle names no window (freed?)");
    return MPI_SUCCESS;
}

int nof_win_leave(struct nof_win *win, int rc, const char *func)
{
    if (win == NULL || rc == MPI_SUCCESS)
        return nof_lib_leave(NULL, rc, func);
    struct nof_error_object object = {win->handle, win->errhandler};
    return nof_lib_leave_at(&object, rc, func);
}

/* What everybody has to know of everybody's part; it has a unit if it is there. */
static int exchange_parts(struct nof_win *win, bool no_memory)
{
    win->parts = calloc((size_t)nof_comm_size(win->comm), sizeof(*win->parts));
    if (win->parts == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a window of %d ranks", nof_comm_size(win->comm));
    if (!no_memory)
        win->parts[win->comm->rank] = (struct nof_win_part){(uint64_t)(uintptr_t)win->base,
                                                            (uint64_t)win->size, (uint64_t)win->disp_unit};
    int rc = nof_coll_allgather_bytes(win->comm, win->parts, sizeof(*win->parts));
    for (int i = 0; rc == MPI_SUCCESS && i < nof_comm_size(win->comm); i++)
        if (win->parts[i].disp_unit == 0)
            rc = nof_error(MPI_ERR_NO_MEM, "rank %d has no memory for its part of the window", i);
    return rc;
}

static void destroy(struct nof_win *win)
{
    nof_rma_close(win);
    nof_errhandler_release(win->errhandler);
    nof_comm_drop(win->comm);
    if (win->shared != NULL)
        munmap(win->shared, win->shared_bytes);
    free(win->memory);
    free(win->parts);
    for (int i = 0; i < NOF_WIN_HINTS; i++)
        free(win->hints[i]);
    free(win);
}

int nof_win_make(const struct nof_win_spec *spec, struct nof_win **win_out)
{
    struct nof_win *win = calloc(1, sizeof(*win));
    if (win == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a window");
    win->handle = MPI_WIN_NULL;
    win->flavor = spec->flavor;
    win->base = spec->base;
    win->size = spec->size;
    win->disp_unit = spec->disp_unit;
    win->facts.disp_unit = spec->disp_unit > INT_MAX ? INT_MAX : (int)spec->disp_unit;
    win->facts.model = MPI_WIN_UNIFIED;
    int rc = nof_comm_duplicate(spec->comm, &win->comm);
    if (rc != MPI_SUCCESS) {
        free(win);
        return rc;
    }
    nof_win_set_errhandler(win, nof_errhandler_get(MPI_ERRORS_ARE_FATAL));
    rc = nof_rma_open(win);
    if (rc == MPI_SUCCESS)
        rc = nof_win_take_hints(win, spec->hints);
    if (rc == MPI_SUCCESS && spec->flavor != MPI_WIN_FLAVOR_DYNAMIC)
        rc = exchange_parts(win, spec->no_memory);
    /* Nobody may send a command before everybody listens. */
    if (rc == MPI_SUCCESS)
        rc = nof_coll_barrier(win->comm);
    uint64_t handle = rc == MPI_SUCCESS ? nof_handle_add(&nof_lib.wins, win) : 0;
    if (rc == MPI_SUCCESS && handle == 0)
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for a window handle");
    if (rc != MPI_SUCCESS) {
        destroy(win);
        return rc;
    }
    win->handle = nof_lib_handle(handle);
    *win_out = win;
    return MPI_SUCCESS;
}

/* Requests of the window raise their errors at its communicator, which no handler of windows fits: what
 * such a handler has to hear it hears from the calls that synchronize. */
void nof_win_set_errhandler(struct nof_win *win, struct nof_errhandler *handler)
{
    struct nof_errhandler *of_comm =
        handler->kind == NOF_ERRHANDLER_ANY ? handler : nof_errhandler_get(MPI_ERRORS_RETURN);
    nof_errhandler_hold(handler);
    nof_errhandler_hold(of_comm);
    if (win->errhandler != NULL)
        nof_errhandler_release(win->errhandler);
    nof_errhandler_release(win->comm->errhandler);
    win->errhandler = handler;
    win->comm->errhandler = of_comm;
}

struct nof_attr_owner nof_attr_of_win(struct nof_win *win)
{
    return (struct nof_attr_owner){.on = NOF_ATTR_ON_WIN, .handle = win->handle, .list = &win->attrs};
}

int nof_win_free(struct nof_win *win, int *late_out)
{
    if (nof_rma_in_epoch(win))
        return nof_error(MPI_ERR_RMA_SYNC, "an epoch of the window is still open");
    struct nof_attr_owner owner = nof_attr_of_win(win);
    int rc = nof_attr_delete_all(&owner);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = nof_rma_flush_all(win);
    int here = nof_coll_barrier(win->comm);
    rc = rc == MPI_SUCCESS ? here : rc;
    *late_out = nof_rma_reported(win);
    nof_handle_remove(&nof_lib.wins, nof_lib_bits(win->handle));
    win->handle = MPI_WIN_NULL;
    /* Where somebody died, transfers may be under way that still look at the window: it stays. */
    if (rc == MPI_SUCCESS)
        destroy(win);
    return rc;
}

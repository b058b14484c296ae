/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock of this process's part of a window: one exclusive holder or many sharers, first come, first
 * served. */
#include <stdlib.h>

#include "rma/rma_work.h"

static bool free_for(const struct nof_rma *rma, bool exclusive)
{
    return rma->holders == 0 || (!exclusive && !rma->exclusive);
}

static void grant(struct nof_win *win, int origin, bool exclusive)
{
    win->rma->holders++;
    win->rma->exclusive = exclusive;
    (void)nof_rma_signal(win, origin, NOF_RMA_LOCKED);
}

void nof_rma_lock_asked(struct nof_win *win, int origin, bool exclusive)
{
    struct nof_rma *rma = win->rma;
    if (rma->waiting_first == NULL && free_for(rma, exclusive)) {
        grant(win, origin, exclusive);
        return;
    }
    struct nof_rma_work *work = calloc(1, sizeof(*work));
    if (work == NULL)
        nof_lib_die(1, "no memory for a lock that rank %d of a window waits for", origin);
    work->origin = origin;
    work->command.exclusive = exclusive;
    nof_rma_work_append(&rma->waiting_first, &rma->waiting_last, work);
}

void nof_rma_lock_given_back(struct nof_win *win)
{
    struct nof_rma *rma = win->rma;
    if (rma->holders > 0)
        rma->holders--;
    if (rma->holders == 0)
        rma->exclusive = false;
    while (rma->waiting_first != NULL && free_for(rma, rma->waiting_first->command.exclusive)) {
        struct nof_rma_work *work = nof_rma_work_take(&rma->waiting_first, &rma->waiting_last);
        grant(win, work->origin, work->command.exclusive);
        free(work);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/chan.h"
#include "rma/rma.h"
#include "base/wait.h"

/* One step of waiting for others, unless one of them is dead. */
static int wait_step(struct nof_win *win, struct nof_wait *wait)
{
    int dead = nof_chan_dead_member(win->comm);
    if (dead != MPI_UNDEFINED)
        return nof_chan_dead_member_code(dead, "the window cannot be synchronized");
    nof_wait_step(wait);
    return MPI_SUCCESS;
}

int nof_rma_wait(struct nof_win *win, bool (*condition)(const struct nof_win *win, int rank), int rank)
{
    struct nof_wait wait = NOF_WAIT_START;
    wait.standing = true;
    int rc = MPI_SUCCESS;
    while (rc == MPI_SUCCESS && !condition(win, rank))
        rc = wait_step(win, &wait);
    return rc;
}

int nof_rma_wait_answers(struct nof_win *win, int rank)
{
    struct nof_wait wait = NOF_WAIT_START;
    wait.standing = true;
    const struct nof_rma_peer *peer = &win->rma->peers[rank];
    uint32_t last = peer->asked;
    int rc = MPI_SUCCESS;
    while (rc == MPI_SUCCESS && (int32_t)(peer->answered - last) < 0)
        rc = wait_step(win, &wait);
    return rc;
}

int nof_rma_reported(struct nof_win *win)
{
    int error_class = win->rma->error_class;
    win->rma->error_class = 0;
    return error_class == 0 ? MPI_SUCCESS
                            : nof_error(error_class, "an operation since the last synchronization failed");
}

bool nof_rma_in_epoch(const struct nof_win *win)
{
    const struct nof_rma *rma = win->rma;
    if (rma->lock_all || rma->start_open || rma->post_open)
        return true;
    for (int i = 0; i < nof_comm_size(win->comm); i++)
        if (rma->peers[i].locked)
            return true;
    return false;
}

static bool locally_done(const struct nof_win *win, int rank)
{
    return win->rma->peers[rank].local == 0;
}

int nof_rma_flush_local(struct nof_win *win, int target)
{
    return nof_rma_wait(win, locally_done, target);
}

/* Ask for the answer to everything so far, if it is needed. */
static int ask(struct nof_win *win, int target)
{
    struct nof_rma_peer *peer = &win->rma->peers[target];
    int rc = nof_rma_wait(win, locally_done, target);
    if (rc != MPI_SUCCESS || !peer->dirty)
        return rc;
    peer->dirty = false;
    peer->asked++;
    return nof_rma_signal(win, target, NOF_RMA_FLUSH);
}

int nof_rma_flush(struct nof_win *win, int target)
{
    int rc = ask(win, target);
    return rc == MPI_SUCCESS ? nof_rma_wait_answers(win, target) : rc;
}

int nof_rma_flush_all(struct nof_win *win)
{
    int rc = MPI_SUCCESS, size = nof_comm_size(win->comm);
    for (int i = 0; rc == MPI_SUCCESS && i < size; i++)
        rc = ask(win, i);
    for (int i = 0; rc == MPI_SUCCESS && i < size; i++)
        rc = nof_rma_wait_answers(win, i);
    return rc;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Entry points of synchronization: fence, post-start-complete-wait, locks, flush. */
#include "coll/coll.h"
#include "comm/entry.h"
#include "rma/rma.h"
#include "base/wait.h"
#include "nof_private/fence.h"

static bool locked_any(const struct nof_win *w)
{
    bool any = w->rma->lock_all;
    for (int i = 0; i < nof_comm_size(w->comm); i++)
        any = any || w->rma->peers[i].locked;
    return any;
}

static int check_assert(int assert, int allowed)
{
    return (assert & ~allowed) == 0
               ? MPI_SUCCESS
               : nof_error(MPI_ERR_ASSERT, "the assertion %#x is none of this call's", (unsigned)assert);
}

NOF_MPI(Win_fence)
int PMPI_Win_fence(int assert, MPI_Win win)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS)
        rc =
            check_assert(assert, MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED);
    if (rc == MPI_SUCCESS && nof_rma_in_epoch(w))
        rc = nof_error(MPI_ERR_RMA_SYNC, "fence in an epoch of another kind");
    if (rc == MPI_SUCCESS)
        rc = nof_rma_flush_all(w);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_barrier(w->comm);
    if (rc == MPI_SUCCESS) {
        w->rma->fence_open = (assert &MPI_MODE_NOSUCCEED) == 0;
        rc = nof_rma_reported(w);
    }
    return nof_win_leave(w, rc, __func__);
}

/* Call visit() for the rank of each member of the group. */
static int for_members(struct nof_win *w, struct nof_group *group, int (*visit)(struct nof_win *w, int rank))
{
    int rc = MPI_SUCCESS;
    for (int i = 0; rc == MPI_SUCCESS && i < group->size; i++) {
        int rank = nof_group_rank_of(w->comm->group, nof_group_world_rank(group, i));
        rc = rank == MPI_UNDEFINED
                 ? nof_error(MPI_ERR_GROUP, "rank %d of the group is not in the window's", i)
                 : visit(w, rank);
    }
    return rc;
}

static int is_member(struct nof_win *w, int rank)
{
    (void)w;
    (void)rank;
    return MPI_SUCCESS;
}

static int expose(struct nof_win *w, int rank)
{
    w->rma->peers[rank].posted = true;
    return MPI_SUCCESS;
}

static int tell_posted(struct nof_win *w, int rank)
{
    return nof_rma_signal(w, rank, NOF_RMA_POST);
}

static int begin_access(struct nof_win *w, int rank)
{
    w->rma->peers[rank].started = true;
    return MPI_SUCCESS;
}

static bool has_posted(const struct nof_win *w, int rank)
{
    return w->rma->peers[rank].posts > 0;
}

static int await_post(struct nof_win *w, int rank)
{
    int rc = nof_rma_wait(w, has_posted, rank);
    if (rc == MPI_SUCCESS)
        w->rma->peers[rank].posts--;
    return rc;
}

NOF_MPI(Win_post)
int PMPI_Win_post(MPI_Group group, int assert, MPI_Win win)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    struct nof_group *g;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS)
        rc = check_assert(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT);
    if (rc == MPI_SUCCESS)
        rc = nof_group_check(group, &g);
    if (rc == MPI_SUCCESS && w->rma->post_open)
        rc = nof_error(MPI_ERR_RMA_SYNC, "an exposure epoch is open already");
    if (rc == MPI_SUCCESS)
        rc = for_members(w, g, is_member);
    if (rc == MPI_SUCCESS) {
        w->rma->post_open = true;
        w->rma->fence_open = false;
        (void)for_members(w, g, expose);
        rc = (assert &MPI_MODE_NOCHECK) != 0 ? MPI_SUCCESS : for_members(w, g, tell_posted);
    }
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_start)
int PMPI_Win_start(MPI_Group group, int assert, MPI_Win win)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    struct nof_group *g;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS)
        rc = check_assert(assert, MPI_MODE_NOCHECK);
    if (rc == MPI_SUCCESS)
        rc = nof_group_check(group, &g);
    if (rc == MPI_SUCCESS && (w->rma->start_open || locked_any(w)))
        rc = nof_error(MPI_ERR_RMA_SYNC, "an access epoch is open already");
    if (rc == MPI_SUCCESS)
        rc = for_members(w, g, is_member);
    if (rc == MPI_SUCCESS && (assert &MPI_MODE_NOCHECK) == 0)
        rc = for_members(w, g, await_post);
    if (rc == MPI_SUCCESS) {
        w->rma->start_open = true;
        w->rma->fence_open = false;
        (void)for_members(w, g, begin_access);
    }
    return nof_win_leave(w, rc, __func__);
}

/* COMPLETE counts at the target when all before it is done there: nothing need be waited for here but
 * this process's own buffers. The peer stays dirty: what it refuses after this is asked for by the next call
 * that waits for it. */
static int complete(struct nof_win *w)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < nof_comm_size(w->comm); i++) {
        struct nof_rma_peer *peer = &w->rma->peers[i];
        if (!peer->started)
            continue;
        peer->started = false;
        if (rc == MPI_SUCCESS)
            rc = nof_rma_flush_local(w, i);
        if (rc == MPI_SUCCESS)
            rc = nof_rma_signal(w, i, NOF_RMA_COMPLETE);
    }
    w->rma->start_open = false;
    return rc == MPI_SUCCESS ? nof_rma_reported(w) : rc;
}

NOF_MPI(Win_complete)
int PMPI_Win_complete(MPI_Win win)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS && !w->rma->start_open)
        rc = nof_error(MPI_ERR_RMA_SYNC, "no access epoch was started");
    if (rc == MPI_SUCCESS)
        rc = complete(w);
    return nof_win_leave(w, rc, __func__);
}

static bool all_completed(const struct nof_win *w, int rank)
{
    (void)rank;
    for (int i = 0; i < nof_comm_size(w->comm); i++)
        if (w->rma->peers[i].posted && w->rma->peers[i].completes == 0)
            return false;
    return true;
}

static void end_exposure(struct nof_win *w)
{
    for (int i = 0; i < nof_comm_size(w->comm); i++) {
        if (!w->rma->peers[i].posted)
            continue;
        w->rma->peers[i].posted = false;
        w->rma->peers[i].completes--;
    }
    w->rma->post_open = false;
}

static int check_posted(MPI_Win win, struct nof_win **w)
{
    int rc = nof_win_check(win, w);
    if (rc == MPI_SUCCESS && !(*w)->rma->post_open)
        rc = nof_error(MPI_ERR_RMA_SYNC, "no exposure epoch was posted");
    return rc;
}

NOF_MPI(Win_wait)
int PMPI_Win_wait(MPI_Win win)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = check_posted(win, &w);
    if (rc == MPI_SUCCESS)
        rc = nof_rma_wait(w, all_completed, 0);
    if (rc == MPI_SUCCESS)
        end_exposure(w);
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_test)
int PMPI_Win_test(MPI_Win win, int *flag)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = check_posted(win, &w);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(flag, "the place for the flag");
    if (rc == MPI_SUCCESS) {
        (void)nof_wait_poll();
        *flag = all_completed(w, 0);
        if (*flag)
            end_exposure(w);
    }
    return nof_win_leave(w, rc, __func__);
}

static int check_target(MPI_Win win, int rank, struct nof_win **w)
{
    int rc = nof_win_check(win, w);
    if (rc == MPI_SUCCESS && rank != MPI_PROC_NULL && (rank < 0 || rank >= nof_comm_size((*w)->comm)))
        rc = nof_error(MPI_ERR_RANK, "rank %d in a window of %d", rank, nof_comm_size((*w)->comm));
    return rc;
}

static bool is_granted(const struct nof_win *w, int rank)
{
    return w->rma->peers[rank].granted;
}

/* Ask for the lock, unless the program vouches that there is no conflict. */
static int ask_lock(struct nof_win *w, int rank, bool exclusive, bool nocheck)
{
    struct nof_rma_peer *peer = &w->rma->peers[rank];
    peer->nocheck = nocheck;
    peer->granted = nocheck;
    struct nof_rma_command command = {.kind = NOF_RMA_LOCK, .exclusive = exclusive};
    return nocheck ? MPI_SUCCESS : nof_rma_send(w, rank, &command, NULL, 0);
}

/* Ask for the answer to everything and give the lock back. */
static int ask_unlock(struct nof_win *w, int rank)
{
    struct nof_rma_peer *peer = &w->rma->peers[rank];
    int rc = nof_rma_flush_local(w, rank);
    peer->granted = false;
    if (rc != MPI_SUCCESS || (peer->nocheck && !peer->dirty))
        return rc;
    peer->dirty = false;
    peer->asked++;
    return nof_rma_signal(w, rank, peer->nocheck ? NOF_RMA_FLUSH : NOF_RMA_UNLOCK);
}

NOF_MPI(Win_lock)
int PMPI_Win_lock(int lock_type, int rank, int assert, MPI_Win win)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = check_target(win, rank, &w);
    if (rc == MPI_SUCCESS)
        rc = check_assert(assert, MPI_MODE_NOCHECK);
    if (rc == MPI_SUCCESS && lock_type != MPI_LOCK_EXCLUSIVE && lock_type != MPI_LOCK_SHARED)
        rc = nof_error(MPI_ERR_LOCKTYPE, "%d is no type of lock", lock_type);
    if (rc == MPI_SUCCESS && rank != MPI_PROC_NULL &&
        (w->rma->lock_all || w->rma->start_open || w->rma->peers[rank].locked))
        rc = nof_error(MPI_ERR_RMA_SYNC, "an access epoch is open already");
    if (rc == MPI_SUCCESS && rank != MPI_PROC_NULL) {
        w->rma->fence_open = false;
        rc = ask_lock(w, rank, lock_type == MPI_LOCK_EXCLUSIVE, (assert &MPI_MODE_NOCHECK) != 0);
        if (rc == MPI_SUCCESS)
            rc = nof_rma_wait(w, is_granted, rank);
        w->rma->peers[rank].locked = rc == MPI_SUCCESS;
    }
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_unlock)
int PMPI_Win_unlock(int rank, MPI_Win win)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = check_target(win, rank, &w);
    if (rc == MPI_SUCCESS && rank != MPI_PROC_NULL && !w->rma->peers[rank].locked)
        rc = nof_error(MPI_ERR_RMA_SYNC, "rank %d is not locked", rank);
    if (rc == MPI_SUCCESS && rank != MPI_PROC_NULL) {
        rc = ask_unlock(w, rank);
        if (rc == MPI_SUCCESS)
            rc = nof_rma_wait_answers(w, rank);
        w->rma->peers[rank].locked = false;
        rc = rc == MPI_SUCCESS ? nof_rma_reported(w) : rc;
    }
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_lock_all)
int PMPI_Win_lock_all(int assert, MPI_Win win)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS)
        rc = check_assert(assert, MPI_MODE_NOCHECK);
    if (rc == MPI_SUCCESS && (w->rma->start_open || locked_any(w)))
        rc = nof_error(MPI_ERR_RMA_SYNC, "an access epoch is open already");
    int size = rc == MPI_SUCCESS ? nof_comm_size(w->comm) : 0;
    for (int i = 0; rc == MPI_SUCCESS && i < size; i++)
        rc = ask_lock(w, i, false, (assert &MPI_MODE_NOCHECK) != 0);
    for (int i = 0; rc == MPI_SUCCESS && i < size; i++)
        rc = nof_rma_wait(w, is_granted, i);
    if (rc == MPI_SUCCESS) {
        w->rma->lock_all = true;
        w->rma->fence_open = false;
    }
    return nof_win_leave(w, rc, __func__);
}

NOF_MPI(Win_unlock_all)
int PMPI_Win_unlock_all(MPI_Win win)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS && !w->rma->lock_all)
        rc = nof_error(MPI_ERR_RMA_SYNC, "the window is not locked by MPI_Win_lock_all");
    int size = rc == MPI_SUCCESS ? nof_comm_size(w->comm) : 0;
    for (int i = 0; rc == MPI_SUCCESS && i < size; i++)
        rc = ask_unlock(w, i);
    for (int i = 0; rc == MPI_SUCCESS && i < size; i++)
        rc = nof_rma_wait_answers(w, i);
    if (size > 0)
        w->rma->lock_all = false;
    if (rc == MPI_SUCCESS)
        rc = nof_rma_reported(w);
    return nof_win_leave(w, rc, __func__);
}

/* rank MPI_ANY_SOURCE: all. */
static int flush(MPI_Win win, int rank, bool remote, const char *func)
{
    nof_lib_enter(func);
    struct nof_win *w;
    bool all = rank == MPI_ANY_SOURCE;
    int rc = all ? nof_win_check(win, &w) : check_target(win, rank, &w);
    if (rc == MPI_SUCCESS && rank != MPI_PROC_NULL &&
        !(all ? locked_any(w) : w->rma->lock_all || w->rma->peers[rank].locked))
        rc = nof_error(MPI_ERR_RMA_SYNC, "flush is for passive target epochs: lock first");
    int first = all ? 0 : rank, last = all ? (rc == MPI_SUCCESS ? nof_comm_size(w->comm) : 0) : rank + 1;
    if (rc == MPI_SUCCESS && rank != MPI_PROC_NULL && remote)
        rc = all ? nof_rma_flush_all(w) : nof_rma_flush(w, rank);
    else if (rank != MPI_PROC_NULL)
        for (int i = first; rc == MPI_SUCCESS && i < last; i++)
            rc = nof_rma_flush_local(w, i);
    if (rc == MPI_SUCCESS)
        rc = nof_rma_reported(w);
    return nof_win_leave(w, rc, func);
}

NOF_MPI(Win_flush)
int PMPI_Win_flush(int rank, MPI_Win win)
{
    return flush(win, rank == MPI_ANY_SOURCE ? MPI_UNDEFINED : rank, true, __func__);
}

NOF_MPI(Win_flush_all)
int PMPI_Win_flush_all(MPI_Win win)
{
    return flush(win, MPI_ANY_SOURCE, true, __func__);
}

NOF_MPI(Win_flush_local)
int PMPI_Win_flush_local(int rank, MPI_Win win)
{
    return flush(win, rank == MPI_ANY_SOURCE ? MPI_UNDEFINED : rank, false, __func__);
}

NOF_MPI(Win_flush_local_all)
int PMPI_Win_flush_local_all(MPI_Win win)
{
    return flush(win, MPI_ANY_SOURCE, false, __func__);
}

/* One copy of the window for all; a program that spins here has to see others' commands carried out. */
NOF_MPI(Win_sync)
int PMPI_Win_sync(MPI_Win win)
{
    nof_lib_enter(__func__);
    struct nof_win *w;
    int rc = nof_win_check(win, &w);
    (void)nof_wait_poll();
    nof_fence_full();
    return nof_win_leave(w, rc, __func__);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The guard of `nof run`: a small process that outlives it. When nof run ends in any way, SIGKILL included,
 * the guard ends the process groups that are still written in its list, so that no rank, no child of a rank
 * and no daemon is left behind.
 *
 *   nof_guard_start()   before any other child
 *   nof_guard_add(pgid) / nof_guard_remove(pgid)
 *   nof_guard_stop()    waits for its end
 *
 * Threads: one. */
#ifndef NOF_GUARD_H
#define NOF_GUARD_H

#include <sys/types.h>

enum nof_guard_how {
    NOF_GUARD_KILL, /* ranks */
    NOF_GUARD_GENTLY, /* the daemon, after the ranks: it has files to remove */
};

struct nof_guard {
    pid_t pid;
    int pipe;
};

/* 0 or -errno. */
int nof_guard_start(struct nof_guard *guard);
void nof_guard_add(struct nof_guard *guard, pid_t pgid, enum nof_guard_how how);
/* Call while the group's leader is not reaped yet: its number cannot have been given to others. */
void nof_guard_remove(struct nof_guard *guard, pid_t pgid);
void nof_guard_stop(struct nof_guard *guard);

#endif

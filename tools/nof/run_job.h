/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One job of `nof run`: its ranks, the daemon under them, and the loop that serves both.
 *
 *   run.c      options, addresses, daemon -> struct nof_job
 *   rank.c     starts one rank
 *   run_job.c      the loop: PMI, output, signals, deaths
 *   hang.c     who waits for whom
 *
 * Threads: one. */
#ifndef NOF_RUN_JOB_H
#define NOF_RUN_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "find_daemon.h"
#include "guard.h"
#include "nof_private/library_counts.h"
#include "output.h"
#include "pmi_server.h"
#include "starting.h"

#define NOF_JOB_RANKS_MAX 4096
#define NOF_JOB_EXIT_TIMEOUT 124 /* --timeout, as timeout(1) has it */
#define NOF_JOB_EXIT_OWN 125 /* nof run itself failed, as env(1) and timeout(1) say it */
#define NOF_JOB_EXIT_EXEC 126 /* the program cannot be run */
#define NOF_JOB_EXIT_FOUND 127 /* there is no such program */

struct nof_rank {
    pid_t pid; /* 0: ended */
    unsigned rank;
    unsigned host;
    int pmi_fd; /* -1: closed */
    uint64_t gone_at_ns; /* it hung up in the midst of MPI, and is stopped then; 0: it did not */
    struct nof_stream out, err;
};

struct nof_job {
    const char *self; /* "nof run" */
    char **argv; /* of the program */
    unsigned ranks;
    unsigned hosts;
    bool keep_going; /* --on-failure=continue */
    bool label;
    char id[24];
    char key[33];
    struct nof_daemon_at at;
    pid_t daemon; /* ours; 0: somebody else's */
    struct nof_guard guard;
    struct rlimit files; /* as we found it, for the ranks */

    struct nof_rank *rank;
    struct nof_pmi *pmi;
    struct nof_starting starting;
    struct nof_sink out, err;
    int signals; /* signalfd */
    int stdin_pipe; /* to rank 0 when our stdin is a terminal; -1: rank 0 has our stdin itself */
    unsigned started; /* ranks from the first that have, or had, descriptors */
    unsigned alive;
    bool ending; /* ranks have been told to go */
    int told_by_user; /* the signal: no sentence about ranks that obey it; 0: none */
    int exit_code; /* of the first failing rank; 0 while all is well */
    bool initialized; /* a rank has called MPI_Init, of this library or another */
    bool reaping; /* the last words of a dead rank are being read */
    const void *board; /* what the ranks wait for (hang.h); NULL: none */
    size_t board_bytes;
    int board_fd;
    unsigned counted_ranks; /* that have told what they counted */
    uint64_t
        counted[NOF_LIBRARY_COUNT_MAX]; /* all of theirs (nof_private/library_counts.h); at most INT64_MAX */
    uint64_t timeout_ns; /* --timeout; 0: none */
    uint64_t timeout_at_ns; /* UINT64_MAX: not, or told already */
    uint64_t kill_at_ns; /* SIGKILL for those that are still there; UINT64_MAX: not now */
    uint64_t drain_until_ns; /* all ranks have ended: how long to wait for the rest of their output */
};

/* Starts rank r. 0, or an exit code after saying why. */
int nof_rank_start(struct nof_job *job, unsigned r);

/* Starts the ranks and serves them until the last has ended. Returns the exit code of nof run. */
int nof_job_run(struct nof_job *job);

uint64_t nof_job_now_ns(void);

#endif

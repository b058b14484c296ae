/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who waits for whom in a job of `nof run`: the ranks' board (nof_private/board.h), and what the daemon knows. */
#ifndef NOF_HANG_H
#define NOF_HANG_H

#include "run_job.h"

/* Memory for the board, and its descriptor, which ranks inherit. Without one reports say less. */
void nof_hang_open(struct nof_job *job);
void nof_hang_close(struct nof_job *job);

/* What the ranks that have left MPI counted, added up in job->counted. Before close(). */
void nof_hang_count(struct nof_job *job);

/* A line per rank on stderr, and one per circle of ranks that wait for each other. */
void nof_hang_report(struct nof_job *job);

#endif

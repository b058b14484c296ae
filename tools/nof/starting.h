/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A sign of life while a large job starts: how many ranks there are, and how many of them have called MPI_Init, from
 * two seconds on, until all have met. Small jobs and programs without MPI are left alone.
 *
 * Threads: one. */
#ifndef NOF_STARTING_H
#define NOF_STARTING_H

#include <stdbool.h>
#include <stdint.h>

struct nof_job;

struct nof_starting {
    uint64_t began_ns;
    uint64_t next_ns; /* of the next line; UINT64_MAX: none any more */
};

void nof_starting_begin(struct nof_starting *s, uint64_t now_ns);
/* Prints a line to stderr if one is due: `started` of the job's ranks are there. Returns when to call again, UINT64_MAX:
 * no more. */
uint64_t nof_starting_look(struct nof_starting *s, const struct nof_job *job, unsigned started,
                           uint64_t now_ns);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which MPI a program was linked to: one of another implementation runs beside us, and nobody would know. */
#ifndef NOF_NEEDED_H
#define NOF_NEEDED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The library of another MPI that this process has loaded, if it has none of ours. False: there is none. */
bool nof_needed_mapped(pid_t pid, char *library_out, size_t library_bytes);

/* At the end of a job: one sentence when `program` (looked for as execvp() does) was linked to another MPI; or, with
 * `silent`, when no rank ever called MPI_Init. */
void nof_needed_tell(const char *program, const char *self, bool silent);

#endif

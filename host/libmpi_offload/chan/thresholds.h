/* SPDX-License-Identifier: BSD-3-Clause */
/* From which length on a message by memory whose way is auto is read by its receiver, rather than copied through cells (papers/001,
 * section 4.2). NOF_CHANNELS_TABLE names a table that `nof bench channels --tune -o FILE` has measured:
 *
 *   machine CPU, KERNEL    the rows below are for machines of this name alone; those before the first such line, for all
 *   BYTES WAY [...]        up to so many bytes (512, 64K, 1M, any): shm, single-copy, or auto: alone it is read, of several both sides
 *                          copy; what is behind is for people
 *
 * Of the rows for this machine the first that fits counts, else of those for all; `#` begins a comment. They ascend: one that is
 * never reached, behind one for as many bytes, is an error. Without a table, where no row fits, and where it says auto: shm up to 6 KiB,
 * then auto. A message that fits a slot goes there.
 *
 * Memory: its own. Threads: under the library's lock. */
#ifndef NOF_MPI_THRESHOLDS_H
#define NOF_MPI_THRESHOLDS_H

#include <stdbool.h>
#include <stddef.h>

#include "nof/bar.h"

/* Reads the environment and the file. 0, or -1 and a sentence in error[size]. */
int nof_thresholds_open(char *error, size_t size);
/* The rows of a text that is called `name`, for a machine of that name, in place of those before. */
int nof_thresholds_read(const char *name, const char *text, const char *machine, char *error, size_t size);
/* SHM, SINGLE_COPY or AUTO. *tabled_out: a row says so. */
enum nof_channels nof_thresholds_way(size_t bytes, bool *tabled_out);

#endif

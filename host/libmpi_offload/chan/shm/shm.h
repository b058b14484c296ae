/* SPDX-License-Identifier: BSD-3-Clause */
/* The channel of shared memory, as the rest of the library sees it.
 *
 *   nof_shm_publish()   behind the first fence of the launcher, when all ranks of the job are attached: this rank takes messages
 *                       this way, or stays silent
 *   nof_shm_open()      behind the second: who else does; for the job's life
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_SHM_H
#define NOF_MPI_SHM_H

#include <stdbool.h>
#include <stddef.h>

#include "nof/bar.h"

/* Allocates what others write to. way: how messages go that this rank sends, NULL: as feature "channels" says. False: the NIC
 * was not asked for a segment, or has none (text: ""), or there is no memory for it (text: a sentence); and so this rank is
 * reached by its NIC. */
bool nof_shm_publish(const enum nof_channels *way, char *text, size_t text_bytes);
/* Nothing, if that was false. */
void nof_shm_open(void);

#endif

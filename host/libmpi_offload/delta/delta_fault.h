/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults of memory, SIGSEGV and SIGBUS: who is asked about them, and who after that. */
#ifndef NOF_MPI_DELTA_FAULT_H
#define NOF_MPI_DELTA_FAULT_H

#include <stdbool.h>

/* From now on nof_delta_watch_fault() is asked about each fault that protection has caused, in the thread that has it, from
 * within a signal handler. The program's own handler, whether set before or since the last call of this, is asked after it; the
 * default action ends the process. Call it before each message that is watched. False: it cannot be. */
bool nof_delta_fault_open(void);

#endif

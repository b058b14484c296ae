/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program leaves behind at MPI_Finalize: NOF_CHECK_LEAKS=1 has it said. */
#ifndef NOF_MPI_LEAKS_H
#define NOF_MPI_LEAKS_H

#include <stdbool.h>

bool nof_leaks_wanted(void);

/* By all ranks. One line on stderr about requests that still have a handle and messages that were not received, or
 * none. Takes those messages. */
void nof_leaks_report(void);

/* Take the messages that the program found by MPI_Mprobe and never received: their senders wait. */
void nof_leaks_drop_matched(void);

#endif

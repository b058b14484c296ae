/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock of signal handlers and of those beside them: all signals are blocked while it is held, and nothing is waited for. */
#ifndef NOF_MPI_DELTA_HOLD_H
#define NOF_MPI_DELTA_HOLD_H

#include <signal.h>

void nof_delta_hold(sigset_t *before);
void nof_delta_let_go(const sigset_t *before);

#endif

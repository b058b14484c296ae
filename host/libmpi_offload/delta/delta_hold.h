/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock of signal handlers and of those beside them: all signals are blocked while it is held, and nothing is waited for.
 *
 *   handler, called with all signals blocked   enter() -> [open(), before it waits or calls the program's] -> leave()
 *
 * In between, up to open(), hold() and let_go() cost no system call. */
#ifndef NOF_MPI_DELTA_HOLD_H
#define NOF_MPI_DELTA_HOLD_H

#include <signal.h>
#include <string.h>
#include <unistd.h>

void nof_delta_hold(sigset_t *before);
void nof_delta_let_go(const sigset_t *before);

/* interrupted: what is blocked where the handler returns to; it stays where it is until leave(). */
void nof_delta_hold_enter(const sigset_t *interrupted);
/* From here on that alone is blocked, and `more`, which may be NULL. Outside handlers, and the second time: nothing. */
void nof_delta_hold_open(const sigset_t *more);
void nof_delta_hold_leave(void);

/* What neither a handler nor its program can go on without: the process ends with this line. */
static inline _Noreturn void nof_delta_give_up(const char *line)
{
    (void)!write(STDERR_FILENO, line, strlen(line));
    _exit(1);
}

#endif

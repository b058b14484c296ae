/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGSEGV and SIGBUS: ours in the kernel from the first message on whose pages are watched, the program's wherever the program
 * looks.
 *
 * sigaction(), signal() and their kin, sigprocmask() and pthread_sigmask() are this library's in programs that are linked with it.
 * What the program sets for these signals is kept here, told back as it was set, and called after ours, whenever it is set. Where
 * NOF_DELTA is os or auto when the library is loaded, no mask blocks them: a fault that is blocked ends the process.
 *
 * Not seen: libc's functions where it is looked up before this library (in a program that loads this one by dlopen), and
 * handlers set by system calls. Theirs are found at the next message (take()). */
#ifndef NOF_MPI_DELTA_SIGNAL_H
#define NOF_MPI_DELTA_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

typedef void nof_delta_signal_handler(int number, siginfo_t *info, void *context);

/* `handler` gets the signal from now on, whoever had it before, with all signals blocked; again before each message. False: the
 * kernel refuses. */
bool nof_delta_signal_take(int number, nof_delta_signal_handler *handler);

/* By that handler, after nof_delta_hold_enter(): what the program wants done with a signal that is not ours. */
void nof_delta_signal_pass_on(int number, siginfo_t *info, void *context);

#endif

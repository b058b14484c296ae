/* SPDX-License-Identifier: BSD-3-Clause */
/* PMI-1 client: lines of "cmd=... key=value ..." over a socket that the launcher left open.
 *
 * Answers come from the launcher, which is trusted to run the program but not to be free of errors:
 * lines are bounded, every field is looked for, a wrong or missing answer is an error (-1). */
#ifndef NOF_MPI_PMI1_H
#define NOF_MPI_PMI1_H

#include <stddef.h>

/* Handshake on fd. 0, or -1 with a sentence in text. */
int nof_pmi1_open(int fd, int *appnum_out, char *text, size_t text_bytes);
int nof_pmi1_put(const char *key, const char *value);
int nof_pmi1_get(const char *key, char *value, size_t value_bytes);
int nof_pmi1_barrier(void);
void nof_pmi1_close(void);
void nof_pmi1_abort(int exit_code);

#endif

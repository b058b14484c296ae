/* SPDX-License-Identifier: BSD-3-Clause */
/* Connection of a PMI-1 or PMI-2 client to its launcher's agent: a descriptor that was left open, what was read from
 * it and not yet understood, and patience. The agent is on this host and answers within milliseconds; callers hold
 * the library's lock meanwhile. Answers come from the launcher, which is trusted to run the program but not to be
 * free of errors: input is bounded, and a launcher that did not answer in time is not asked again, because what comes
 * from it later would fit no question.
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_PMI_CONN_H
#define NOF_MPI_PMI_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nof_private/descriptor.h"

#define NOF_PMI_INPUT_BYTES 4096
#define NOF_PMI_NO_DEADLINE UINT64_MAX

struct nof_pmi_conn {
    struct nof_descriptor descriptor;
    bool silent; /* an answer did not come in time */
    size_t input_bytes;
    char input[NOF_PMI_INPUT_BYTES];
};

void nof_pmi_conn_open(struct nof_pmi_conn *conn, int fd);
/* It is a launcher's: no program that this process or a child of it begins has it, so the launcher sees an end of MPI by exec. */
void nof_pmi_conn_answered(const struct nof_pmi_conn *conn);
void nof_pmi_conn_close(struct nof_pmi_conn *conn);

/* All n bytes. 0, or -1, with errno EBADF when the program has closed it, whatever has its number now. */
int nof_pmi_conn_send(struct nof_pmi_conn *conn, const char *bytes, size_t n);
/* When an answer that needs nobody but the launcher must have come. */
uint64_t nof_pmi_conn_deadline(void);
/* One line, without its newline. 0; -1 when the launcher hung up, is silent until the deadline (errno ETIMEDOUT),
 * or sent a longer one. */
int nof_pmi_conn_line(struct nof_pmi_conn *conn, char line[NOF_PMI_INPUT_BYTES], uint64_t deadline_ns);
/* n bytes, at most NOF_PMI_INPUT_BYTES; errors as above. */
int nof_pmi_conn_bytes(struct nof_pmi_conn *conn, char *bytes, size_t n, uint64_t deadline_ns);

#endif

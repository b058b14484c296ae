/* SPDX-License-Identifier: BSD-3-Clause */
/* Attached buffers: the process' own (MPI_Buffer_attach), those of communicators and of sessions. A buffered send
 * takes its communicator's, if that has one, else that of the session it stems from, else the process'. The library
 * keeps buffered messages in its own heap and accounts for them in the attached size, message by message with
 * MPI_BSEND_OVERHEAD each, so a program that attaches too little is told so, and one that attaches enough never sees
 * fragmentation.
 * Threads: under the library's lock. */
#ifndef NOF_MPI_BSEND_H
#define NOF_MPI_BSEND_H

#include "comm/comm.h"

struct nof_request;

extern struct nof_bsend nof_bsend_process; /* the process' own */

/* Take room for a buffered send; MPI_ERR_BUFFER if there is none. It is given back when the request ends. */
int nof_bsend_reserve(struct nof_request *req);
/* Give it back: of one that never started. */
void nof_bsend_release(struct nof_request *req);
/* Wait until no message is in it any more. */
void nof_bsend_wait(const struct nof_bsend *b);

#endif

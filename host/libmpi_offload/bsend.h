/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffer of MPI_Buffer_attach. The library keeps buffered messages in its own heap and accounts
 * for them in the attached size, message by message with MPI_BSEND_OVERHEAD each, so a program that
 * attaches too little is told so, and one that attaches enough never sees fragmentation. */
#ifndef NOF_MPI_BSEND_H
#define NOF_MPI_BSEND_H

#include "lib.h"

/* Take room for a message; MPI_ERR_BUFFER if there is none. */
int nof_bsend_reserve(size_t bytes, size_t *reserved_out);
void nof_bsend_release(size_t reserved);

#endif

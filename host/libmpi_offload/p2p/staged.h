/* SPDX-License-Identifier: BSD-3-Clause */
/* A message that the program reads in place: in the staging area, or in a buffer of the library. Made by
 * MPIX_Recv_staged, ended by MPIX_Release or MPI_Finalize. Threads: under the library's lock. */
#ifndef NOF_MPI_STAGED_H
#define NOF_MPI_STAGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nof_staged {
    struct nof_staged *next;
    const void *data; /* what the program was told */
    void *buffer; /* malloc'ed; NULL once it is known to be of no use */
    size_t buffer_bytes;
    uint32_t offset; /* in the staging area */
    bool in_area;
};

/* MPI_Finalize: what was never released. */
void nof_staged_close(void);

#endif

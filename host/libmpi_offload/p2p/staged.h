/* SPDX-License-Identifier: BSD-3-Clause */
/* A message that the program reads in place: in the staging area, or in a buffer of the library. Made by
 * MPIX_Recv_staged, ended by MPIX_Release or MPI_Finalize. Threads: under the library's lock. */
#ifndef NOF_MPI_STAGED_H
#define NOF_MPI_STAGED_H

/* MPI_Finalize: what was never released. */
void nof_staged_close(void);

#endif

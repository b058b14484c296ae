/* SPDX-License-Identifier: BSD-3-Clause */
/* The short path of MPI_Send and MPI_Recv: of what can go at once no request is made.
 *
 *   true     the call is over, with MPI_SUCCESS
 *   false    nothing was done: the long way finds what is wrong, or waits
 *
 * For a running library, a predefined type without holes, a rank of the communicator and no wildcard of one; a channel with send_now()
 * and recv_now() (chan/chan.h). Takes the library's lock where there is one. */
#ifndef NOF_MPI_SHORT_H
#define NOF_MPI_SHORT_H

#include <mpi.h>
#include <stdbool.h>

bool nof_short_send(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm comm);
bool nof_short_recv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                    MPI_Status *status);

#endif

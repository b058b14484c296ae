/* SPDX-License-Identifier: BSD-3-Clause */
/* Extensions of libmpi_offload beyond the MPI standard. */
#ifndef MPI_OFFLOAD_H
#define MPI_OFFLOAD_H

#include "mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Current value of a counter of this process's NIC endpoint, by the name that `nof stats` shows
 * ("msg.tx", "match.unexpected", ...). MPI_ERR_ARG through MPI_COMM_SELF's error handler when there
 * is no such counter, or no NIC (a world of one without a launcher). Any thread. */
int MPIX_Nic_counters(const char *name, unsigned long long *value_out);
int PMPIX_Nic_counters(const char *name, unsigned long long *value_out);

/* MPI_Recv without a buffer: *data is where the message lies, to be read until MPIX_Release(*data) or
 * MPI_Finalize, whichever comes first; never to be written. A message that the NIC has staged is read in
 * the staging area, without a copy; any other in a buffer of the library. It is aligned for every basic
 * type. count and datatype as for MPI_Recv; the datatype must leave no gaps (else MPI_ERR_TYPE). Where
 * this fails *data is left as it was, and nothing is to be released. Staged messages that are not
 * released take up the staging area: later ones are then delivered otherwise, and slower. */
int MPIX_Recv_staged(const void **data, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                     MPI_Status *status);
int PMPIX_Recv_staged(const void **data, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                      MPI_Status *status);

/* The program has read a message of MPIX_Recv_staged. MPI_ERR_ARG through MPI_COMM_SELF's error handler for
 * an address that is not, or no longer, that of one. */
int MPIX_Release(const void *data);
int PMPIX_Release(const void *data);

/* The next receive of this thread (any call that receives one message; MPI_Recv_init counts, MPI_Start does
 * not) is the one that the program calls `tag`: the paper's pre-receive(tag). Tells the NIC beforehand, which may
 * then prepare the message that this receive got the last time, and stands for the place of that call, which the
 * NIC otherwise knows by the call's return address. Changes no result. tag: any number that names the place;
 * MPI_ERR_ARG if negative. Any thread. Fortran: CALL MPIX_PRE_RECEIVE(TAG, IERROR), external. */
int MPIX_Pre_receive(int tag);
int PMPIX_Pre_receive(int tag);

#ifdef __cplusplus
}
#endif

#endif

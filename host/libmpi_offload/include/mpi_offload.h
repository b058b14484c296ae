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

#ifdef __cplusplus
}
#endif

#endif

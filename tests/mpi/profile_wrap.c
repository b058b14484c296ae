/* SPDX-License-Identifier: BSD-3-Clause */
/* A profiling library: counts the calls of MPI_Send and MPI_Recv. */
#include <mpi.h>

int profile_sends(void);
int profile_recvs(void);

static int sends, recvs;

int profile_sends(void)
{
    return sends;
}

int profile_recvs(void)
{
    return recvs;
}

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    recvs++;
    return PMPI_Recv(buf, count, datatype, source, tag, comm, status);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* One world under every launcher. usage: launched SIZE [abort | kill | wait | quiet]
 * Rank 1 then ends the job, by MPI_Abort with code 42 or by a signal, while the others wait for it; or it does
 * nothing, for somebody else to end the job. quiet: no message is sent at all. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpitest.h"

int main(int argc, char **argv)
{
    const char *end = argc > 2 ? argv[2] : "";
    char host[MPI_MAX_PROCESSOR_NAME];
    int rank, size, sum = 0, len;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &len);
    if (strcmp(end, "quiet") == 0)
        _exit(0);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(argc > 1 && size == atoi(argv[1]));
    CHECK(sum == size * (size - 1) / 2);
    printf("rank %d of %d on %s\n", rank, size, host);
    fflush(stdout);
    if (rank == 1 && strcmp(end, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 42);
    if (rank == 1 && strcmp(end, "kill") == 0)
        raise(SIGKILL);
    if (rank == 1 && strcmp(end, "wait") == 0)
        pause();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

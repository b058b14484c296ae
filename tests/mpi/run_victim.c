/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An MPI program that comes to a chosen end, for tests of the launcher:  run_victim WAY RANK
 *   ok        nobody dies
 *   kill      RANK is killed by SIGKILL while the others wait for it
 *   exit      RANK leaves with code 3 and without MPI_Finalize
 *   exec      RANK goes on as a program that knows nothing of MPI and does not end
 *   abort     RANK calls MPI_Abort with code 7
 *   nameless  RANK calls it with a communicator that has no name
 *   error     RANK makes an error that is fatal
 *   late      RANK returns 5 after MPI_Finalize
 *   hang      everybody waits for a message that never comes; rank 0 prints "waiting" first */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "ok";
    int victim = argc > 2 ? atoi(argv[2]) : 0;
    int rank;
    int sum;
    char byte;
    MPI_Comm nameless;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("sum %d\n", sum);
    fflush(stdout);
    if (rank == victim && strcmp(way, "kill") == 0)
        raise(SIGKILL);
    if (rank == victim && strcmp(way, "exit") == 0)
        exit(3);
    if (rank == victim && strcmp(way, "exec") == 0)
        execlp("sleep", "sleep", "1000", (char *)NULL);
    if (rank == victim && strcmp(way, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(way, "nameless") == 0) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &nameless);
        if (rank == victim)
            MPI_Abort(nameless, 7);
    }
    if (rank == victim && strcmp(way, "error") == 0)
        MPI_Send(&byte, 1, MPI_BYTE, 1000, 99, MPI_COMM_WORLD);
    if (strcmp(way, "ok") != 0 && strcmp(way, "late") != 0) {
        if (rank == 0) {
            puts("waiting");
            fflush(stdout);
        }
        MPI_Recv(&byte, 1, MPI_BYTE, strcmp(way, "hang") == 0 ? MPI_ANY_SOURCE : victim, 99, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return rank == victim && strcmp(way, "late") == 0 ? 5 : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * usage: seated apart|together: two ranks, each bound to one CPU as launchers do, to two or both to the same. The library says whether each
 * rank has a CPU of its own, and messages arrive either way. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi.h"

/* To the n-th CPU that this process may use. */
static void bind(int n)
{
    cpu_set_t may, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(may), &may) != 0 || CPU_COUNT(&may) < 2) {
        printf("skipped: two CPUs are needed\n");
        exit(77);
    }
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &may) && n-- == 0)
            CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0) {
        perror("sched_setaffinity");
        exit(1);
    }
}

static int seated(void)
{
    int provided, index, count, value = -1;
    MPI_T_cvar_handle handle;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_cvar_get_index("library.seated", &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return -1;
    MPI_T_cvar_read(handle, &value);
    MPI_T_cvar_handle_free(&handle);
    MPI_T_finalize();
    return value;
}

int main(int argc, char **argv)
{
    const char *rank_text = getenv("PMI_RANK");
    int apart = argc == 2 && strcmp(argv[1], "apart") == 0, failed = 0, rank;
    if (rank_text == NULL) {
        fprintf(stderr, "seated: start it with nof run -n 2\n");
        return 1;
    }
    bind(apart ? atoi(rank_text) : 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (seated() != apart) {
        fprintf(stderr, "rank %d: seated is %d, not %d\n", rank, seated(), apart);
        failed = 1;
    }
    for (int i = 0; i < 2000; i++) {
        int number = i;
        if (rank == 0)
            MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&number, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        failed |= number != i;
    }
    MPI_Finalize();
    return failed;
}

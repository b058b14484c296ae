/* SPDX-License-Identifier: BSD-3-Clause */
/* Under valgrind: what the NIC writes into a buffer is no uninitialised memory (base/memcheck.h); what it does not write, is. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_GET_VBITS(at, bits, bytes) 0
#endif

enum { INTS = 100000, MORE = 10 };

static void receive(int ints)
{
    int *buffer = malloc((INTS + MORE) * sizeof(*buffer));
    unsigned char bits[(INTS + MORE) * sizeof(*buffer)] = {0};
    size_t got = (size_t)ints * sizeof(*buffer);
    MPI_Recv(buffer, INTS + MORE, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (VALGRIND_GET_VBITS(buffer, bits, sizeof(bits)) != 1)
        MPI_Abort(MPI_COMM_WORLD, 77);
    for (size_t i = 0; i < got + MORE * sizeof(*buffer); i++) {
        if ((bits[i] == 0) == (i < got))
            continue;
        fprintf(stderr, "of %d ints, byte %zu is %s\n", ints, i, i < got ? "uninitialised" : "initialised");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    free(buffer);
}

int main(int argc, char **argv)
{
    static const int ints[] = {1, 10, 1000, INTS};
    static int data[INTS];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof(ints) / sizeof(ints[0]) && rank < 2; i++) {
        if (rank == 0)
            MPI_Send(data, ints[i], MPI_INT, 1, 0, MPI_COMM_WORLD);
        else
            receive(ints[i]);
    }
    MPI_Finalize();
    return 0;
}

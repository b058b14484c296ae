/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that are copied in many blocks, each looked at whole, in a ring until rank 0 reads a line or its end: helper_killed.py kills
 * who copies them. */
#include <mpi.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "mpitest.h"

#define WORDS (1u << 20)

static uint32_t out[WORDS], in[WORDS];

static int is_enough(void)
{
    struct pollfd line = {.fd = STDIN_FILENO, .events = POLLIN};

    return poll(&line, 1, 0) != 0;
}

int main(int argc, char **argv)
{
    int rank, size, enough = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (uint32_t round = 0; !enough; round++) {
        uint32_t from = (uint32_t)((rank + size - 1) % size);

        for (uint32_t i = 0; i < WORDS; i++)
            out[i] = (round * 16 + (uint32_t)rank) * 2654435761u + i;
        memset(in, 0, sizeof(in));
        MPI_Sendrecv(out, (int)WORDS, MPI_UINT32_T, (rank + 1) % size, 1, in, (int)WORDS, MPI_UINT32_T,
                     (int)from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (uint32_t i = 0; i < WORDS; i++)
            CHECK(in[i] == (round * 16 + from) * 2654435761u + i);
        if (round == 0 && rank == 0) {
            printf("talks\n");
            fflush(stdout);
        }
        if (rank == 0)
            enough = is_enough();
        MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}

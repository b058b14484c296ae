/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of one sender are matched in the order in which they were sent, whatever their size and
 * whether the receive was there before. */
#include "mpitest.h"

static const size_t sizes[] = {0, 1, 8, 32, 33, 100, 1500, 4096, 9000, 70000, 300000};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), ROUNDS = 40, LARGEST = 300000 };

static size_t size_of(int i)
{
    return sizes[(i * 7 + i / 3) % SIZES];
}

static void send_all(int dest)
{
    char *bufs[ROUNDS];
    MPI_Request reqs[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        bufs[i] = malloc(size_of(i) + 1);
        t_fill(bufs[i], size_of(i), (uint64_t)i);
        OK(MPI_Isend(bufs[i], (int)size_of(i), MPI_BYTE, dest, 5, MPI_COMM_WORLD, &reqs[i]));
    }
    OK(MPI_Waitall(ROUNDS, reqs, MPI_STATUSES_IGNORE));
    for (int i = 0; i < ROUNDS; i++)
        free(bufs[i]);
}

static void check_one(const char *buf, const MPI_Status *status, int i)
{
    int count;
    OK(MPI_Get_count(status, MPI_BYTE, &count));
    CHECK((size_t)count == size_of(i));
    CHECK(status->MPI_TAG == 5);
    CHECK(t_verify(buf, size_of(i), (uint64_t)i));
}

static void receive_late(int source)
{
    char *buf = malloc(LARGEST);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Status status;
        OK(MPI_Recv(buf, LARGEST, MPI_BYTE, source, i % 2 ? 5 : MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        check_one(buf, &status, i);
    }
    free(buf);
}

static void receive_early(int source)
{
    char *bufs[ROUNDS];
    MPI_Request reqs[ROUNDS];
    MPI_Status statuses[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        bufs[i] = malloc(LARGEST);
        OK(MPI_Irecv(bufs[i], LARGEST, MPI_BYTE, i % 3 ? source : MPI_ANY_SOURCE, 5, MPI_COMM_WORLD,
                     &reqs[i]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Waitall(ROUNDS, reqs, statuses));
    for (int i = 0; i < ROUNDS; i++) {
        check_one(bufs[i], &statuses[i], i);
        free(bufs[i]);
    }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    if (t_rank == 0)
        send_all(1);
    else if (t_rank == 1)
        receive_late(0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 1) {
        receive_early(0);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        if (t_rank == 0)
            send_all(1);
    }
    return t_end();
}

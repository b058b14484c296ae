/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 has sent more to each of the others than it has memory for, and all but the last do not look: they wait, without a call of
 * MPI, until the last one has received a large message whose bytes lie apart. */
#include "mpitest.h"

#include <time.h>

enum { MESSAGES = 40, BYTES = 10000, COUNT = 100000, SMALL = 1, LARGE = 2 };

static void nap(void)
{
    const struct timespec ms = {.tv_nsec = 1000000};
    (void)nanosleep(&ms, NULL);
}

static void large(MPI_Datatype apart, int *values, int *received)
{
    if (t_rank == 0) {
        for (int i = 0; i < COUNT; i++)
            values[(size_t)i * 2] = i * 7 + 1;
        OK(MPI_Send(values, 1, apart, t_size - 1, LARGE, MPI_COMM_WORLD));
    } else if (t_rank == t_size - 1) {
        OK(MPI_Recv(values, 1, apart, 0, LARGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < COUNT; i++)
            CHECK(values[(size_t)i * 2] == i * 7 + 1 && values[(size_t)i * 2 + 1] == 0);
        __atomic_store_n(received, 1, __ATOMIC_RELEASE);
    } else {
        while (!__atomic_load_n(received, __ATOMIC_ACQUIRE))
            nap();
    }
}

int main(int argc, char **argv)
{
    static char data[BYTES], got[BYTES];
    static MPI_Request sends[MESSAGES * 64];
    t_begin(&argc, &argv, 3);
    MPI_Win window;
    MPI_Datatype apart;
    MPI_Aint bytes;
    int *received, unit, n = 0, *values = calloc((size_t)COUNT * 2, sizeof(*values));
    CHECK(values != NULL && t_size <= 64);
    OK(MPI_Win_allocate_shared(t_rank == 0 ? (MPI_Aint)sizeof(int) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                               &received, &window));
    OK(MPI_Win_shared_query(window, 0, &bytes, &unit, &received));
    if (t_rank == 0)
        *received = 0;
    OK(MPI_Type_vector(COUNT, 1, 2, MPI_INT, &apart));
    OK(MPI_Type_commit(&apart));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    t_fill(data, BYTES, 3);
    for (int peer = 1; t_rank == 0 && peer < t_size - 1; peer++)
        for (int k = 0; k < MESSAGES; k++)
            OK(MPI_Isend(data, BYTES, MPI_BYTE, peer, SMALL, MPI_COMM_WORLD, &sends[n++]));
    large(apart, values, received);
    for (int k = 0; k < MESSAGES && t_rank > 0 && t_rank < t_size - 1; k++) {
        memset(got, 0, BYTES);
        OK(MPI_Recv(got, BYTES, MPI_BYTE, 0, SMALL, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(t_verify(got, BYTES, 3));
    }
    OK(MPI_Waitall(n, sends, MPI_STATUSES_IGNORE));
    OK(MPI_Type_free(&apart));
    OK(MPI_Win_free(&window));
    free(values);
    return t_end();
}

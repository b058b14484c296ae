/* SPDX-License-Identifier: BSD-3-Clause */
/* Who asks again and again for what has not come (MPI_Iprobe, MPI_Improbe) gives his NIC next to nothing to do; and hears of a message
 * when it has come, from another rank and from himself, whatever he has asked for before: with wildcards and without, and beside
 * messages that are there and that he does not ask for. */
#include "mpitest.h"

#include "mpi_offload.h"

enum { VAIN = 4000, SOME = 300, ROUNDS = 300, TAG = 5, OTHER_TAG = 6, GO = 7 };

static unsigned long long descriptors(void)
{
    unsigned long long n = 0;
    OK(MPIX_Nic_counters("host.descs", &n));
    return n;
}

static int found(int source, int tag, int matched)
{
    int flag = 1;
    MPI_Message message = MPI_MESSAGE_NULL;
    if (!matched)
        OK(MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    else
        OK(MPI_Improbe(source, tag, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
    if (message != MPI_MESSAGE_NULL)
        OK(MPI_Mrecv(NULL, 0, MPI_INT, &message, MPI_STATUS_IGNORE));
    return flag;
}

static void asks_in_vain(void)
{
    unsigned long long before = descriptors();
    for (int i = 0; i < VAIN; i++)
        CHECK(!found(MPI_ANY_SOURCE, OTHER_TAG, i & 1) && !found(i % t_size, TAG, 0) &&
              !found(1, MPI_ANY_TAG, 0));
    unsigned long long n = descriptors() - before;
    if (n > SOME) {
        fprintf(stderr, "rank %d: %llu descriptors for %d questions in vain\n", t_rank, n, 3 * VAIN);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* One is there all the time that nobody asks for. */
static void beside_another(void)
{
    int value = 1;
    if (t_rank == 1)
        OK(MPI_Send(&value, 1, MPI_INT, 0, GO, MPI_COMM_WORLD));
    if (t_rank != 0)
        return;
    while (!found(1, GO, 0))
        ;
    unsigned long long before = descriptors();
    for (int i = 0; i < VAIN; i++)
        CHECK(!found(MPI_ANY_SOURCE, TAG, 0));
    CHECK(descriptors() - before <= SOME);
    OK(MPI_Recv(&value, 1, MPI_INT, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void wait_by_asking(int source, int tag, int matched)
{
    while (!found(source, tag, matched))
        ;
}

static void from_myself(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        int source = i % 3 == 0 ? MPI_ANY_SOURCE : t_rank, tag = i % 2 ? TAG : MPI_ANY_TAG, value = i,
            got = -1;
        CHECK(!found(source, tag, 0) && !found(source, tag, 0));
        MPI_Request req;
        OK(MPI_Isend(&value, 1, MPI_INT, t_rank, TAG, MPI_COMM_WORLD, &req));
        wait_by_asking(source, tag, 0);
        OK(MPI_Recv(&got, 1, MPI_INT, t_rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(got == i && !found(source, tag, 0));
        OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    }
}

static void from_another(void)
{
    int other = 1 - t_rank;
    for (int i = 0; i < ROUNDS && t_rank < 2; i++) {
        int source = i % 3 == 0 ? MPI_ANY_SOURCE : other, tag = i % 2 ? TAG : MPI_ANY_TAG;
        if (i % 2 == t_rank)
            OK(MPI_Send(NULL, 0, MPI_INT, other, TAG, MPI_COMM_WORLD));
        else
            wait_by_asking(source, tag, 1);
    }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    asks_in_vain();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    beside_another();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    from_myself();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    from_another();
    return t_end();
}

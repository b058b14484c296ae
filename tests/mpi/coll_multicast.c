/* SPDX-License-Identifier: BSD-3-Clause */
/* Large blocking broadcasts by multicast: the same bytes, whoever the root is and whatever the type, before and after the
 * ranks have agreed to use it; communicators beside each other; and with `asked`, that it was used, or with `unicast`, not. */
#include <stdbool.h>

#include "collective.h"

static MPI_T_pvar_session session;

enum { MOST = 300000 };
static int buf[2 * MOST];

static int value_of(int round, int i)
{
    return round * 1000003 + i;
}

static void broadcast(MPI_Comm comm, int round, int root, int n)
{
    int rank;
    OK(MPI_Comm_rank(comm, &rank));
    for (int i = 0; i < n; i++)
        buf[i] = rank == root ? value_of(round, i) : -1;
    buf[n] = -2;
    OK(MPI_Bcast(buf, n, MPI_INT, root, comm));
    for (int i = 0; i < n; i++)
        CHECK(buf[i] == value_of(round, i));
    CHECK(buf[n] == -2);
}

/* No vote goes with a broadcast that does not block. */
static void without_vote(int root)
{
    unsigned long long before = t_counted(session, "allreduce_doubling");
    MPI_Request req;
    buf[0] = t_rank == root ? 41 : -1;
    OK(MPI_Ibcast(buf, 1, MPI_INT, root, MPI_COMM_WORLD, &req));
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    CHECK(buf[0] == 41);
    CHECK(t_counted(session, "allreduce_doubling") == before);
}

/* Every second number. */
static void with_gaps(int round, int root)
{
    MPI_Datatype type;
    OK(MPI_Type_vector(20000, 1, 2, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    for (int i = 0; i < 40000; i++)
        buf[i] = t_rank == root ? value_of(round, i) : -1;
    OK(MPI_Bcast(buf, 1, type, root, MPI_COMM_WORLD));
    for (int i = 0; i < 40000; i++)
        CHECK(buf[i] == (t_rank == root || i % 2 == 0 ? value_of(round, i) : -1));
    OK(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8192, 8193, 20000, 65536, 300000};
    int provided, round = 0;
    bool asked = argc > 1 && strcmp(argv[1], "asked") == 0,
         unicast = argc > 1 && strcmp(argv[1], "unicast") == 0;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    t_begin(&argc, &argv, 3);
    for (; round < 17; round++) {
        broadcast(MPI_COMM_WORLD, round, round % t_size, 50000);
        without_vote(round % t_size);
        if (round > 7)
            t_settle(); /* the group opens meanwhile */
    }
    for (int k = 0; k < 5; k++)
        for (int root = 0; root < t_size; root++)
            broadcast(MPI_COMM_WORLD, round++, root, sizes[k]);
    with_gaps(round++, t_size - 1);
    MPI_Comm dup, half;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    OK(MPI_Comm_split(MPI_COMM_WORLD, t_rank % 2, t_rank, &half));
    for (int k = 0; k < 40; k++) {
        broadcast(dup, round++, k % t_size, 10000);
        broadcast(half, round++, 0, 10000);
        broadcast(MPI_COMM_WORLD, round++, 0, 100);
        if (k >= 8 && k < 16)
            t_settle();
    }
    OK(MPI_Comm_free(&half));
    OK(MPI_Comm_free(&dup));
    for (int k = 0; k < 100; k++)
        broadcast(MPI_COMM_WORLD, round++, k % 2, 9000);
    unsigned long long by_multicast = t_counted(session, "bcast_multicast");
    CHECK(!asked || by_multicast > 50);
    CHECK(!unicast || by_multicast == 0);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return t_end();
}

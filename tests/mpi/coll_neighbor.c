/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbourhood collectives: order of the neighbours on each kind of topology, nobody beyond an edge,
 * rings of one and two, edges that are there more than once; all forms. */
#include "mpitest.h"

#define NONE (-7)

/* What rank r sends along its outgoing edge number `edge`. */
static int item(int r, int edge)
{
    return 100 * r + edge;
}

/* A line: the left neighbour's edge to the right is its number 1. */
static void line(int periodic)
{
    MPI_Comm comm;
    int send[2] = {item(t_rank, 0), item(t_rank, 1)}, recv[2] = {NONE, NONE};
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &t_size, &periodic, 0, &comm));
    int low = t_rank > 0 ? t_rank - 1 : periodic ? t_size - 1 : NONE;
    int high = t_rank < t_size - 1 ? t_rank + 1 : periodic ? 0 : NONE;
    COLL(Ineighbor_alltoall, Neighbor_alltoall, send, 1, MPI_INT, recv, 1, MPI_INT, comm);
    CHECK(recv[0] == (low == NONE ? NONE : item(low, 1)));
    CHECK(recv[1] == (high == NONE ? NONE : item(high, 0)));
    recv[0] = recv[1] = NONE;
    COLL(Ineighbor_allgather, Neighbor_allgather, &t_rank, 1, MPI_INT, recv, 1, MPI_INT, comm);
    CHECK(recv[0] == low && recv[1] == high);
    OK(MPI_Comm_free(&comm));
}

/* Two ranks round a ring, and each alone in a second dimension that is a ring of one. */
static void small_rings(void)
{
    MPI_Comm pair, comm;
    int dims[2] = {2, 1}, periods[2] = {1, 1}, me;
    OK(MPI_Comm_split(MPI_COMM_WORLD, t_rank < 2 ? 0 : MPI_UNDEFINED, 0, &pair));
    if (pair == MPI_COMM_NULL)
        return;
    OK(MPI_Cart_create(pair, 2, dims, periods, 0, &comm));
    MPI_Comm_rank(comm, &me);
    int send[4], recv[4];
    for (int i = 0; i < 4; i++)
        send[i] = item(me, i);
    OK(MPI_Neighbor_alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm));
    CHECK(recv[0] == item(1 - me, 1) && recv[1] == item(1 - me, 0));
    CHECK(recv[2] == item(me, 3) && recv[3] == item(me, 2));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free(&pair));
}

/* Everybody is joined to rank 0 twice, and rank 0 to everybody. */
static void star(void)
{
    MPI_Comm comm;
    int n = t_size - 1, *sources = malloc(sizeof(int) * 2 * (size_t)t_size);
    int degree = t_rank == 0 ? 2 * n : 2;
    for (int i = 0; i < degree; i++)
        sources[i] = t_rank == 0 ? 1 + i / 2 : 0;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, sources, MPI_UNWEIGHTED, degree, sources,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    int *send = malloc(sizeof(int) * 4 * (size_t)t_size), *recv = malloc(sizeof(int) * 4 * (size_t)t_size);
    int *counts = malloc(sizeof(int) * 2 * (size_t)t_size),
        *displs = malloc(sizeof(int) * 2 * (size_t)t_size);
    MPI_Aint *bytes = malloc(sizeof(*bytes) * 2 * (size_t)t_size);
    MPI_Datatype *types = malloc(sizeof(*types) * 2 * (size_t)t_size);
    for (int i = 0; i < degree; i++) {
        counts[i] = 1 + i % 2; /* the second edge of a pair carries two */
        displs[i] = 2 * i;
        bytes[i] = 2 * i * (MPI_Aint)sizeof(int);
        types[i] = MPI_INT;
        send[2 * i] = send[2 * i + 1] = item(t_rank, i);
    }
    for (int w = 0; w < 2; w++) {
        memset(recv, -1, sizeof(int) * 4 * (size_t)t_size);
        if (w)
            COLL(Ineighbor_alltoallw, Neighbor_alltoallw, send, counts, bytes, types, recv, counts, bytes,
                 types, comm);
        else
            COLL(Ineighbor_alltoallv, Neighbor_alltoallv, send, counts, displs, MPI_INT, recv, counts, displs,
                 MPI_INT, comm);
        for (int i = 0; i < degree; i++) {
            int from = sources[i], edge = t_rank == 0 ? i % 2 : 2 * (t_rank - 1) + i % 2;
            CHECK(recv[2 * i] == item(from, edge));
            CHECK(recv[2 * i + 1] == (i % 2 ? item(from, edge) : -1));
        }
    }
    for (int i = 0; i < degree; i++)
        counts[i] = 2;
    COLL(Ineighbor_allgatherv, Neighbor_allgatherv, send, 2, MPI_INT, recv, counts, displs, MPI_INT, comm);
    for (int i = 0; i < 2 * degree; i++)
        CHECK(recv[i] == item(sources[i / 2], 0));
    OK(MPI_Comm_free(&comm));
    free(sources);
    free(send);
    free(recv);
    free(counts);
    free(displs);
    free(bytes);
    free(types);
}

/* One way round: who sends to me is not whom I send to. */
static void one_way(void)
{
    MPI_Comm comm;
    int before = (t_rank + t_size - 1) % t_size, after = (t_rank + 1) % t_size, got = NONE;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &comm));
    COLL(Ineighbor_allgather, Neighbor_allgather, &t_rank, 1, MPI_INT, &got, 1, MPI_INT, comm);
    CHECK(got == before);
    OK(MPI_Comm_free(&comm));
}

/* One edge, from 0 to 1: a side without an edge may have no arrays at all. */
static void no_arrays(void)
{
    MPI_Comm comm;
    int in = t_rank == 1, out = t_rank == 0, zero = 0, one = 1, got = NONE;
    const int *in_counts = in ? &one : NULL, *out_counts = out ? &one : NULL;
    MPI_Aint at = 0, *in_at = in ? &at : NULL, *out_at = out ? &at : NULL;
    MPI_Datatype type = MPI_INT, *in_types = in ? &type : NULL, *out_types = out ? &type : NULL;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, in ? &zero : NULL, MPI_UNWEIGHTED, out,
                                      out ? &one : NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    COLL(Ineighbor_alltoallw, Neighbor_alltoallw, &one, out_counts, out_at, out_types, &got, in_counts, in_at,
         in_types, comm);
    CHECK(got == (in ? 1 : NONE));
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    for (int i = 0; i < 3; i++) {
        line(0);
        line(1);
        small_rings();
        star();
        one_way();
        no_arrays();
    }
    int v = 0, w[2];
    FAILS(MPI_Neighbor_allgather(&v, 1, MPI_INT, w, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TOPOLOGY);
    return t_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that move data, against the answer that every rank can compute alone: counts from zero
 * to large, every root, in place, different types at both ends, sub-communicators. */
#include "mpitest.h"

static MPI_Comm comm;
static int rank, size;

/* Element k of what rank `from` has for rank `to`. */
static int item(int from, int to, int k)
{
    return from * 1000003 + to * 1009 + k;
}

static int *ints(size_t n)
{
    int *p = malloc((n + 1) * sizeof(*p));
    for (size_t i = 0; i < n; i++)
        p[i] = -1;
    return p;
}

static void bcast(int n, int root)
{
    int *buf = ints((size_t)n * 2);
    MPI_Datatype spaced;
    OK(MPI_Type_vector(n, 1, 2, MPI_INT, &spaced));
    OK(MPI_Type_commit(&spaced));
    for (int k = 0; k < n; k++)
        if (rank == root)
            buf[k] = item(root, 0, k);
    COLL(Ibcast, Bcast, buf, n, MPI_INT, root, comm);
    for (int k = 0; k < n; k++)
        CHECK(buf[k] == item(root, 0, k));
    /* Root dense, others strided. */
    int *wide = ints((size_t)n * 2);
    if (rank == root)
        COLL(Ibcast, Bcast, buf, n, MPI_INT, root, comm);
    else
        COLL(Ibcast, Bcast, wide, n > 0 ? 1 : 0, spaced, root, comm);
    for (int k = 0; k < n && rank != root; k++)
        CHECK(wide[2 * k] == item(root, 0, k) && (k == n - 1 || wide[2 * k + 1] == -1));
    OK(MPI_Type_free(&spaced));
    free(buf);
    free(wide);
}

static void gather_scatter(int n, int root)
{
    int *mine = ints((size_t)n), *all = ints((size_t)(n * size));
    for (int k = 0; k < n; k++)
        mine[k] = item(rank, root, k);
    COLL(Igather, Gather, mine, n, MPI_INT, all, n, MPI_INT, root, comm);
    for (int i = 0; rank == root && i < n * size; i++)
        CHECK(all[i] == item(i / n, root, i % n));
    if (rank == root) {
        for (int i = 0; i < n * size; i++)
            if (i / n != root)
                all[i] = -1;
        COLL(Igather, Gather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_INT, root, comm);
        for (int i = 0; i < n * size; i++)
            CHECK(all[i] == item(i / n, root, i % n));
    } else {
        COLL(Igather, Gather, mine, n, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, comm);
    }
    for (int i = 0; rank == root && i < n * size; i++)
        all[i] = item(root, i / n, i % n);
    COLL(Iscatter, Scatter, all, n, MPI_INT, mine, n * 4, MPI_BYTE, root, comm);
    for (int k = 0; k < n; k++)
        CHECK(mine[k] == item(root, rank, k));
    if (rank == root)
        COLL(Iscatter, Scatter, all, n, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, comm);
    else
        COLL(Iscatter, Scatter, NULL, 0, MPI_DATATYPE_NULL, mine, n, MPI_INT, root, comm);
    for (int k = 0; k < n; k++)
        CHECK(mine[k] == item(root, rank, k));
    free(mine);
    free(all);
}

/* Rank i has n + i elements (none for every third), blocks lie apart and in reverse order. */
static int vcount(int n, int i)
{
    return i % 3 == 2 ? 0 : n + i;
}

static void gatherv_scatterv(int n, int root)
{
    int stride = n + size + 3, own = vcount(n, rank);
    int *mine = ints((size_t)own), *all = ints((size_t)(stride * size));
    int *counts = ints((size_t)size), *displs = ints((size_t)size);
    for (int i = 0; i < size; i++) {
        counts[i] = vcount(n, i);
        displs[i] = (size - 1 - i) * stride;
    }
    for (int k = 0; k < own; k++)
        mine[k] = item(rank, root, k);
    COLL(Igatherv, Gatherv, mine, own, MPI_INT, all, counts, displs, MPI_INT, root, comm);
    for (int i = 0; rank == root && i < size; i++) {
        for (int k = 0; k < counts[i]; k++)
            CHECK(all[displs[i] + k] == item(i, root, k));
        CHECK(all[displs[i] + counts[i]] == -1);
    }
    for (int i = 0; rank == root && i < size; i++)
        for (int k = 0; k < counts[i]; k++)
            all[displs[i] + k] = item(root, i, k);
    COLL(Iscatterv, Scatterv, all, counts, displs, MPI_INT, mine, own, MPI_INT, root, comm);
    for (int k = 0; k < own; k++)
        CHECK(mine[k] == item(root, rank, k));
    for (int i = 0; i < stride * size; i++)
        all[i] = -1;
    for (int k = 0; k < own; k++)
        all[displs[rank] + k] = item(rank, 7, k);
    COLL(Iallgatherv, Allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, displs, MPI_INT, comm);
    for (int i = 0; i < size; i++)
        for (int k = 0; k < counts[i]; k++)
            CHECK(all[displs[i] + k] == item(i, 7, k));
    free(mine);
    free(all);
    free(counts);
    free(displs);
}

static void allgather(int n)
{
    int *mine = ints((size_t)n), *all = ints((size_t)(n * size));
    for (int k = 0; k < n; k++)
        mine[k] = item(rank, 0, k);
    COLL(Iallgather, Allgather, mine, n, MPI_INT, all, n, MPI_INT, comm);
    for (int i = 0; i < n * size; i++)
        CHECK(all[i] == item(i / n, 0, i % n));
    for (int i = 0; i < n * size; i++)
        all[i] = i / n == rank ? item(rank, 1, i % n) : -1;
    COLL(Iallgather, Allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_INT, comm);
    for (int i = 0; i < n * size; i++)
        CHECK(all[i] == item(i / n, 1, i % n));
    free(mine);
    free(all);
}

static void alltoall(int n)
{
    int *out = ints((size_t)(n * size)), *in = ints((size_t)(n * size));
    for (int i = 0; i < n * size; i++)
        out[i] = item(rank, i / n, i % n);
    COLL(Ialltoall, Alltoall, out, n, MPI_INT, in, n, MPI_INT, comm);
    for (int i = 0; i < n * size; i++)
        CHECK(in[i] == item(i / n, rank, i % n));
    COLL(Ialltoall, Alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, n, MPI_INT, comm);
    CHECK(memcmp(in, out, (size_t)(n * size) * sizeof(int)) == 0);
    free(out);
    free(in);
}

/* From i to j go n + (i + j) % 3 elements. */
static void alltoallv(int n)
{
    int stride = n + 3;
    int *out = ints((size_t)(stride * size)), *in = ints((size_t)(stride * size));
    int *counts = ints((size_t)size), *displs = ints((size_t)size), *bytes = ints((size_t)size);
    MPI_Datatype *types = malloc((size_t)size * sizeof(*types));
    for (int i = 0; i < size; i++) {
        counts[i] = n + (i + rank) % 3;
        displs[i] = i * stride;
        bytes[i] = (int)((size_t)displs[i] * sizeof(int));
        types[i] = counts[i] == 0 ? MPI_DATATYPE_NULL : MPI_INT;
        for (int k = 0; k < counts[i]; k++)
            out[displs[i] + k] = item(rank, i, k);
    }
    for (int variant = 0; variant < 3; variant++) {
        for (int i = 0; i < stride * size; i++)
            in[i] = -1;
        if (variant == 0)
            COLL(Ialltoallv, Alltoallv, out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, comm);
        else if (variant == 1)
            COLL(Ialltoallw, Alltoallw, out, counts, bytes, types, in, counts, bytes, types, comm);
        else {
            memcpy(in, out, (size_t)(stride * size) * sizeof(int));
            COLL(Ialltoallv, Alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, counts, displs,
                 MPI_INT, comm);
        }
        for (int i = 0; i < size; i++)
            for (int k = 0; k < counts[i]; k++)
                CHECK(in[displs[i] + k] == item(i, rank, k));
    }
    free(out);
    free(in);
    free(counts);
    free(displs);
    free(bytes);
    free(types);
}

static void everything(MPI_Comm on)
{
    static const int counts[] = {0, 1, 3, 17, 200, 1000, 20000};
    comm = on;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        int n = counts[i];
        for (int root = 0; root < size; root++) {
            bcast(n, root);
            gather_scatter(n, root);
            gatherv_scatterv(n, root);
        }
        allgather(n);
        alltoall(n);
        alltoallv(n);
        OK(MPI_Barrier(comm));
    }
    bcast(300000, size - 1);
}

/* User traffic with any-tag receives open must not meet that of the collectives. */
static void kept_apart(void)
{
    int in = -1, out = 12, sum;
    MPI_Request req;
    OK(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &req));
    COLL(Iallreduce, Allreduce, &out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == 12 * t_size && in == -1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Send(&out, 1, MPI_INT, (t_rank + 1) % t_size, 0, MPI_COMM_WORLD));
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    CHECK(in == 12);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    everything(MPI_COMM_WORLD);
    kept_apart();
    MPI_Comm part;
    OK(MPI_Comm_split(MPI_COMM_WORLD, t_rank == 0, -t_rank, &part));
    everything(part);
    OK(MPI_Comm_free(&part));
    everything(MPI_COMM_SELF);
    return t_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives of an inter-communicator between a group of one or two and the rest: what each gets comes
 * from the other group. Roots on both sides, all forms, counts across the change of algorithm. */
#include "mpitest.h"

static MPI_Comm inter;
static int rank, local, remote;
static int left; /* in the first group */

enum { LARGEST = 30000 };
static int in[LARGEST * 8], out[LARGEST * 8];

/* Element k of what rank r of a group (1: the first) has for rank `to` of the other. */
static int item(int first, int r, int to, int k)
{
    return first * 1000000 + r * 10000 + to * 1000 + k % 997;
}

static void fill(int to, int n, int *at)
{
    for (int k = 0; k < n; k++)
        at[k] = item(left, rank, to, k);
}

static void clear(void)
{
    memset(in, -1, sizeof(in));
}

/* The root argument here when the root is rank r of the first group, or of the second one. */
static int root_for(int of_first, int r)
{
    if (of_first != left)
        return r;
    return rank == r ? MPI_ROOT : MPI_PROC_NULL;
}

static void rooted(int of_first, int r, int n)
{
    int root = root_for(of_first, r);
    clear();
    if (root == MPI_ROOT)
        fill(0, n, in);
    COLL(Ibcast, Bcast, in, n, MPI_INT, root, inter);
    for (int k = 0; root >= 0 && k < n; k++)
        CHECK(in[k] == item(of_first, r, 0, k));

    clear();
    fill(r, n, out);
    COLL(Igather, Gather, out, n, MPI_INT, in, n, MPI_INT, root, inter);
    for (int i = 0; root == MPI_ROOT && i < n * remote; i++)
        CHECK(in[i] == item(!of_first, i / n, r, i % n));

    for (int i = 0; root == MPI_ROOT && i < remote; i++)
        fill(i, n, out + i * n);
    clear();
    COLL(Iscatter, Scatter, out, n, MPI_INT, in, n, MPI_INT, root, inter);
    for (int k = 0; root >= 0 && k < n; k++)
        CHECK(in[k] == item(of_first, r, rank, k));

    fill(0, n, out);
    COLL(Ireduce, Reduce, out, in, n, MPI_INT, MPI_MAX, root, inter);
    for (int k = 0; root == MPI_ROOT && k < n; k++)
        CHECK(in[k] == item(!of_first, remote - 1, 0, k));
}

static void rooted_v(int of_first, int r)
{
    int counts[64], displs[64], root = root_for(of_first, r);
    for (int i = 0; i < remote; i++) {
        counts[i] = i;
        displs[i] = 4 * i;
    }
    clear();
    fill(r, rank, out);
    COLL(Igatherv, Gatherv, out, rank, MPI_INT, in, counts, displs, MPI_INT, root, inter);
    for (int i = 0; root == MPI_ROOT && i < remote; i++)
        for (int k = 0; k < 4; k++)
            CHECK(in[4 * i + k] == (k < i ? item(!of_first, i, r, k) : -1));
    for (int i = 0; root == MPI_ROOT && i < remote; i++)
        fill(i, i, out + displs[i]);
    clear();
    COLL(Iscatterv, Scatterv, out, counts, displs, MPI_INT, in, rank, MPI_INT, root, inter);
    for (int k = 0; root >= 0 && k < rank; k++)
        CHECK(in[k] == item(of_first, r, rank, k));
}

static void all(int n)
{
    clear();
    fill(0, n, out);
    COLL(Iallgather, Allgather, out, n, MPI_INT, in, n, MPI_INT, inter);
    for (int i = 0; i < n * remote; i++)
        CHECK(in[i] == item(!left, i / n, 0, i % n));

    COLL(Iallreduce, Allreduce, out, in, n, MPI_INT, MPI_MIN, inter);
    for (int k = 0; k < n; k++)
        CHECK(in[k] == item(!left, 0, 0, k));

    for (int i = 0; i < remote; i++)
        fill(i, n, out + i * n);
    clear();
    COLL(Ialltoall, Alltoall, out, n, MPI_INT, in, n, MPI_INT, inter);
    for (int i = 0; i < n * remote; i++)
        CHECK(in[i] == item(!left, i / n, rank, i % n));

    /* Both groups reduce vectors of one length, and cut the result among themselves. */
    int whole = n * local * remote;
    for (int k = 0; k < whole; k++)
        out[k] = rank + k;
    COLL(Ireduce_scatter_block, Reduce_scatter_block, out, in, n * remote, MPI_INT, MPI_SUM, inter);
    for (int k = 0; k < n * remote; k++)
        CHECK(in[k] == remote * (remote - 1) / 2 + remote * (rank * n * remote + k));
    COLL(Ibarrier, Barrier, inter);
}

/* MPICH lets these pass, or waits. */
static void errors(void)
{
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    FAILS(MPI_Scan(out, in, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    FAILS(MPI_Bcast(in, 1, MPI_INT, remote, inter), MPI_ERR_ROOT);
    FAILS(MPI_Allreduce(MPI_IN_PLACE, in, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_BUFFER);
    FAILS(MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, in, 1, MPI_INT, inter), MPI_ERR_BUFFER);
}

int main(int argc, char **argv)
{
    static const int counts[] = {0, 1, 700};
    t_begin(&argc, &argv, 2);
    MPI_Comm part;
    int first = t_size > 4 ? 2 : 1;
    left = t_rank < first;
    OK(MPI_Comm_split(MPI_COMM_WORLD, left, 0, &part));
    OK(MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, left ? first : 0, 3, &inter));
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &local);
    MPI_Comm_remote_size(inter, &remote);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (int r = 0; r < first; r++)
            rooted(1, r, counts[i]);
        for (int r = 0; r < t_size - first; r++)
            rooted(0, r, counts[i]);
        all(counts[i]);
    }
    rooted_v(1, 0);
    rooted_v(0, t_size - first - 1);
    rooted(1, 0, LARGEST);
    errors();
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&part));
    return t_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Many collectives under way on one communicator match in the order of their calls, whatever the order
 * in which they are waited for; persistent ones match in the order in which they were made and start
 * together with point to point; none of them can be cancelled or given away while it runs. */
#include "mpitest.h"

enum { MANY = 60, COUNT = 300 };

static int next_rank(void)
{
    return (t_rank + 1) % t_size;
}

static void outstanding(void)
{
    static int in[MANY][COUNT], out[MANY][COUNT];
    MPI_Request reqs[MANY];
    for (int i = 0; i < MANY; i++) {
        int n = 1 + i * 37 % COUNT, root = i % t_size;
        for (int k = 0; k < COUNT; k++)
            in[i][k] = i + k + t_rank;
        if (i % 4 == 0)
            OK(MPI_Iallreduce(in[i], out[i], n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &reqs[i]));
        else if (i % 4 == 1)
            OK(MPI_Ibcast(in[i], n, MPI_INT, root, MPI_COMM_WORLD, &reqs[i]));
        else if (i % 4 == 2)
            OK(MPI_Ibarrier(MPI_COMM_WORLD, &reqs[i]));
        else
            OK(MPI_Iscan(in[i], out[i], n, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &reqs[i]));
    }
    /* Every rank in an order of its own; the rest together. */
    for (int i = 0; i < MANY / 2; i++)
        OK(MPI_Wait(&reqs[(i * (t_rank + 1) * 7) % MANY], MPI_STATUS_IGNORE));
    OK(MPI_Waitall(MANY, reqs, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MANY; i++) {
        int n = 1 + i * 37 % COUNT, sum = t_size * (t_size - 1) / 2;
        for (int k = 0; k < n; k++) {
            CHECK(i % 4 != 0 || out[i][k] == t_size * (i + k) + sum);
            CHECK(i % 4 != 1 || in[i][k] == i + k + i % t_size);
            CHECK(i % 4 != 3 || out[i][k] == i + k + t_rank);
        }
    }
}

/* Made in one order, started in another one on each rank, three times. */
static void persistent(void)
{
    int a = 0, b = 0, sum = 0, max = 0, got = 0;
    MPI_Request reqs[4];
    OK(MPI_Allreduce_init(&a, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[0]));
    OK(MPI_Allreduce_init(&b, &max, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[1]));
    OK(MPI_Send_init(&a, 1, MPI_INT, next_rank(), 5, MPI_COMM_WORLD, &reqs[2]));
    OK(MPI_Recv_init(&got, 1, MPI_INT, (t_rank + t_size - 1) % t_size, 5, MPI_COMM_WORLD, &reqs[3]));
    for (int round = 1; round <= 3; round++) {
        a = round + t_rank;
        b = 100 * round + t_rank;
        if (t_rank % 2 == 0) {
            OK(MPI_Startall(4, reqs));
        } else {
            OK(MPI_Start(&reqs[1]));
            OK(MPI_Start(&reqs[0]));
            OK(MPI_Startall(2, reqs + 2));
        }
        FAILS(MPI_Start(&reqs[0]), MPI_ERR_REQUEST);
        int done = 0;
        while (done < 4) {
            int index, outcount, indices[4];
            if (done % 2 == 0) {
                OK(MPI_Waitany(4, reqs, &index, MPI_STATUS_IGNORE));
                CHECK(index >= 0 && index < 4);
                done++;
            } else {
                OK(MPI_Testsome(4, reqs, &outcount, indices, MPI_STATUSES_IGNORE));
                done += outcount;
            }
        }
        CHECK(sum == t_size * round + t_size * (t_size - 1) / 2 && max == 100 * round + t_size - 1);
        CHECK(got == round + (t_rank + t_size - 1) % t_size);
    }
    for (int i = 0; i < 4; i++)
        OK(MPI_Request_free(&reqs[i]));
}

static void not_given_away(void)
{
    MPI_Request req, kept, copy;
    OK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &kept));
    /* Nobody's has ended before rank 0 calls, which it does when the others have tried. */
    for (int i = 1; t_rank == 0 && i < t_size; i++)
        OK(MPI_Recv(NULL, 0, MPI_INT, i, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Start(&kept));
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &req));
    copy = req;
    FAILS(MPI_Cancel(&copy), MPI_ERR_REQUEST);
    if (t_rank != 0) {
        FAILS(MPI_Request_free(&copy), MPI_ERR_REQUEST);
        copy = kept;
        FAILS(MPI_Request_free(&copy), MPI_ERR_REQUEST);
        OK(MPI_Send(NULL, 0, MPI_INT, 0, 7, MPI_COMM_WORLD));
    }
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&kept, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&kept));
}

/* The communicator, the datatype and the operation may be freed while the collective runs. */
static void add_pairs(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)
{
    MPI_Aint lb, extent;
    OK(MPI_Type_get_extent(*type, &lb, &extent));
    for (MPI_Count i = 0; i < *len; i++) {
        int *a = (int *)(void *)((char *)in + i * extent), *b = (int *)(void *)((char *)inout + i * extent);
        b[0] += a[0];
        b[2] += a[2];
    }
}

static void freed_meanwhile(void)
{
    int in[6], out[6];
    MPI_Datatype type, last_third;
    MPI_Op op;
    MPI_Comm comm;
    MPI_Request req;
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &last_third));
    OK(MPI_Type_create_resized(last_third, 0, 3 * (MPI_Aint)sizeof(int), &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Op_create_c(add_pairs, 0, &op));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int k = 0; k < 6; k++) {
        in[k] = t_rank + k;
        out[k] = -1;
    }
    OK(MPI_Iallreduce_c(in, out, 2, type, op, comm, &req));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&last_third));
    OK(MPI_Op_free(&op));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    for (int k = 0; k < 6; k++)
        CHECK(k % 3 == 1 ? out[k] == -1 : out[k] == t_size * k + t_size * (t_size - 1) / 2);
}

/* Large-count forms take arrays of MPI_Count and MPI_Aint. */
static void wide_counts(void)
{
    MPI_Count *counts = malloc(sizeof(*counts) * (size_t)t_size);
    MPI_Aint *displs = malloc(sizeof(*displs) * (size_t)t_size);
    int *out = malloc(sizeof(int) * 3 * (size_t)t_size), *in = malloc(sizeof(int) * 3 * (size_t)t_size);
    for (int i = 0; i < t_size; i++) {
        counts[i] = 1 + (i + t_rank) % 2;
        displs[i] = 3 * i;
        out[3 * i] = out[3 * i + 1] = 10 * t_rank + i;
    }
    OK(MPI_Alltoallv_c(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < t_size; i++)
        CHECK(in[3 * i] == 10 * i + t_rank && (counts[i] == 1 || in[3 * i + 1] == 10 * i + t_rank));
    OK(MPI_Bcast_c(out, 2, MPI_INT, t_size - 1, MPI_COMM_WORLD));
    CHECK(out[0] == 10 * (t_size - 1));
    counts[0] = -1;
    FAILS(MPI_Alltoallv_c(out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD),
          MPI_ERR_COUNT);
    counts[0] = counts[t_size - 1] = INT64_MAX / 5;
    FAILS(MPI_Allgatherv_c(MPI_IN_PLACE, 0, MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD),
          MPI_ERR_COUNT);
    FAILS(MPI_Allgather(out, 2, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
    free(counts);
    free(displs);
    free(out);
    free(in);
}

/* Blocking collectives and those with a request match by themselves: a program in which one rank starts an operation
 * before a barrier and the others after it goes on as its writer thought. (MPI wants one order; other libraries let it
 * pass, and an agreement among ranks is written so.) */
static void started_around_barriers(void)
{
    for (int root = 0; root < t_size; root++) {
        int mine = t_rank == root ? 11 : 13, all = 0, flag = 1;
        MPI_Request req;
        if (t_rank == root) {
            OK(MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_BAND, MPI_COMM_WORLD, &req));
            OK(MPI_Test(&req, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag);
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (t_rank != root)
            OK(MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_BAND, MPI_COMM_WORLD, &req));
        OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
        CHECK(all == (t_size > 1 ? 9 : 11));
    }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    outstanding();
    persistent();
    not_given_away();
    freed_meanwhile();
    wide_counts();
    started_around_barriers();
    return t_end();
}

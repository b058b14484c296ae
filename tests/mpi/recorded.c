/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ranks that send each other what record.py expects in their traces: each call once, in this order. Message k of
 * doubles holds 1000 k + i. */
#include "mpitest.h"

#define N 256

static double buffer[32][2 * N];
static int messages, rank, peer;

/* The next message, its elements `step` apart. */
static double *fill(int step)
{
    double *at = buffer[messages];

    for (int i = 0; i < N; i++)
        at[i * step] = 1000.0 * messages + i;
    messages++;
    return at;
}

static void wildcards_that_end_late(void)
{
    static double got[2][N];
    MPI_Request r[2], s[2];
    int index;

    MPI_Irecv(got[0], N, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(got[1], N, MPI_DOUBLE, peer, 3, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(fill(1), N, MPI_DOUBLE, peer, 2, MPI_COMM_WORLD, &s[0]);
    MPI_Isend(fill(1), N, MPI_DOUBLE, peer, 3, MPI_COMM_WORLD, &s[1]);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
    CHECK(index == 0);
    MPI_Waitall(2, s, MPI_STATUSES_IGNORE);
}

static void persistent(MPI_Comm dup)
{
    static double got[N];
    MPI_Request r[2];
    MPI_Datatype every_other;
    double *at = fill(2);
    int flag = 0;

    MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Recv_init(got, N, MPI_DOUBLE, MPI_ANY_SOURCE, 4, dup, &r[0]);
    MPI_Send_init(at, 1, every_other, peer, 4, dup, &r[1]);
    MPI_Type_free(&every_other);
    MPI_Startall(2, r);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < N; i++)
        at[2 * i] = 1000.0 * messages + i;
    messages++;
    MPI_Start(&r[0]);
    MPI_Start(&r[1]);
    while (!flag)
        MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

static void matched(void)
{
    static double got[N];
    MPI_Request r, s;
    MPI_Message message;
    int flag = 0, n, index;

    MPI_Isend(fill(1), N, MPI_DOUBLE, peer, 5, MPI_COMM_WORLD, &s);
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(got, N, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    MPI_Isend(fill(1), N, MPI_DOUBLE, peer, 6, MPI_COMM_WORLD, &s);
    while (!flag)
        MPI_Improbe(peer, 6, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(got, N, MPI_DOUBLE, &message, &r);
    MPI_Waitsome(1, &r, &n, &index, MPI_STATUSES_IGNORE);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
}

static void not_for_the_trace(void)
{
    int numbers[1024] = {0}, got[1024];
    double one = 1, other;
    MPI_Request r;

    MPI_Sendrecv(numbers, 1024, MPI_INT, peer, 8, got, 1024, MPI_INT, peer, 8, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&one, 1, MPI_DOUBLE, peer, 9, &other, 1, MPI_DOUBLE, peer, 9, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(buffer, N, MPI_DOUBLE, MPI_PROC_NULL, 9, buffer, N, MPI_DOUBLE, MPI_PROC_NULL, 9,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(&other, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void modes(void)
{
    static double got[8][N];
    static char attached[8 * (sizeof(double) * N + MPI_BSEND_OVERHEAD)];
    MPI_Request r[8], s[4];
    void *gone;
    int n;

    MPI_Buffer_attach(attached, (int)sizeof(attached));
    for (int i = 0; i < 8; i++)
        MPI_Irecv(got[i], N, MPI_DOUBLE, peer, 10 + i, MPI_COMM_WORLD, &r[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(fill(1), N, MPI_DOUBLE, peer, 10, MPI_COMM_WORLD);
    MPI_Ssend(fill(1), N, MPI_DOUBLE, peer, 11, MPI_COMM_WORLD);
    MPI_Rsend(fill(1), N, MPI_DOUBLE, peer, 12, MPI_COMM_WORLD);
    MPI_Bsend_c(fill(1), N, MPI_DOUBLE, peer, 13, MPI_COMM_WORLD);
    MPI_Isend(fill(1), N, MPI_DOUBLE, peer, 14, MPI_COMM_WORLD, &s[0]);
    MPI_Issend(fill(1), N, MPI_DOUBLE, peer, 15, MPI_COMM_WORLD, &s[1]);
    MPI_Irsend_c(fill(1), N, MPI_DOUBLE, peer, 16, MPI_COMM_WORLD, &s[2]);
    MPI_Ibsend(fill(1), N, MPI_DOUBLE, peer, 17, MPI_COMM_WORLD, &s[3]);
    MPI_Waitall(4, s, MPI_STATUSES_IGNORE);
    MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
    MPI_Buffer_detach(&gone, &n);
}

/* With blocks of 8 doubles; `reversed` has the ranks the other way round. */
static void collectives(MPI_Comm reversed)
{
    static double out[2 * N], in[2 * N];
    int mine[2] = {1 + 2 * rank, 2 + 2 * rank}, theirs[2] = {1 + rank, 3 + rank}, at[2] = {0, N};
    MPI_Request r;

    MPI_Barrier(reversed);
    MPI_Bcast(out, 8, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Reduce(out, in, 8, MPI_DOUBLE, MPI_SUM, 1, reversed);
    MPI_Allreduce(MPI_IN_PLACE, in, 8, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 8, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Allgather(out, 16, MPI_FLOAT, in, 8, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Gather(out, 8, MPI_DOUBLE, rank == 1 ? in : NULL, rank == 1 ? 8 : 0, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Scatter(rank == 0 ? out : NULL, rank == 0 ? 8 : 0, MPI_DOUBLE, in, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Alltoallv(out, mine, at, MPI_DOUBLE, in, theirs, at, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Scan(out, in, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static double got[N];
    MPI_Comm dup, reversed;
    MPI_Status status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Sendrecv(fill(1), N, MPI_DOUBLE, peer, 1, got, N, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, &status);
    wildcards_that_end_late();
    persistent(dup);
    matched();
    /* The peer has there the rank that this one has in the world. */
    MPI_Sendrecv_replace(fill(1), N, MPI_DOUBLE, rank, 7, rank, 7, reversed, &status);
    not_for_the_trace();
    modes();
    collectives(reversed);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives with vectors and numbers of ranks for which other algorithms are chosen: several segments,
 * one piece per rank, halving with ranks left over, small blocks among many ranks. */
#include "mpitest.h"

enum { LARGEST = 700001 };
static long in[LARGEST], out[LARGEST];

static long value(int r, int k)
{
    return (r * 7L + k * 3L) % 1009;
}

static long sum_of(int ranks, int k)
{
    long sum = 0;
    for (int r = 0; r < ranks; r++)
        sum += value(r, k);
    return sum;
}

static void fill(int n)
{
    for (int k = 0; k < n; k++) {
        in[k] = value(t_rank, k);
        out[k] = -1;
    }
}

static void sums(int n)
{
    int root = t_size / 2;
    fill(n);
    COLL(Ireduce, Reduce, in, out, n, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD);
    for (int k = 0; k < n; k++)
        CHECK(out[k] == (t_rank == root ? sum_of(t_size, k) : -1));
    COLL(Iallreduce, Allreduce, in, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < n; k++)
        CHECK(out[k] == sum_of(t_size, k));
    if (t_rank == root)
        COLL(Ireduce, Reduce, MPI_IN_PLACE, in, n, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD);
    else
        COLL(Ireduce, Reduce, in, NULL, n, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD);
    for (int k = 0; k < n; k++)
        CHECK(in[k] == (t_rank == root ? sum_of(t_size, k) : value(t_rank, k)));
    fill(n);
    COLL(Iallreduce, Allreduce, MPI_IN_PLACE, in, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < n; k++)
        CHECK(in[k] == sum_of(t_size, k));
    fill(n);
    COLL(Iscan, Scan, in, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < n; k++)
        CHECK(out[k] == sum_of(t_rank + 1, k));
}

static void scattered_sums(int each)
{
    fill(each * t_size);
    COLL(Ireduce_scatter_block, Reduce_scatter_block, in, out, each, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < each; k++)
        CHECK(out[k] == sum_of(t_size, t_rank * each + k));
    COLL(Ireduce_scatter_block, Reduce_scatter_block, MPI_IN_PLACE, in, each, MPI_LONG, MPI_SUM,
         MPI_COMM_WORLD);
    for (int k = 0; k < each; k++)
        CHECK(in[k] == sum_of(t_size, t_rank * each + k));
}

/* first op second = first * 10 + second, modulo 2^64: the digits tell the order. An element is a number
 * and the power of ten that belongs to it. */
static void append(void *a, void *b, int *len, MPI_Datatype *type)
{
    unsigned long *first = a, *second = b;
    (void)type;
    for (int i = 0; i < 2 * *len; i += 2) {
        second[i] += first[i] * second[i + 1];
        second[i + 1] *= first[i + 1];
    }
}

static unsigned long digits(int k)
{
    unsigned long number = 0;
    for (int r = 0; r < t_size; r++)
        number = number * 10 + (unsigned long)((r + k) % 10);
    return number;
}

static void ordered(int n, int each)
{
    MPI_Datatype pair;
    MPI_Op op;
    OK(MPI_Type_contiguous(2, MPI_LONG, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Op_create(append, 0, &op));
    for (int k = 0; k < n; k++) {
        in[2 * k] = (t_rank + k) % 10;
        in[2 * k + 1] = 10;
    }
    COLL(Iallreduce, Allreduce, in, out, n, pair, op, MPI_COMM_WORLD);
    for (int k = 0; k < n; k++)
        CHECK((unsigned long)out[2 * k] == digits(k));
    COLL(Ireduce_scatter_block, Reduce_scatter_block, in, out, each, pair, op, MPI_COMM_WORLD);
    for (int k = 0; k < each; k++)
        CHECK((unsigned long)out[2 * k] == digits(t_rank * each + k));
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&pair));
}

static void blocks(int n)
{
    for (int i = 0; i < n * t_size; i++)
        in[i] = value(t_rank * 100 + i / n, i % n);
    COLL(Ialltoall, Alltoall, in, n, MPI_LONG, out, n, MPI_LONG, MPI_COMM_WORLD);
    for (int i = 0; i < n * t_size; i++)
        CHECK(out[i] == value(i / n * 100 + t_rank, i % n));
    COLL(Ialltoall, Alltoall, MPI_IN_PLACE, 0, MPI_LONG, in, n, MPI_LONG, MPI_COMM_WORLD);
    CHECK(memcmp(in, out, sizeof(in[0]) * (size_t)(n * t_size)) == 0);
    for (int k = 0; k < n; k++)
        in[k] = value(t_rank, k);
    COLL(Iallgather, Allgather, in, n, MPI_LONG, out, n, MPI_LONG, MPI_COMM_WORLD);
    for (int i = 0; i < n * t_size; i++)
        CHECK(out[i] == value(i / n, i % n));
    for (int i = 0; i < n * t_size; i++)
        in[i] = t_rank == 1 ? value(5, i) : -1;
    COLL(Ibcast, Bcast, in, n * t_size, MPI_LONG, 1, MPI_COMM_WORLD);
    for (int i = 0; i < n * t_size; i++)
        CHECK(in[i] == value(5, i));
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    sums(LARGEST);
    sums(20000);
    scattered_sums(2000);
    scattered_sums(20000 / t_size * 9);
    ordered(60000, 9000 / t_size);
    ordered(60000, 40000 / t_size);
    blocks(1);
    blocks(30);
    blocks(500); /* 34 ranks: a broadcast of 136000 bytes in pieces too small for a ring */
    blocks(700);
    blocks(10000);
    return t_end();
}

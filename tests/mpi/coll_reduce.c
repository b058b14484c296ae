/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions against the serial answer: every predefined operation on the types it allows, in place,
 * every root, counts across the change of algorithm, user operations that do not commute. */
#include "mpitest.h"

#include <complex.h>
#include <stdbool.h>

static MPI_Comm comm;
static int rank, size;

static const int counts[] = {0, 1, 5, 64, 1000, 30000};
enum { COUNTS = sizeof(counts) / sizeof(counts[0]), LARGEST = 30000 };

/* Small values: exact in every type, products do not overflow for a few ranks. */
static long value(int r, int k)
{
    return (r * 7 + k * 3) % 5 + 1;
}

static long combine(MPI_Op op, long a, long b)
{
    if (op == MPI_SUM)
        return a + b;
    if (op == MPI_PROD)
        return a * b;
    if (op == MPI_MIN)
        return a < b ? a : b;
    if (op == MPI_MAX)
        return a > b ? a : b;
    if (op == MPI_BAND)
        return a & b;
    if (op == MPI_BOR)
        return a | b;
    if (op == MPI_BXOR)
        return a ^ b;
    if (op == MPI_LAND)
        return a && b;
    if (op == MPI_LOR)
        return a || b;
    return !a != !b;
}

static long serial(MPI_Op op, int from, int to, int k)
{
    long result = value(from, k);
    for (int r = from + 1; r < to; r++)
        result = combine(op, result, value(r, k));
    return result;
}

#define FOR_TYPE(name, T) \
    static void test_##name(MPI_Datatype type, MPI_Op op, int n) \
    { \
        T *in = calloc((size_t)n + 1, sizeof(T)), *out = calloc((size_t)n + 1, sizeof(T)); \
        for (int k = 0; k < n; k++) \
            in[k] = (T)value(rank, k); \
        COLL(Iallreduce, Allreduce, in, out, n, type, op, comm); \
        for (int k = 0; k < n; k++) \
            CHECK(out[k] == (T)serial(op, 0, size, k)); \
        memcpy(out, in, sizeof(T) * (size_t)n); \
        COLL(Iallreduce, Allreduce, MPI_IN_PLACE, out, n, type, op, comm); \
        for (int k = 0; k < n; k++) \
            CHECK(out[k] == (T)serial(op, 0, size, k)); \
        int root = (n + 1) % size; \
        memset(out, 0, sizeof(T) * (size_t)n); \
        COLL(Ireduce, Reduce, in, out, n, type, op, root, comm); \
        for (int k = 0; rank == root && k < n; k++) \
            CHECK(out[k] == (T)serial(op, 0, size, k)); \
        COLL(Iscan, Scan, in, out, n, type, op, comm); \
        for (int k = 0; k < n; k++) \
            CHECK(out[k] == (T)serial(op, 0, rank + 1, k)); \
        COLL(Iexscan, Exscan, in, out, n, type, op, comm); \
        for (int k = 0; rank > 0 && k < n; k++) \
            CHECK(out[k] == (T)serial(op, 0, rank, k)); \
        free(in); \
        free(out); \
    }

FOR_TYPE(i8, int8_t)
FOR_TYPE(u8, uint8_t)
FOR_TYPE(i16, int16_t)
FOR_TYPE(u16, uint16_t)
FOR_TYPE(i32, int32_t)
FOR_TYPE(u32, uint32_t)
FOR_TYPE(i64, int64_t)
FOR_TYPE(u64, uint64_t)
FOR_TYPE(f32, float)
FOR_TYPE(f64, double)
FOR_TYPE(ld, long double)
FOR_TYPE(c32, float _Complex)
FOR_TYPE(c64, double _Complex)

static void all_operations(int n)
{
    const MPI_Op arithmetic[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
    const MPI_Op integer[] = {MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};
    for (int o = 0; o < 4; o++) {
        MPI_Op op = arithmetic[o];
        test_i32(MPI_INT, op, n);
        test_u32(MPI_UNSIGNED, op, n);
        test_i64(MPI_LONG, op, n);
        test_u64(MPI_UINT64_T, op, n);
        test_f32(MPI_FLOAT, op, n);
        test_f64(MPI_DOUBLE, op, n);
        test_ld(MPI_LONG_DOUBLE, op, n);
        test_i16(MPI_SHORT, op, n);
        test_u16(MPI_UNSIGNED_SHORT, op, n);
        if (op != MPI_PROD && op != MPI_SUM) {
            test_i8(MPI_SIGNED_CHAR, op, n);
            test_u8(MPI_UNSIGNED_CHAR, op, n);
        }
    }
    test_c32(MPI_C_FLOAT_COMPLEX, MPI_SUM, n);
    test_c64(MPI_C_DOUBLE_COMPLEX, MPI_PROD, n);
    for (int o = 0; o < 6; o++) {
        test_i32(MPI_INT32_T, integer[o], n);
        test_u8(MPI_UINT8_T, integer[o], n);
        test_i64(MPI_INT64_T, integer[o], n);
        if (o < 3)
            test_u8(MPI_BYTE, integer[o], n);
    }
}

static void locations(int n)
{
    struct pair {
        double value;
        int index;
    } *in = calloc((size_t)n + 1, sizeof(*in)), *out = calloc((size_t)n + 1, sizeof(*out));
    for (int k = 0; k < n; k++) {
        in[k].value = (double)value(rank, k);
        in[k].index = rank;
    }
    for (int max = 0; max < 2; max++) {
        COLL(Iallreduce, Allreduce, in, out, n, MPI_DOUBLE_INT, max ? MPI_MAXLOC : MPI_MINLOC, comm);
        for (int k = 0; k < n; k++) {
            int best = 0;
            for (int r = 1; r < size; r++)
                if (max ? value(r, k) > value(best, k) : value(r, k) < value(best, k))
                    best = r;
            CHECK(out[k].value == (double)value(best, k) && out[k].index == best);
        }
    }
    free(in);
    free(out);
}

/* Composition of affine maps modulo a prime: associative, not commutative. */
struct affine {
    int a;
    int b;
};

static void compose(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    struct affine *f = in, *g = inout;
    for (int i = 0; i < *len; i++) {
        struct affine h = {g[i].a * f[i].a % 101, (g[i].a * f[i].b + g[i].b) % 101};
        g[i] = h;
    }
}

static struct affine affine_of(int r, int k)
{
    return (struct affine){(r * 13 + k * 5) % 100 + 1, (r * 31 + k) % 101};
}

static struct affine affine_serial(int to, int k)
{
    struct affine f = affine_of(0, k);
    for (int r = 1; r < to; r++) {
        struct affine g = affine_of(r, k);
        int one = 1;
        compose(&f, &g, &one, NULL);
        f = g;
    }
    return f;
}

static bool same(struct affine x, struct affine y)
{
    return x.a == y.a && x.b == y.b;
}

static void ordered(int n)
{
    MPI_Op op;
    MPI_Datatype type;
    OK(MPI_Op_create(compose, 0, &op));
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    struct affine *in = malloc(sizeof(*in) * (size_t)(n * size + 1));
    struct affine *out = malloc(sizeof(*out) * (size_t)(n * size + 1));
    int *blocks = malloc(sizeof(int) * (size_t)size);
    for (int k = 0; k < n * size; k++)
        in[k] = affine_of(rank, k);
    COLL(Iallreduce, Allreduce, in, out, n, type, op, comm);
    for (int k = 0; k < n; k++)
        CHECK(same(out[k], affine_serial(size, k)));
    for (int root = 0; root < size; root++) {
        COLL(Ireduce, Reduce, in, out, n, type, op, root, comm);
        for (int k = 0; rank == root && k < n; k++)
            CHECK(same(out[k], affine_serial(size, k)));
    }
    COLL(Iscan, Scan, in, out, n, type, op, comm);
    for (int k = 0; k < n; k++)
        CHECK(same(out[k], affine_serial(rank + 1, k)));
    COLL(Iexscan, Exscan, in, out, n, type, op, comm);
    for (int k = 0; rank > 0 && k < n; k++)
        CHECK(same(out[k], affine_serial(rank, k)));
    COLL(Ireduce_scatter_block, Reduce_scatter_block, in, out, n, type, op, comm);
    for (int k = 0; k < n; k++)
        CHECK(same(out[k], affine_serial(size, rank * n + k)));
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&type));
    free(in);
    free(out);
    free(blocks);
}

static void reduce_scatter(int n)
{
    int *blocks = malloc(sizeof(int) * (size_t)size), total = 0, start = 0;
    for (int i = 0; i < size; i++) {
        blocks[i] = i % 3 == 1 ? 0 : n + i;
        start += i < rank ? blocks[i] : 0;
        total += blocks[i];
    }
    long *in = malloc(sizeof(long) * (size_t)(total + 1)), *out = malloc(sizeof(long) * (size_t)(total + 1));
    for (int k = 0; k < total; k++)
        in[k] = value(rank, k);
    COLL(Ireduce_scatter, Reduce_scatter, in, out, blocks, MPI_LONG, MPI_SUM, comm);
    for (int k = 0; k < blocks[rank]; k++)
        CHECK(out[k] == serial(MPI_SUM, 0, size, start + k));
    COLL(Ireduce_scatter, Reduce_scatter, MPI_IN_PLACE, in, blocks, MPI_LONG, MPI_MAX, comm);
    for (int k = 0; k < blocks[rank]; k++)
        CHECK(in[k] == serial(MPI_MAX, 0, size, start + k));
    free(blocks);
    free(in);
    free(out);
}

static void in_place(int n)
{
    long *data = malloc(sizeof(long) * (size_t)(n + 1));
    for (int variant = 0; variant < 3; variant++) {
        for (int k = 0; k < n; k++)
            data[k] = value(rank, k);
        if (variant == 0) {
            if (rank == size - 1)
                COLL(Ireduce, Reduce, MPI_IN_PLACE, data, n, MPI_LONG, MPI_SUM, size - 1, comm);
            else
                COLL(Ireduce, Reduce, data, NULL, n, MPI_LONG, MPI_SUM, size - 1, comm);
        } else if (variant == 1) {
            COLL(Iscan, Scan, MPI_IN_PLACE, data, n, MPI_LONG, MPI_SUM, comm);
        } else {
            COLL(Iexscan, Exscan, MPI_IN_PLACE, data, n, MPI_LONG, MPI_SUM, comm);
        }
        int to = variant == 0 ? size : variant == 1 ? rank + 1 : rank;
        if (to == 0 || (variant == 0 && rank != size - 1))
            continue;
        for (int k = 0; k < n; k++)
            CHECK(data[k] == serial(MPI_SUM, 0, to, k));
    }
    free(data);
}

static void everything(MPI_Comm on)
{
    comm = on;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < COUNTS; i++) {
        int n = counts[i];
        if (n < LARGEST)
            all_operations(n);
        test_i64(MPI_LONG, MPI_SUM, n);
        test_f64(MPI_DOUBLE, MPI_MAX, n);
        locations(n);
        ordered(n < 5000 ? n : 5000);
        reduce_scatter(n);
        in_place(n);
    }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    everything(MPI_COMM_WORLD);
    MPI_Comm part;
    OK(MPI_Comm_split(MPI_COMM_WORLD, t_rank == 0, -t_rank, &part));
    everything(part);
    OK(MPI_Comm_free(&part));
    return t_end();
}

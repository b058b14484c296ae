/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatype constructors: parts of arrays, explicit bounds, what envelope and contents tell, large counts,
 * external32, types found by size or precision. */
#include "mpitest.h"

enum { ROWS = 6, COLS = 8 };

/* The block [2..4] x [3..6] of a matrix, in both orders. */
static void subarrays(void)
{
    static const int order[2] = {MPI_ORDER_C, MPI_ORDER_FORTRAN};
    int a[ROWS * COLS], part[12];
    for (int i = 0; i < ROWS * COLS; i++)
        a[i] = i;
    for (int k = 0; k < 2; k++) {
        int c = order[k] == MPI_ORDER_C, position = 0;
        int sizes[2] = {c ? ROWS : COLS, c ? COLS : ROWS}, starts[2] = {c ? 2 : 3, c ? 3 : 2};
        int subsizes[2] = {c ? 3 : 4, c ? 4 : 3};
        MPI_Datatype t;
        MPI_Aint lb, extent;
        OK(MPI_Type_create_subarray(2, sizes, subsizes, starts, order[k], MPI_INT, &t));
        OK(MPI_Type_commit(&t));
        OK(MPI_Type_get_extent(t, &lb, &extent));
        CHECK(lb == 0 && extent == (MPI_Aint)sizeof(a));
        OK(MPI_Type_get_true_extent(t, &lb, &extent));
        CHECK(lb == (2 * COLS + 3) * 4 && extent == (2 * COLS + 4) * 4);
        OK(MPI_Pack(a, 1, t, part, sizeof(part), &position, MPI_COMM_SELF));
        for (int i = 0; i < 12; i++)
            CHECK(part[i] == (2 + i / 4) * COLS + 3 + i % 4);
        starts[0] = sizes[0];
        FAILS(MPI_Type_create_subarray(2, sizes, subsizes, starts, order[k], MPI_INT, &t), MPI_ERR_ARG);
    }
}

/* Every element of a distributed array belongs to one process, in ascending order. */
static void shares(int n0, int n1, const int *distribs, const int *dargs, int order)
{
    enum { P0 = 2, P1 = 3, MOST = 400 };
    int gsizes[2] = {n0, n1}, psizes[2] = {P0, P1}, owned[MOST] = {0}, all[MOST];
    for (int i = 0; i < n0 * n1; i++)
        all[i] = i;
    for (int rank = 0; rank < P0 * P1; rank++) {
        MPI_Datatype t;
        MPI_Aint lb, extent;
        int size, position = 0, part[MOST];
        OK(MPI_Type_create_darray(P0 * P1, rank, 2, gsizes, distribs, dargs, psizes, order, MPI_INT, &t));
        OK(MPI_Type_commit(&t));
        OK(MPI_Type_get_extent(t, &lb, &extent));
        CHECK(lb == 0 && extent == n0 * n1 * 4);
        OK(MPI_Type_size(t, &size));
        OK(MPI_Pack(all, 1, t, part, sizeof(part), &position, MPI_COMM_SELF));
        CHECK(position == size);
        for (int i = 0; i < size / 4; i++) {
            CHECK(i == 0 || part[i] > part[i - 1]);
            CHECK(owned[part[i]]++ == 0);
            int at[2] = {order == MPI_ORDER_C ? part[i] / n1 : part[i] % n0,
                         order == MPI_ORDER_C ? part[i] % n1 : part[i] / n0};
            int place[2] = {rank / P1, rank % P1};
            for (int d = 0; d < 2; d++) {
                int block = dargs[d] != MPI_DISTRIBUTE_DFLT_DARG   ? dargs[d]
                            : distribs[d] == MPI_DISTRIBUTE_CYCLIC ? 1
                                                                   : (gsizes[d] + psizes[d] - 1) / psizes[d];
                CHECK(at[d] / block % psizes[d] == place[d]);
            }
        }
        OK(MPI_Type_free(&t));
    }
    for (int i = 0; i < n0 * n1; i++)
        CHECK(owned[i] == 1);
}

static void darrays(void)
{
    static const int block_cyclic[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    static const int by_default[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    static const int by_two[2] = {9, 2};
    for (int k = 0; k < 2; k++) {
        int order = k == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        shares(17, 20, block_cyclic, by_default, order);
        shares(17, 20, block_cyclic, by_two, order);
        shares(1, 2, block_cyclic, by_default, order);
    }
}

/* Bounds that were set by hand override all others; without them a struct is padded. */
static void bounds(void)
{
    int lengths[2] = {1, 1};
    MPI_Aint displs[2] = {0, 8}, lb, extent;
    MPI_Datatype types[2] = {MPI_DOUBLE, MPI_CHAR}, t, u;
    OK(MPI_Type_create_struct(2, lengths, displs, types, &t));
    OK(MPI_Type_get_extent(t, &lb, &extent));
    CHECK(lb == 0 && extent == 16);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_resized(MPI_INT, -3, 9, &t));
    OK(MPI_Type_contiguous(2, t, &u));
    OK(MPI_Type_get_extent(u, &lb, &extent));
    CHECK(lb == -3 && extent == 18);
    OK(MPI_Type_get_true_extent(u, &lb, &extent));
    CHECK(lb == 0 && extent == 13);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_free(&u));
}

static void has_bounds(MPI_Datatype *t, MPI_Aint wanted_lb, MPI_Aint wanted_extent)
{
    MPI_Aint lb, extent;
    OK(MPI_Type_get_extent(*t, &lb, &extent));
    CHECK(lb == wanted_lb && extent == wanted_extent);
    OK(MPI_Type_free(t));
}

/* What has nothing in its type map has no bounds, wherever it lies, unless they were set; a struct is padded where that can be said. */
static void bounds_of_nothing(void)
{
    int lengths[2] = {1, 1};
    MPI_Aint displs[2] = {64, 8}, far[2] = {0, PTRDIFF_MAX - 5};
    MPI_Datatype nothing, types[2] = {MPI_DATATYPE_NULL, MPI_INT}, t;
    OK(MPI_Type_contiguous(0, MPI_INT, &nothing));
    types[0] = nothing;
    OK(MPI_Type_create_struct(2, lengths, displs, types, &t));
    has_bounds(&t, 8, 4);
    OK(MPI_Type_create_hindexed_block(1, 1, displs, nothing, &t));
    has_bounds(&t, 0, 0);
    OK(MPI_Type_create_hvector(3, 2, 40, nothing, &t));
    has_bounds(&t, 0, 0);
    OK(MPI_Type_create_resized(nothing, -3, 10, &types[0]));
    OK(MPI_Type_create_hvector(2, 1, 40, types[0], &t));
    has_bounds(&t, -3, 50);
    OK(MPI_Type_create_struct(2, lengths, displs, types, &t));
    has_bounds(&t, 61, 10);
    has_bounds(&types[0], -3, 10);
    has_bounds(&nothing, 0, 0);
    types[0] = MPI_CHAR;
    OK(MPI_Type_create_struct(2, lengths, far, types, &t));
    has_bounds(&t, 0, PTRDIFF_MAX - 1);
}

static void contents(void)
{
    int lengths[2] = {3, 4}, ni, na, nd, combiner, ints[3];
    MPI_Aint displs[2] = {0, 64}, addrs[2], lb, extent;
    MPI_Datatype inner, types[2] = {MPI_INT, MPI_DATATYPE_NULL}, t, got[2];
    OK(MPI_Type_vector(2, 1, 3, MPI_FLOAT, &inner));
    types[1] = inner;
    OK(MPI_Type_create_struct(2, lengths, displs, types, &t));
    OK(MPI_Type_free(&inner));
    OK(MPI_Type_get_envelope(t, &ni, &na, &nd, &combiner));
    CHECK(ni == 3 && na == 2 && nd == 2 && combiner == MPI_COMBINER_STRUCT);
    OK(MPI_Type_get_contents(t, ni, na, nd, ints, addrs, got));
    CHECK(ints[0] == 2 && ints[1] == 3 && ints[2] == 4 && addrs[1] == 64 && got[0] == MPI_INT);
    FAILS(MPI_Type_get_contents(t, 2, na, nd, ints, addrs, got), MPI_ERR_ARG);
    FAILS(MPI_Type_get_contents(MPI_INT, 2, na, nd, ints, addrs, got), MPI_ERR_TYPE);
    OK(MPI_Type_free(&t));
    /* What came out of it outlives it, and says in turn what it was made of. */
    OK(MPI_Type_get_extent(got[1], &lb, &extent));
    CHECK(extent == 16);
    OK(MPI_Type_get_envelope(got[1], &ni, &na, &nd, &combiner));
    CHECK(ni == 3 && na == 0 && nd == 1 && combiner == MPI_COMBINER_VECTOR);
    OK(MPI_Type_get_contents(got[1], ni, na, nd, ints, addrs, types));
    CHECK(ints[0] == 2 && ints[1] == 1 && ints[2] == 3 && types[0] == MPI_FLOAT);
    OK(MPI_Type_free(&got[1]));
    OK(MPI_Type_get_envelope(MPI_DOUBLE_INT, &ni, &na, &nd, &combiner));
    CHECK(combiner == MPI_COMBINER_NAMED && ni == 0 && nd == 0);
}

/* More elements than an int can count, never touched. */
static void large_counts(void)
{
    MPI_Count n = (MPI_Count)5 << 30, size, lb, extent, ni, na, nc, nd, counts[3], lengths[2] = {n, 1};
    MPI_Count displs[2] = {0, 2 * n};
    MPI_Datatype t, got;
    int combiner, dummy, small;
    OK(MPI_Type_vector_c(2, n, n + 3, MPI_DOUBLE, &t));
    OK(MPI_Type_size_c(t, &size));
    OK(MPI_Type_get_extent_c(t, &lb, &extent));
    CHECK(size == 16 * n && lb == 0 && extent == 8 * (2 * n + 3));
    OK(MPI_Type_size(t, &small));
    CHECK(small == MPI_UNDEFINED);
    OK(MPI_Type_get_envelope_c(t, &ni, &na, &nc, &nd, &combiner));
    CHECK(ni == 0 && na == 0 && nc == 3 && nd == 1 && combiner == MPI_COMBINER_VECTOR);
    OK(MPI_Type_get_contents_c(t, ni, na, nc, nd, NULL, NULL, counts, &got));
    CHECK(counts[0] == 2 && counts[1] == n && counts[2] == n + 3 && got == MPI_DOUBLE);
    FAILS(MPI_Type_get_envelope(t, &small, &small, &small, &dummy), MPI_ERR_TYPE);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_indexed_c(2, lengths, displs, MPI_INT, &t));
    OK(MPI_Type_size_c(t, &size));
    OK(MPI_Type_get_true_extent_c(t, &lb, &extent));
    CHECK(size == 4 * (n + 1) && extent == 4 * (2 * n + 1));
    OK(MPI_Type_free(&t));
    FAILS(MPI_Type_contiguous_c((MPI_Count)1 << 62, MPI_INT, &t), MPI_ERR_COUNT);
}

static void external(void)
{
    static const unsigned char want[] = {0x01, 0x02, 0x03, 0x04, 0xff, 0xff, 0xff, 0xfe,
                                         0x40, 0x09, 0,    0,    0,    0,    0,    0};
    struct item {
        int i;
        long l;
        double d;
    } in = {0x01020304, -2, 3.125}, out = {0, 0, 0};
    int lengths[3] = {1, 1, 1};
    MPI_Aint displs[3] = {offsetof(struct item, i), offsetof(struct item, l), offsetof(struct item, d)};
    MPI_Datatype types[3] = {MPI_INT, MPI_LONG, MPI_DOUBLE}, t;
    MPI_Aint size, position = 0;
    unsigned char packed[64];
    long double half = 0.5L, back = 0;
    OK(MPI_Type_create_struct(3, lengths, displs, types, &t));
    OK(MPI_Type_commit(&t));
    OK(MPI_Pack_external_size("external32", 1, t, &size));
    CHECK(size == (MPI_Aint)sizeof(want));
    OK(MPI_Pack_external("external32", &in, 1, t, packed, sizeof(packed), &position));
    CHECK(position == size && memcmp(packed, want, sizeof(want)) == 0);
    position = 0;
    OK(MPI_Unpack_external("external32", packed, size, &position, &out, 1, t));
    CHECK(out.i == in.i && out.l == in.l && out.d == in.d);
    OK(MPI_Type_free(&t));
    position = 0;
    OK(MPI_Pack_external("external32", &half, 1, MPI_LONG_DOUBLE, packed, 16, &position));
    CHECK(position == 16 && packed[0] == 0x3f && packed[1] == 0xfe && packed[2] == 0);
    position = 0;
    OK(MPI_Unpack_external("external32", packed, 16, &position, &back, 1, MPI_LONG_DOUBLE));
    CHECK(back == half);
    FAILS(MPI_Pack_external_size("native", 1, MPI_INT, &size), MPI_ERR_ARG);
}

static void found(void)
{
    MPI_Datatype t, u;
    int size, ni, na, nd, combiner, ints[2];
    OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &t));
    CHECK(t == MPI_REAL8);
    FAILS(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 3, &t), MPI_ERR_ARG);
    OK(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &t));
    OK(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &u));
    OK(MPI_Type_size(t, &size));
    CHECK(t == u && size == 8);
    OK(MPI_Type_get_envelope(t, &ni, &na, &nd, &combiner));
    CHECK(ni == 2 && nd == 0 && combiner == MPI_COMBINER_F90_REAL);
    OK(MPI_Type_get_contents(t, 2, 0, 0, ints, NULL, NULL));
    CHECK(ints[0] == 15 && ints[1] == MPI_UNDEFINED);
    double in = 1.5, sum = 0;
    OK(MPI_Allreduce(&in, &sum, 1, t, MPI_SUM, MPI_COMM_SELF));
    CHECK(sum == in);
    FAILS(MPI_Type_free(&t), MPI_ERR_TYPE);
    FAILS(MPI_Type_create_f90_integer(60, &t), MPI_ERR_ARG);
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &t));
    CHECK(t == MPI_DOUBLE_INT);
    OK(MPI_Type_get_value_index(MPI_PACKED, MPI_INT, &t));
    CHECK(t == MPI_DATATYPE_NULL);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    t_errors_return();
    subarrays();
    darrays();
    bounds();
    bounds_of_nothing();
    contents();
    large_counts();
    external();
    found();
    return t_end();
}

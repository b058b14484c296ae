/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes: extents and sizes, strided and indexed buffers through sends, pack and unpack, partial
 * receives counted in elements, predefined types of every kind. */
#include "mpitest.h"

static void sizes(void)
{
    MPI_Datatype t, u;
    MPI_Aint lb, extent;
    int size;
    OK(MPI_Type_vector(3, 2, 5, MPI_INT, &t));
    OK(MPI_Type_size(t, &size));
    OK(MPI_Type_get_extent(t, &lb, &extent));
    CHECK(size == 24 && lb == 0 && extent == 4 * (2 * 5 + 2));
    OK(MPI_Type_create_resized(t, -4, 100, &u));
    OK(MPI_Type_get_extent(u, &lb, &extent));
    CHECK(lb == -4 && extent == 100);
    OK(MPI_Type_get_true_extent(u, &lb, &extent));
    CHECK(lb == 0 && extent == 48);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_free(&u));
    OK(MPI_Type_create_hvector(4, 1, -16, MPI_DOUBLE, &t));
    OK(MPI_Type_get_extent(t, &lb, &extent));
    CHECK(lb == -48 && extent == 56);
    OK(MPI_Type_free(&t));
    struct pair {
        double value;
        int index;
    };
    OK(MPI_Type_size(MPI_DOUBLE_INT, &size));
    OK(MPI_Type_get_extent(MPI_DOUBLE_INT, &lb, &extent));
    CHECK(size == 12 && extent == (MPI_Aint)sizeof(struct pair));
    OK(MPI_Type_contiguous(0, MPI_INT, &t));
    OK(MPI_Type_size(t, &size));
    CHECK(size == 0);
    OK(MPI_Type_free(&t));
}

/* A matrix column goes into a row, a transposed matrix into a matrix. */
static void vectors(void)
{
    enum { R = 30, C = 20 };
    static double a[R][C], b[C][R];
    MPI_Datatype column, spaced, transposed;
    int other = t_rank ^ 1;
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++)
            a[i][j] = 1000 * i + j;
    OK(MPI_Type_vector(R, 1, C, MPI_DOUBLE, &column));
    OK(MPI_Type_create_resized(column, 0, sizeof(double), &spaced));
    OK(MPI_Type_contiguous(C, spaced, &transposed));
    OK(MPI_Type_commit(&spaced));
    OK(MPI_Type_commit(&transposed));
    if (other < t_size) {
        MPI_Status status;
        int count;
        OK(MPI_Sendrecv(a, 1, transposed, other, 1, b, R * C, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &status));
        for (int i = 0; i < R; i++)
            for (int j = 0; j < C; j++)
                CHECK(b[j][i] == a[i][j]);
        OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
        CHECK(count == R * C);
        /* And back: dense to strided, several elements at a time. */
        static double back[R][C];
        OK(MPI_Sendrecv(b, R * C, MPI_DOUBLE, other, 2, back, C, spaced, other, 2, MPI_COMM_WORLD, &status));
        CHECK(memcmp(back, a, sizeof(a)) == 0);
        OK(MPI_Get_count(&status, spaced, &count));
        CHECK(count == C);
    }
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&spaced));
    OK(MPI_Type_free(&transposed));
}

static void elements(void)
{
    struct item {
        int n;
        double d;
    };
    MPI_Datatype t, sized;
    int lengths[2] = {1, 1}, count, parts;
    MPI_Aint displs[2] = {offsetof(struct item, n), offsetof(struct item, d)};
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Status status;
    OK(MPI_Type_create_struct(2, lengths, displs, types, &t));
    OK(MPI_Type_create_resized(t, 0, sizeof(struct item), &sized));
    OK(MPI_Type_commit(&sized));
    OK(MPI_Type_commit(&t));
    struct item in[3] = {{1, 1.5}, {2, 2.5}, {3, 3.5}}, out[3] = {{0, 0}, {0, 0}, {0, 0}};
    OK(MPI_Sendrecv(in, 3, sized, t_rank, 1, out, 3, sized, t_rank, 1, MPI_COMM_WORLD, &status));
    CHECK(out[2].n == 3 && out[2].d == 3.5 && out[0].n == 1 && out[1].d == 2.5);
    OK(MPI_Get_elements(&status, sized, &parts));
    OK(MPI_Get_count(&status, sized, &count));
    CHECK(parts == 6 && count == 3);
    /* One and a half: an int follows a whole element. */
    char packed[100];
    int position = 0;
    OK(MPI_Pack(in, 1, sized, packed, sizeof(packed), &position, MPI_COMM_WORLD));
    OK(MPI_Pack(&in[1].n, 1, MPI_INT, packed, sizeof(packed), &position, MPI_COMM_WORLD));
    OK(MPI_Sendrecv(packed, position, MPI_PACKED, t_rank, 2, out, 3, sized, t_rank, 2, MPI_COMM_WORLD,
                    &status));
    OK(MPI_Get_elements(&status, sized, &parts));
    OK(MPI_Get_count(&status, sized, &count));
    CHECK(parts == 3 && count == MPI_UNDEFINED && out[1].n == 2);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_free(&sized));
}

static void packing(void)
{
    enum { N = 50 };
    int in[N], out[N], lengths[3] = {2, 3, 1}, displs[3] = {10, 0, 20}, position = 0, size;
    MPI_Datatype t;
    char buffer[1000];
    for (int i = 0; i < N; i++) {
        in[i] = i;
        out[i] = -1;
    }
    OK(MPI_Type_indexed(3, lengths, displs, MPI_INT, &t));
    OK(MPI_Type_commit(&t));
    OK(MPI_Pack_size(2, t, MPI_COMM_WORLD, &size));
    CHECK(size >= 48);
    OK(MPI_Pack(in, 2, t, buffer, sizeof(buffer), &position, MPI_COMM_WORLD));
    CHECK(position == 48);
    int dense[12];
    memcpy(dense, buffer, sizeof(dense));
    static const int expected[12] = {10, 11, 0, 1, 2, 20, 31, 32, 21, 22, 23, 41};
    CHECK(memcmp(dense, expected, sizeof(dense)) == 0); /* type map order, extent 21 */
    position = 0;
    OK(MPI_Unpack(buffer, 48, &position, out, 2, t, MPI_COMM_WORLD));
    for (int i = 0; i < N; i++) {
        int touched = 0;
        for (int k = 0; k < 12; k++)
            touched |= expected[k] == i;
        CHECK(out[i] == (touched ? i : -1));
    }
    OK(MPI_Type_free(&t));
}

static void predefined(void)
{
    static const MPI_Datatype all[] = {MPI_CHAR,
                                       MPI_SIGNED_CHAR,
                                       MPI_UNSIGNED_CHAR,
                                       MPI_BYTE,
                                       MPI_WCHAR,
                                       MPI_SHORT,
                                       MPI_UNSIGNED_SHORT,
                                       MPI_INT,
                                       MPI_UNSIGNED,
                                       MPI_LONG,
                                       MPI_UNSIGNED_LONG,
                                       MPI_LONG_LONG,
                                       MPI_UNSIGNED_LONG_LONG,
                                       MPI_FLOAT,
                                       MPI_DOUBLE,
                                       MPI_LONG_DOUBLE,
                                       MPI_INT8_T,
                                       MPI_INT16_T,
                                       MPI_INT32_T,
                                       MPI_INT64_T,
                                       MPI_UINT8_T,
                                       MPI_UINT16_T,
                                       MPI_UINT32_T,
                                       MPI_UINT64_T,
                                       MPI_C_BOOL,
                                       MPI_C_FLOAT_COMPLEX,
                                       MPI_C_DOUBLE_COMPLEX,
                                       MPI_C_LONG_DOUBLE_COMPLEX,
                                       MPI_AINT,
                                       MPI_OFFSET,
                                       MPI_COUNT,
                                       MPI_FLOAT_INT,
                                       MPI_DOUBLE_INT,
                                       MPI_LONG_INT,
                                       MPI_2INT,
                                       MPI_SHORT_INT,
                                       MPI_LONG_DOUBLE_INT,
                                       MPI_INTEGER,
                                       MPI_REAL,
                                       MPI_DOUBLE_PRECISION,
                                       MPI_COMPLEX,
                                       MPI_LOGICAL,
                                       MPI_CHARACTER};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        unsigned char in[320], out[320];
        int size, count;
        MPI_Aint lb, extent;
        MPI_Status status;
        OK(MPI_Type_size(all[i], &size));
        OK(MPI_Type_get_extent(all[i], &lb, &extent));
        CHECK(size > 0 && extent >= size && extent <= 32);
        t_fill(in, sizeof(in), i);
        memset(out, 0, sizeof(out));
        OK(MPI_Sendrecv(in, 10, all[i], t_rank, 1, out, 10, all[i], t_rank, 1, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, all[i], &count));
        CHECK(count == 10);
        if (size == extent)
            CHECK(memcmp(in, out, (size_t)size * 10) == 0);
    }
}

/* A type that was freed while a receive with it is under way. */
static void freed_under_way(void)
{
    int in[4] = {1, 2, 3, 4}, out[8] = {0};
    MPI_Datatype t;
    MPI_Request req;
    OK(MPI_Type_vector(4, 1, 2, MPI_INT, &t));
    OK(MPI_Type_commit(&t));
    OK(MPI_Irecv(out, 1, t, t_rank, 9, MPI_COMM_WORLD, &req));
    OK(MPI_Type_free(&t));
    OK(MPI_Send(in, 4, MPI_INT, t_rank, 9, MPI_COMM_WORLD));
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    CHECK(out[0] == 1 && out[2] == 2 && out[4] == 3 && out[6] == 4 && out[1] == 0);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    sizes();
    vectors();
    elements();
    packing();
    predefined();
    freed_under_way();
    return t_end();
}

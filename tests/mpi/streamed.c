/* SPDX-License-Identifier: BSD-3-Clause */
/* Large messages of non-contiguous types: the data is right, whatever lies on the two sides, and no temporary
 * of the message's size is made. Argument: MiB of the large one (default 64). */
#include <sys/resource.h>

#include "mpitest.h"

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Both sides strided, each its own way. */
static void bounded(size_t mib)
{
    enum { SEND_BLOCK = 4096, SEND_STRIDE = 6000, RECV_BLOCK = 1024, RECV_STRIDE = 1100 };
    size_t bytes = mib << 20, blocks = bytes / SEND_BLOCK, recv_blocks = bytes / RECV_BLOCK;
    size_t room = t_rank == 0 ? blocks * SEND_STRIDE : recv_blocks * RECV_STRIDE;
    unsigned char *buf = malloc(room);
    MPI_Datatype t;
    CHECK(buf != NULL);
    memset(buf, 0xee, room);
    if (t_rank == 0) {
        for (size_t i = 0; i < blocks; i++)
            t_fill(buf + i * SEND_STRIDE, SEND_BLOCK, i);
        OK(MPI_Type_vector((int)blocks, SEND_BLOCK, SEND_STRIDE, MPI_BYTE, &t));
    } else {
        OK(MPI_Type_vector((int)recv_blocks, RECV_BLOCK, RECV_STRIDE, MPI_BYTE, &t));
    }
    OK(MPI_Type_commit(&t));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    long before = peak_kib();
    if (t_rank == 0) {
        OK(MPI_Send(buf, 1, t, 1, 1, MPI_COMM_WORLD));
    } else {
        OK(MPI_Recv(buf, 1, t, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        unsigned char want[SEND_BLOCK];
        for (size_t i = 0; i < recv_blocks; i++) {
            size_t per = SEND_BLOCK / RECV_BLOCK;
            if (i % per == 0)
                t_fill(want, SEND_BLOCK, i / per);
            CHECK(memcmp(buf + i * RECV_STRIDE, want + i % per * RECV_BLOCK, RECV_BLOCK) == 0);
            CHECK(i + 1 == recv_blocks || buf[i * RECV_STRIDE + RECV_BLOCK] == 0xee);
        }
    }
    CHECK((size_t)(peak_kib() - before) < 1024 + (mib << 10) / 4);
    OK(MPI_Type_free(&t));
    free(buf);
}

/* Nested loops, holes, blocks in any order, a negative stride; several elements; both sides alike. */
static MPI_Datatype odd_type(int which)
{
    static const int lengths[4] = {2800, 1200, 4096, 160}, displs[4] = {20000, 0, 4000, 16000};
    static const int sizes[3] = {20, 30, 1500}, subsizes[3] = {11, 17, 1100}, starts[3] = {3, 9, 311};
    MPI_Datatype t, u, v;
    switch (which) {
    case 0:
        OK(MPI_Type_indexed(4, lengths, displs, MPI_BYTE, &u));
        OK(MPI_Type_create_hvector(30, 1, 28000, u, &v));
        OK(MPI_Type_create_resized(v, 0, 28000 * 31, &t));
        OK(MPI_Type_free(&u));
        OK(MPI_Type_free(&v));
        return t;
    case 1:
        OK(MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_BYTE, &t));
        return t;
    default:
        OK(MPI_Type_contiguous(1500, MPI_BYTE, &u));
        OK(MPI_Type_create_hvector(100, 1, -2000, u, &t));
        OK(MPI_Type_free(&u));
        return t;
    }
}

enum { ROOM = 3 << 20, BASE = 1 << 18 };
static unsigned char in[ROOM], out[ROOM], packed[ROOM], expected[ROOM];

static void shapes(int which)
{
    int other = t_rank ^ 1, size, position = 0;
    MPI_Datatype t = odd_type(which);
    MPI_Request req[2];
    MPI_Status status;
    int elements = which == 1 ? 1 : 3, count;
    OK(MPI_Type_commit(&t));
    OK(MPI_Type_size(t, &size));
    t_fill(in, ROOM, (uint64_t)(t_rank + 10 * which));
    memset(out, 0, ROOM);
    OK(MPI_Irecv(out + BASE, elements, t, other, which, MPI_COMM_WORLD, &req[0]));
    OK(MPI_Isend(in + BASE, elements, t, other, which, MPI_COMM_WORLD, &req[1]));
    OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
    t_fill(packed, ROOM, (uint64_t)(other + 10 * which));
    memset(expected, 0, ROOM);
    OK(MPI_Sendrecv(packed + BASE, elements, t, t_rank, 90, expected + BASE, elements, t, t_rank, 90,
                    MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, t, &count));
    CHECK(count == elements && memcmp(out, expected, ROOM) == 0);
    /* Dense on one side, and the other way round; the type is freed while it is used. */
    OK(MPI_Pack(in + BASE, elements, t, packed, ROOM, &position, MPI_COMM_WORLD));
    CHECK(position == elements * size);
    memset(out, 0, ROOM);
    OK(MPI_Irecv(out + BASE, elements, t, other, 91, MPI_COMM_WORLD, &req[0]));
    OK(MPI_Isend(in + BASE, elements, t, other, 92, MPI_COMM_WORLD, &req[1]));
    OK(MPI_Type_free(&t));
    OK(MPI_Send(packed, position, MPI_BYTE, other, 91, MPI_COMM_WORLD));
    memset(packed, 0, ROOM);
    OK(MPI_Recv(packed, position, MPI_PACKED, other, 92, MPI_COMM_WORLD, &status));
    OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
    CHECK(memcmp(out, expected, ROOM) == 0);
    t = odd_type(which);
    OK(MPI_Type_commit(&t));
    memset(out, 0, ROOM);
    position = 0;
    OK(MPI_Unpack(packed, elements * size, &position, out + BASE, elements, t, MPI_COMM_WORLD));
    CHECK(memcmp(out, expected, ROOM) == 0);
    OK(MPI_Type_free(&t));
}

/* A short message into a large strided receive, and one that is cut off. */
static void lengths(void)
{
    int other = t_rank ^ 1, elements;
    MPI_Datatype t;
    MPI_Status status;
    OK(MPI_Type_vector(100, 1200, 2000, MPI_BYTE, &t));
    OK(MPI_Type_commit(&t));
    t_fill(in, 200000, 7);
    for (int len = 10; len <= 130000; len = len * 5 + 7) {
        memset(out, 0, 220000);
        MPI_Request req;
        OK(MPI_Irecv(out, 1, t, other, 5, MPI_COMM_WORLD, &req));
        OK(MPI_Send(in, len, MPI_BYTE, other, 5, MPI_COMM_WORLD));
        int rc = MPI_Wait(&req, &status), got = len < 120000 ? len : 120000;
        CHECK(len <= 120000 ? rc == MPI_SUCCESS : t_class(rc) == MPI_ERR_TRUNCATE);
        OK(MPI_Get_elements(&status, t, &elements));
        CHECK(elements == got);
        for (int i = 0; i < got; i++)
            CHECK(out[i / 1200 * 2000 + i % 1200] == in[i]);
        CHECK(got % 1200 == 0 || out[got / 1200 * 2000 + got % 1200] == 0);
        for (int i = 1200; i < 200000; i += 2000)
            CHECK(out[i] == 0);
    }
    OK(MPI_Type_free(&t));
}

/* More types than the NIC has room for: the rest is packed, and freed ones make room again. */
static void many(void)
{
    enum { TYPES = 600 };
    static MPI_Datatype t[TYPES];
    int other = t_rank ^ 1;
    t_fill(in, 200000, 3);
    for (int i = 0; i < TYPES; i++) {
        OK(MPI_Type_vector(100, 1200, 1300 + i, MPI_BYTE, &t[i]));
        OK(MPI_Type_commit(&t[i]));
    }
    for (int i = 0; i < TYPES; i += 149) {
        memset(out, 0, 200000);
        OK(MPI_Sendrecv(in, 1, t[i], other, i, out, 1, t[i], other, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int k = 0; k < 100; k++)
            CHECK(memcmp(out + k * (1300 + i), in + k * (1300 + i), 1200) == 0);
    }
    for (int i = 0; i < TYPES; i++)
        OK(MPI_Type_free(&t[i]));
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    bounded(argc > 1 ? (size_t)atoi(argv[1]) : 64);
    for (int which = 0; which < 3; which++)
        shapes(which);
    lengths();
    for (int i = 0; i < 3; i++)
        many();
    return t_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A collective that is like one before, on other buffers, is one descriptor for the NIC, and gives what it must: blocking and
 * not, in place, several under way, beside persistent ones, with datatypes and communicators that come and go, and with more
 * different ones than programs stay open. Argument: also by whom the steps are gone through is asked (collectives=nic, and a
 * NIC with room). */
#include "mpi_offload.h"
#include "mpitest.h"

enum { CALLS = 20, LARGE = 30000 };

static int asks; /* the NIC goes through everything that it can */
static unsigned char memory[1 << 20];

static unsigned long long descriptors(void)
{
    unsigned long long n;
    OK(MPI_Barrier(MPI_COMM_WORLD)); /* behind what the NIC may not have taken yet */
    OK(MPIX_Nic_counters("host.descs", &n));
    return n;
}

/* A buffer that is another in each call; what lies behind it stays as it is. */
static int *buffer(int call, int side)
{
    int *at = (int *)(void *)(memory + (size_t)(call * 2 + (side ^ (call & 1))) * (1 << 14) +
                              40 * (size_t)(call % 7));
    memset(at, 0x5a, 1 << 13);
    return at;
}

static int number(int call, int rank, int i)
{
    return call * 1000003 + rank * 1009 + i;
}

static void fill(int *at, int count, int call, int rank, int from)
{
    for (int i = 0; i < count; i++)
        at[i] = number(call, rank, from + i);
}

static void has(const int *at, int count, int call, int rank, int from)
{
    for (int i = 0; i < count; i++)
        CHECK(at[i] == number(call, rank, from + i));
}

static void is_untouched(const int *at)
{
    CHECK(at[0] == 0x5a5a5a5a && at[1] == 0x5a5a5a5a);
}

static void barrier(int call)
{
    (void)call;
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void bcast_of(int call, int count)
{
    int *at = buffer(call, 0);
    if (t_rank == 1)
        fill(at, count, call, 1, 0);
    OK(MPI_Bcast(at, count, MPI_INT, 1, MPI_COMM_WORLD));
    has(at, count, call, 1, 0);
    is_untouched(at + count);
}

static void bcast(int call)
{
    bcast_of(call, 2);
}

static void bcast_longer(int call)
{
    bcast_of(call, 1500);
}

static void allgather_of(int call, int count, int in_place)
{
    int *in = buffer(call, 0), *out = buffer(call, 1);
    fill(in_place ? out + t_rank * count : in, count, call, t_rank, 0);
    OK(MPI_Allgather(in_place ? MPI_IN_PLACE : in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD));
    for (int r = 0; r < t_size; r++)
        has(out + r * count, count, call, r, 0);
    is_untouched(out + t_size * count);
}

static void allgather(int call)
{
    allgather_of(call, 3, 0);
}

static void allgather_in_place(int call)
{
    allgather_of(call, 200, 1);
}

static void alltoall_of(int call, int in_place)
{
    int *in = buffer(call, 0), *out = buffer(call, 1);
    for (int r = 0; r < t_size; r++)
        fill((in_place ? out : in) + 100 * r, 100, call, t_rank, 100 * r);
    OK(MPI_Alltoall(in_place ? MPI_IN_PLACE : in, 100, MPI_INT, out, 100, MPI_INT, MPI_COMM_WORLD));
    for (int r = 0; r < t_size; r++)
        has(out + 100 * r, 100, call, r, 100 * t_rank);
    is_untouched(out + 100 * t_size);
}

static void alltoall(int call)
{
    alltoall_of(call, 0);
}

static void scatter(int call)
{
    int *in = buffer(call, 0), *out = buffer(call, 1);
    for (int r = 0; r < t_size; r++)
        fill(in + 50 * r, 50, call, 0, 50 * r);
    OK(MPI_Scatter(in, 50, MPI_INT, out, 50, MPI_INT, 0, MPI_COMM_WORLD));
    has(out, 50, call, 0, 50 * t_rank);
    is_untouched(out + 50);
}

static void later(int call)
{
    MPI_Request req;
    int *at = buffer(call, 0);
    if (t_rank == 0)
        fill(at, 77, call, 0, 0);
    OK(MPI_Ibcast(at, 77, MPI_INT, 0, MPI_COMM_WORLD, &req));
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    has(at, 77, call, 0, 0);
}

static int summed(int call, int i, int ranks)
{
    unsigned all = 0;
    for (int r = 0; r < ranks; r++)
        all += (unsigned)number(call, r, i);
    return (int)all;
}

static void sum(int call, MPI_Comm comm)
{
    int *in = buffer(call, 0), *out = buffer(call, 1);
    fill(in, 5, call, t_rank, 0);
    OK(MPI_Allreduce(in, out, 5, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < 5; i++)
        CHECK(out[i] == summed(call, i, t_size));
    is_untouched(out + 5);
}

static void allreduce(int call)
{
    sum(call, MPI_COMM_WORLD);
}

/* At once, and with a request: then the NIC does what is behind the last message, too. */
static void reductions(int call, int to_one)
{
    MPI_Request req;
    int *in = buffer(call, 0), *out = buffer(call, 1);
    fill(in, 60, call, t_rank, 0);
    if (to_one)
        OK(MPI_Ireduce(in, out, 60, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD, &req));
    else
        OK(MPI_Iscan(in, out, 60, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &req));
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    for (int i = 0; i < 60 && (!to_one || t_rank == 1); i++)
        CHECK(out[i] == summed(call, i, to_one ? t_size : t_rank + 1));
    is_untouched(out + 60);
}

static void reduce_later(int call)
{
    reductions(call, 1);
}

static void scan_later(int call)
{
    reductions(call, 0);
}

/* By Bruck's algorithm, from 8 ranks on. */
static void alltoall_later(int call)
{
    MPI_Request req;
    int *in = buffer(call, 0), *out = buffer(call, 1);
    fill(in, 2 * t_size, call, t_rank, 0);
    OK(MPI_Ialltoall(in, 2, MPI_INT, out, 2, MPI_INT, MPI_COMM_WORLD, &req));
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    for (int r = 0; r < t_size; r++)
        has(out + 2 * r, 2, call, r, 2 * t_rank);
    is_untouched(out + 2 * t_size);
}

/* The first call opens it, perhaps a second one beside it. */
static void one_descriptor_each(void)
{
    static void (*const collectives[])(int) = {
        barrier, bcast, bcast_longer, allgather,    allgather_in_place, alltoall,
        scatter, later, allreduce,    reduce_later, scan_later,         alltoall_later};
    for (size_t k = 0; k < sizeof(collectives) / sizeof(collectives[0]); k++) {
        collectives[k](0);
        unsigned long long before = descriptors();
        for (int call = 1; call <= CALLS; call++)
            collectives[k](call);
        unsigned long long after = descriptors();
        if (asks && after - before != CALLS + 1) /* one is descriptors()'s own */
            fprintf(stderr, "rank %d: %llu descriptors for %d calls of collective %zu\n", t_rank,
                    after - before - 1, CALLS, k);
        CHECK(!asks || after - before == CALLS + 1);
    }
    alltoall_of(CALLS + 1, 1);
}

/* More different ones than stay open, in turn, and long ones. */
static void many_kinds(void)
{
    static int large[LARGE];
    for (int turn = 0; turn < 3; turn++)
        for (int k = 1; k <= 60; k++) {
            int count = k == 30 ? LARGE : k;
            for (int i = 0; i < count; i++)
                large[i] = t_rank == k % t_size ? number(turn, k, i) : -1;
            OK(MPI_Bcast(large, count, MPI_INT, k % t_size, MPI_COMM_WORLD));
            has(large, count, turn, k, 0);
            sum(k % 15, MPI_COMM_WORLD);
        }
}

/* Equal ones at the same time, which end in any order, some beside a persistent one of the same kind. */
static void under_way(void)
{
    enum { TOGETHER = 30, COUNT = 400 };
    static int at[TOGETHER][COUNT], kept[COUNT];
    MPI_Request req[TOGETHER], again;
    OK(MPI_Bcast_init(kept, COUNT, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &again));
    for (int turn = 0; turn < 4; turn++) {
        if (t_rank == 0)
            fill(kept, COUNT, 500 + turn, 0, 0);
        for (int k = 0; k < TOGETHER; k++) {
            if (k == TOGETHER / 2)
                OK(MPI_Start(&again));
            if (t_rank == 0)
                fill(at[k], COUNT, turn * TOGETHER + k, 0, 0);
            OK(MPI_Ibcast(at[k], COUNT, MPI_INT, 0, MPI_COMM_WORLD, &req[k]));
        }
        for (int k = 0; k < TOGETHER; k++)
            OK(MPI_Wait(&req[turn % 2 == 0 ? k : TOGETHER - 1 - k], MPI_STATUS_IGNORE));
        OK(MPI_Wait(&again, MPI_STATUS_IGNORE));
        has(kept, COUNT, 500 + turn, 0, 0);
        for (int k = 0; k < TOGETHER; k++)
            has(at[k], COUNT, turn * TOGETHER + k, 0, 0);
    }
    OK(MPI_Request_free(&again));
}

/* Types that the NIC walks: another one, of the same name perhaps, every time; freed while it is under way. */
static void types(void)
{
    enum { BLOCKS = 40, BLOCK = 1024 };
    for (int call = 0; call < 12; call++) {
        MPI_Datatype type;
        MPI_Request req;
        int stride = BLOCK + 256 * (1 + call % 3);
        size_t from = call % 2 == 0 ? 0 : sizeof(memory) / 2;
        memset(memory, 0xee, sizeof(memory));
        OK(MPI_Type_vector(BLOCKS, BLOCK, stride, MPI_BYTE, &type));
        OK(MPI_Type_commit(&type));
        for (int k = 0; k < 3; k++) {
            if (t_rank == 0)
                for (int i = 0; i < BLOCKS; i++)
                    t_fill(memory + from + (size_t)(i * stride), BLOCK,
                           (uint64_t)(call * 1000 + 100 * k + i));
            OK(MPI_Ibcast(memory + from, 1, type, 0, MPI_COMM_WORLD, &req));
            if (k == 2)
                OK(MPI_Type_free(&type));
            OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
            for (int i = 0; i < BLOCKS; i++) {
                const unsigned char *block = memory + from + (size_t)(i * stride);
                CHECK(t_verify(block, BLOCK, (uint64_t)(call * 1000 + 100 * k + i)) && block[BLOCK] == 0xee);
            }
        }
    }
}

/* Communicators with the same members, and in another order. */
static void communicators(void)
{
    for (int turn = 0; turn < 10; turn++) {
        MPI_Comm comm, back;
        MPI_Request req;
        int late = t_rank == 0 ? 7 + turn : 0;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -t_rank, &back));
        sum(turn, comm);
        sum(turn, back);
        sum(turn, comm);
        OK(MPI_Ibcast(&late, 1, MPI_INT, t_size - 1, back, &req));
        OK(MPI_Comm_free(&back)); /* before its collective has ended */
        OK(MPI_Comm_free(&comm));
        OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
        CHECK(late == 7 + turn);
    }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    asks = argc > 1;
    for (int k = 0; k < 8; k++) /* with the last of them all ask each other for multicast (coll_group.c) */
        bcast(k);
    one_descriptor_each();
    many_kinds();
    under_way();
    types();
    communicators();
    one_descriptor_each();
    return t_end();
}

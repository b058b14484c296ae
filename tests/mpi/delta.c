/* SPDX-License-Identifier: BSD-3-Clause */
/* Delta messages (mpi_offload.h): any receive takes a delta send and a delta receive takes any send; increments of any order by
 * any thread; what has come is read before the rest is computed; wrong calls change nothing. */
#include "mpi_offload.h"

#include "mpitest.h"

#include <pthread.h>

enum { TAG = 5, ACK = 6, MOST = 3000000, THREADS = 8, SEVERAL = 12 };

static unsigned char out[MOST], in[MOST];
static uint64_t dice = 12345;

static void acknowledge(void)
{
    OK(MPI_Send(NULL, 0, MPI_BYTE, t_rank ^ 1, ACK, MPI_COMM_WORLD));
}

static void await_acknowledgement(void)
{
    OK(MPI_Recv(NULL, 0, MPI_BYTE, t_rank ^ 1, ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Written and announced in pieces of random order. */
static void send_shuffled(int bytes, uint64_t id, int pieces)
{
    static int order[200];
    MPI_Request req;
    OK(MPIX_Delta_send_begin(out, bytes, MPI_BYTE, t_rank ^ 1, TAG, MPI_COMM_WORLD, &req));
    for (int k = 0; k < pieces; k++) {
        int j = (int)(t_random(&dice) % (unsigned)(k + 1));
        order[k] = order[j];
        order[j] = k;
    }
    for (int k = 0; k < pieces; k++) {
        int from = (int)((int64_t)bytes * order[k] / pieces),
            to = (int)((int64_t)bytes * (order[k] + 1) / pieces);
        for (int i = from; i < to; i++)
            out[i] = t_byte(id, (size_t)i);
        OK(MPIX_Delta_send_data(req, out + from, to - from));
    }
    if (t_random(&dice) % 2 == 0)
        OK(MPIX_Delta_send_end(&req));
    OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    CHECK(req == MPI_REQUEST_NULL);
}

static void receive_and_read(int bytes, uint64_t id)
{
    MPI_Status status;
    int count = -1;
    memset(in, 0xee, (size_t)bytes);
    OK(MPIX_Delta_recv(in, bytes, MPI_BYTE, t_rank ^ 1, TAG, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == (t_rank ^ 1) && status.MPI_TAG == TAG);
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == bytes || count == MPI_UNDEFINED);
    for (int from = 0; from < bytes; from += 5000) {
        int n = bytes - from < 5000 ? bytes - from : 5000;
        OK(MPIX_Delta_wait_data(in + from, n));
        for (int i = from; i < from + n; i++)
            CHECK(in[i] == t_byte(id, (size_t)i));
    }
    OK(MPIX_Delta_recv_wait(in, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == bytes && status.MPI_SOURCE == (t_rank ^ 1) && status.MPI_TAG == TAG);
}

/* way & 1: a delta send; way & 2: a delta receive. */
static void mixed(int way, int bytes, int pieces)
{
    uint64_t id = (uint64_t)(way * 1000 + bytes);
    if (t_rank == 0 && (way & 1) != 0) {
        send_shuffled(bytes, id, pieces);
    } else if (t_rank == 0) {
        t_fill(out, (size_t)bytes, id);
        OK(MPI_Send(out, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
    } else if ((way & 2) != 0) {
        receive_and_read(bytes, id);
    } else {
        MPI_Status status;
        int count;
        OK(MPI_Recv(in, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == bytes && t_verify(in, (size_t)bytes, id));
    }
}

/* Most of one half, all but what may lie in a unit with the other, is read before the other is made. */
static void pipelined(int bytes)
{
    int half = bytes / 2;
    MPI_Request req;
    t_fill(out, (size_t)bytes, 77);
    if (t_rank == 0) {
        OK(MPI_Delta_send_begin(out, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &req));
        OK(MPI_Delta_send_data(req, out, half));
        await_acknowledgement();
        for (int i = half; i < bytes; i++)
            out[i] ^= 0x55;
        OK(MPI_Delta_wait(&req, MPI_STATUS_IGNORE));
    } else {
        memset(in, 0, (size_t)bytes);
        OK(MPI_Delta_recv(in, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Delta_wait_data(in, half - 128));
        CHECK(memcmp(in, out, (size_t)half - 128) == 0);
        acknowledge();
        OK(MPI_Delta_wait_data(in + half - 128, bytes - half + 128));
        CHECK(memcmp(in, out, (size_t)half) == 0);
        for (int i = half; i < bytes; i++)
            CHECK(in[i] == (out[i] ^ 0x55));
        OK(MPI_Delta_recv_wait(in, MPI_STATUS_IGNORE));
    }
}

static void lengths(void)
{
    enum { N = 40000 };
    MPI_Status status;
    MPI_Request req;
    int count;
    t_fill(out, N, 3);
    if (t_rank == 0) {
        for (int k = 0; k < 2; k++) {
            OK(MPIX_Delta_send_begin(out, N, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &req));
            OK(MPIX_Delta_send_data(req, out, N / 2));
            if (k == 0)
                await_acknowledgement();
            OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        }
        OK(MPI_Send(out, N, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
        OK(MPIX_Delta_send_begin(out, N / 4, MPI_INT, 1, TAG, MPI_COMM_WORLD, &req));
        OK(MPIX_Delta_send_data(req, out, N / 2));
        FAILS(MPIX_Delta_send_end_count(&req, N / 8 - 1), MPI_ERR_ARG);
        FAILS(MPIX_Delta_send_end_count(&req, N / 4 + 1), MPI_ERR_COUNT);
        OK(MPIX_Delta_send_end_count(&req, N / 8 + 3));
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        return;
    }
    memset(in, 0xee, N + 1);
    OK(MPIX_Delta_recv(in, N / 4, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    acknowledge();
    OK(MPIX_Delta_wait_data(in, N));
    CHECK(t_verify(in, N / 4, 3) && in[N / 4] == 0xee);
    FAILS(MPIX_Delta_recv_wait(in, &status), MPI_ERR_TRUNCATE);
    FAILS(MPI_Recv(in, N / 4, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
    memset(in, 0xee, N + 1);
    int code =
        MPIX_Delta_recv(in, N / 4, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* may be there */
    CHECK(code == MPI_SUCCESS || t_class(code) == MPI_ERR_TRUNCATE);
    FAILS(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    CHECK(t_verify(in, N / 4, 3) && in[N / 4] == 0xee);
    memset(in, 0xee, N + 1);
    OK(MPIX_Delta_recv(in, N + 1, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPIX_Delta_wait_data(in, N + 1));
    OK(MPIX_Delta_recv_wait(in, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == N / 2 + 12 && t_verify(in, N / 2 + 12, 3) && in[N / 2 + 12] == 0xee);
}

static void wildcards(void)
{
    MPI_Status status;
    MPI_Request req;
    int count;
    for (int k = 0; k < 4; k++) {
        int bytes = k < 2 ? 100 : 200000;
        if (t_rank == 0) {
            if (k % 2 == 0)
                await_acknowledgement(); /* the receive is there first, or soon */
            t_fill(out, (size_t)bytes, 9);
            OK(MPIX_Delta_send_begin(out, bytes, MPI_BYTE, 1, 30 + k, MPI_COMM_WORLD, &req));
            OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
            continue;
        }
        if (k % 2 == 0)
            acknowledge();
        OK(MPIX_Delta_recv(in, MOST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 30 + k);
        OK(MPIX_Delta_wait_data(in, bytes));
        CHECK(t_verify(in, (size_t)bytes, 9));
        OK(MPIX_Delta_recv_wait(in, &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 30 + k && count == bytes);
    }
}

/* It returns when it is matched, of a message that ends only then. */
static void wildcard_before_the_end(void)
{
    enum { N = 200000 };
    MPI_Request req;
    MPI_Status status;
    if (t_rank == 0) {
        t_fill(out, N, 10);
        OK(MPIX_Delta_send_begin(out, N, MPI_BYTE, 1, 40, MPI_COMM_WORLD, &req));
        await_acknowledgement();
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        return;
    }
    OK(MPIX_Delta_recv(in, N, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 40);
    acknowledge();
    OK(MPIX_Delta_wait_data(in, N));
    CHECK(t_verify(in, N, 10));
    OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
}

static void wrong_calls(void)
{
    enum { N = 10000 };
    MPI_Request req, other;
    if (t_rank == 1) {
        OK(MPI_Recv(in, N, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(t_verify(in, N, 4));
        FAILS(MPIX_Delta_recv_wait(out, MPI_STATUS_IGNORE), MPI_ERR_ARG);
        FAILS(MPIX_Delta_wait_data(out, -1), MPI_ERR_ARG);
        OK(MPIX_Delta_wait_data(out, N)); /* of no delta receive */
        FAILS(MPIX_Delta_recv(in, 1, MPI_BYTE, 7, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_RANK);
        return;
    }
    t_fill(out, N, 4);
    FAILS(MPIX_Delta_send_begin(out, N, MPI_BYTE, 7, TAG, MPI_COMM_WORLD, &req), MPI_ERR_RANK);
    FAILS(MPIX_Delta_send_begin(out, N, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    req = MPI_REQUEST_NULL;
    FAILS(MPIX_Delta_send_end(&req), MPI_ERR_REQUEST);
    FAILS(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPIX_Delta_send_data(req, out, 1), MPI_ERR_REQUEST);
    FAILS(MPIX_Delta_send_end(NULL), MPI_ERR_ARG);
    OK(MPIX_Delta_send_begin(out, N, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &req));
    OK(MPIX_Delta_send_data(req, out + 100, 900));
    FAILS(MPIX_Delta_send_data(req, out + 999, 1), MPI_ERR_ARG);
    FAILS(MPIX_Delta_send_data(req, out, 101), MPI_ERR_ARG);
    FAILS(MPIX_Delta_send_data(req, out + 50, N - 50), MPI_ERR_ARG);
    FAILS(MPIX_Delta_send_data(req, out - 1, 2), MPI_ERR_ARG);
    FAILS(MPIX_Delta_send_data(req, out + N, 1), MPI_ERR_ARG);
    FAILS(MPIX_Delta_send_data(req, out, N + 1), MPI_ERR_ARG);
    FAILS(MPIX_Delta_send_data(req, out, -1), MPI_ERR_ARG);
    OK(MPIX_Delta_send_data(req, out, 100));
    OK(MPIX_Delta_send_data(req, out + N, 0));
    OK(MPI_Irecv(in, 1, MPI_BYTE, 1, 99, MPI_COMM_WORLD, &other));
    FAILS(MPIX_Delta_send_end(&other), MPI_ERR_REQUEST);
    OK(MPI_Cancel(&other));
    OK(MPI_Wait(&other, MPI_STATUS_IGNORE));
    OK(MPIX_Delta_send_end(&req));
    FAILS(MPIX_Delta_send_end(&req), MPI_ERR_REQUEST);
    FAILS(MPIX_Delta_send_data(req, out + 5000, 1), MPI_ERR_ARG);
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    CHECK(req == MPI_REQUEST_NULL);
}

/* Its place is that of its begin. */
static void order(void)
{
    int a[2] = {1, 0}, b = 2;
    MPI_Request req;
    if (t_rank == 0) {
        OK(MPIX_Delta_send_begin(a, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &req));
        OK(MPI_Send(&b, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD));
        a[0] = 11;
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Recv(&a[0], 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(&a[1], 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(a[0] == 11 && a[1] == 2);
    }
}

static void cancelled(void)
{
    MPI_Request req;
    MPI_Status status;
    int flag = 0;
    if (t_rank == 0) {
        OK(MPIX_Delta_send_begin(out, 100000, MPI_BYTE, 1, 70, MPI_COMM_WORLD, &req));
        OK(MPIX_Delta_send_data(req, out, 50000));
        OK(MPI_Cancel(&req));
        OK(MPIX_Delta_wait(&req, &status));
        OK(MPI_Test_cancelled(&status, &flag));
        CHECK(flag);
        acknowledge();
    } else {
        await_acknowledgement();
        OK(MPI_Iprobe(0, 70, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
}

static void nobody(void)
{
    MPI_Request req;
    MPI_Status status;
    int count;
    OK(MPIX_Delta_send_begin(out, 10, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &req));
    OK(MPIX_Delta_send_data(req, out, 10));
    OK(MPIX_Delta_send_end(&req));
    FAILS(MPIX_Delta_send_end(&req), MPI_ERR_REQUEST);
    OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    OK(MPIX_Delta_recv(in, 10, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && count == 0);
    OK(MPIX_Delta_wait_data(in, 10));
    OK(MPIX_Delta_recv_wait(in, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

/* Every other int, on one side or the other. */
static void gaps(int sender)
{
    enum { N = 20000 };
    int *from = (int *)(void *)out, *to = (int *)(void *)in;
    MPI_Datatype spaced;
    MPI_Request req;
    OK(MPI_Type_create_resized(MPI_INT, 0, 8, &spaced));
    OK(MPI_Type_commit(&spaced));
    if (t_rank == 0) {
        for (int i = 0; i < 2 * N; i++)
            from[i] = 0;
        OK(MPIX_Delta_send_begin(from, N, sender ? spaced : MPI_INT, 1, TAG, MPI_COMM_WORLD, &req));
        for (int i = 0; i < N; i++)
            from[sender ? 2 * i : i] = i;
        OK(MPIX_Delta_send_data(req, from, N));
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    } else {
        memset(to, 0xff, 2 * N * sizeof(*to));
        OK(MPIX_Delta_recv(to, N, sender ? MPI_INT : spaced, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPIX_Delta_wait_data(to, 2 * N * sizeof(*to)));
        for (int i = 0; i < N; i++)
            CHECK(to[sender ? i : 2 * i] == i);
        CHECK(to[sender ? N : 1] == -1);
        OK(MPIX_Delta_recv_wait(to, MPI_STATUS_IGNORE));
    }
    OK(MPI_Type_free(&spaced));
}

struct part {
    pthread_t thread;
    MPI_Request req;
    int number;
    int code;
};

enum { SHARED = 800000, STRIPE = 1000 };

/* Stripes of all threads lie between each other, and begin and end inside units. */
static void *announce_stripes(void *arg)
{
    struct part *part = arg;
    for (int from = part->number * STRIPE; from < SHARED; from += THREADS * STRIPE) {
        for (int i = from; i < from + STRIPE; i++)
            out[i] = t_byte(8, (size_t)i);
        if ((part->code = MPIX_Delta_send_data(part->req, out + from, STRIPE)) != MPI_SUCCESS)
            break;
    }
    return NULL;
}

static void *read_stripes(void *arg)
{
    struct part *part = arg;
    for (int from = part->number * STRIPE; from < SHARED; from += THREADS * STRIPE) {
        if ((part->code = MPIX_Delta_wait_data(in + from, STRIPE)) != MPI_SUCCESS)
            break;
        for (int i = from; i < from + STRIPE; i++)
            CHECK(in[i] == t_byte(8, (size_t)i));
    }
    return NULL;
}

static void threads(void)
{
    struct part parts[THREADS];
    MPI_Request req = MPI_REQUEST_NULL;
    memset(out, 0, SHARED);
    memset(in, 0, SHARED);
    if (t_rank == 0)
        OK(MPIX_Delta_send_begin(out, SHARED, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &req));
    else
        OK(MPIX_Delta_recv(in, SHARED, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int k = 0; k < THREADS; k++) {
        parts[k] = (struct part){.req = req, .number = k};
        CHECK(pthread_create(&parts[k].thread, NULL, t_rank == 0 ? announce_stripes : read_stripes,
                             &parts[k]) == 0);
    }
    for (int k = 0; k < THREADS; k++) {
        CHECK(pthread_join(parts[k].thread, NULL) == 0);
        OK(parts[k].code);
    }
    if (t_rank == 0)
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    else
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
}

/* Several at a time, which are ready and read in other orders than they began. */
static void several(void)
{
    enum { EACH = 3000 };
    MPI_Request req[SEVERAL];
    if (t_rank == 0) {
        for (int k = 0; k < SEVERAL; k++)
            OK(MPIX_Delta_send_begin(out + k * EACH, EACH, MPI_BYTE, 1, 100 + k, MPI_COMM_WORLD, &req[k]));
        t_fill(out, SEVERAL * EACH, 6);
        for (int k = SEVERAL - 1; k >= 0; k--)
            OK(MPIX_Delta_send_data(req[k], out + k * EACH, EACH));
        for (int k = 0; k < SEVERAL; k++)
            OK(MPIX_Delta_wait(&req[k], MPI_STATUS_IGNORE));
    } else {
        for (int k = 0; k < SEVERAL; k++)
            OK(MPIX_Delta_recv(in + k * EACH, EACH, MPI_BYTE, 0, 100 + k, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int k = SEVERAL - 1; k >= 0; k--)
            OK(MPIX_Delta_wait_data(in + k * EACH, EACH));
        CHECK(t_verify(in, SEVERAL * EACH, 6));
        for (int k = 0; k < SEVERAL; k++)
            OK(MPIX_Delta_recv_wait(in + k * EACH, MPI_STATUS_IGNORE));
    }
}

/* More receives than there are places: those behind are waited for as a whole. */
static void many(void)
{
    enum { N = 70 };
    if (t_rank == 0) {
        t_fill(out, N, 7);
        for (int k = 0; k < N; k++)
            OK(MPI_Send(out + k, 1, MPI_BYTE, 1, 200 + k, MPI_COMM_WORLD));
    } else {
        for (int k = 0; k < N; k++)
            OK(MPIX_Delta_recv(in + k, 1, MPI_BYTE, 0, 200 + k, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPIX_Delta_wait_data(in, N));
        CHECK(t_verify(in, N, 7));
        for (int k = 0; k < N; k++)
            OK(MPIX_Delta_recv_wait(in + k, MPI_STATUS_IGNORE));
    }
}

/* To itself, and into the same buffer again and again. */
static void own(void)
{
    MPI_Request req;
    for (int k = 0; k < 20; k++) {
        OK(MPIX_Delta_recv(in, 50000, MPI_BYTE, t_rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPIX_Delta_send_begin(out, 50000, MPI_BYTE, t_rank, TAG, MPI_COMM_WORLD, &req));
        t_fill(out, 50000, (uint64_t)k);
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        OK(MPIX_Delta_wait_data(in, 50000));
        CHECK(t_verify(in, 50000, (uint64_t)k));
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 3, 64, 65, 1000, 4096, 16384, 65536, 100001, 400000, MOST};
    t_begin(&argc, &argv, 2);
    t_errors_return();
    for (int way = 0; way < 4; way++)
        for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
            mixed(way, sizes[k], 1 + (int)(t_random(&dice) % 150));
    pipelined(8000);
    pipelined(400000);
    lengths();
    wildcards();
    wildcard_before_the_end();
    wrong_calls();
    order();
    cancelled();
    nobody();
    gaps(0);
    gaps(1);
    threads();
    several();
    many();
    own();
    if (t_rank == 1) /* left: taken back at the end */
        OK(MPIX_Delta_recv(in, 10, MPI_BYTE, 0, 999, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return t_end();
}

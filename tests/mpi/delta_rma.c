/* SPDX-License-Identifier: BSD-3-Clause */
/* NOF_DELTA=os, and one-sided communication where a delta message is under way: on pages that a receive hides it waits for the message,
 * which may need this rank's doing first; what it writes to pages that a send guards leaves with that message's end. Two ranks. */
#include "mpi_offload.h"

#include "mpitest.h"
#include "parked.h"

#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 100, INTS = PAGES * PAGE / 4, TAG = 5, GO = 6 };
enum { SMALL_AT = 60 * PAGE / 4 + 7, SMALL = 20, LARGE_AT = 70 * PAGE / 4 + 9, MANY = 12000 };

static int32_t *out, *in, *aside; /* INTS each, one behind the other */
static int other;
static MPI_Win win;

static int32_t value(int i)
{
    return 1000 + 7 * i;
}

static void word(void)
{
    OK(MPI_Send(NULL, 0, MPI_BYTE, other, GO, MPI_COMM_WORLD));
}

static void heard(void)
{
    OK(MPI_Recv(NULL, 0, MPI_BYTE, other, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static MPI_Request begin(void)
{
    MPI_Request req;
    OK(MPIX_Delta_send_begin(out, INTS, MPI_INT, other, TAG, MPI_COMM_WORLD, &req));
    return req;
}

static void receive(void)
{
    memset(in, 0xee, INTS * sizeof(*in));
    OK(MPIX_Delta_recv(in, INTS, MPI_INT, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void fill(int from, int behind)
{
    for (int i = from; i < behind; i++)
        out[i] = value(i);
}

static int inside(int i, int at, int count)
{
    return i >= at && i < at + count;
}

/* As it was sent, but for the two places, which differ from that by so much. */
static void verify(const int32_t *at, int small_by, int large_by)
{
    for (int i = 0; i < INTS; i++) {
        int by = inside(i, SMALL_AT, SMALL) ? small_by : inside(i, LARGE_AT, MANY) ? large_by : 0;
        CHECK(at[i] == value(i) + by);
    }
}

/* Displacements in ints of what a rank has. */
static MPI_Aint in_at(int i)
{
    return INTS + i;
}

static int32_t *from_here(int at, int count, int by)
{
    static int32_t values[2 * INTS];
    int32_t *here = &values[by == 0 ? 0 : INTS] + at;
    for (int i = 0; i < count; i++)
        here[i] = by == 0 ? 1 : value(at + i) + by;
    return here;
}

static void put(int at, int count, int32_t *got, MPI_Request *req)
{
    (void)got;
    OK(MPI_Rput(from_here(at, count, 5), count, MPI_INT, other, in_at(at), count, MPI_INT, win, req));
}

static void get(int at, int count, int32_t *got, MPI_Request *req)
{
    OK(MPI_Rget(got, count, MPI_INT, other, in_at(at), count, MPI_INT, win, req));
}

static void add(int at, int count, int32_t *got, MPI_Request *req)
{
    (void)got;
    OK(MPI_Raccumulate(from_here(at, count, 0), count, MPI_INT, other, in_at(at), count, MPI_INT, MPI_SUM,
                       win, req));
}

static void get_and_add(int at, int count, int32_t *got, MPI_Request *req)
{
    OK(MPI_Rget_accumulate(from_here(at, count, 0), count, MPI_INT, got, count, MPI_INT, other, in_at(at),
                           count, MPI_INT, MPI_SUM, win, req));
}

/* Those of one rank at one place go in the order of their calls. */
static void replace_and_add(int at, int count, int32_t *got, MPI_Request *req)
{
    (void)got;
    OK(MPI_Accumulate(from_here(at, count, 5), count, MPI_INT, other, in_at(at), count, MPI_INT, MPI_REPLACE,
                      win));
    add(at, count, got, req);
}

static const struct {
    void (*access)(int at, int count, int32_t *got, MPI_Request *req);
    int by; /* what it changes */
    int gets;
} kinds[] = {{put, 5, 0}, {get, 0, 1}, {add, 1, 0}, {get_and_add, 1, 1}, {replace_and_add, 6, 0}};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Rank 0 accesses what its own message is to bring, and makes that only when it has had the other's large messages. */
static void on_what_comes(int kind)
{
    static int32_t got[INTS];
    MPI_Request reqs[PARKED];
    if (t_rank == 1) {
        send_large(other, reqs);
        receive();
        word();
        heard();
        OK(MPI_Waitall(PARKED, reqs, MPI_STATUSES_IGNORE));
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
        verify(in, kinds[kind].by, kinds[kind].by);
        return;
    }
    memset(got, 0, sizeof(got));
    MPI_Request req = begin(), access[2];
    heard();
    kinds[kind].access(SMALL_AT, SMALL, got + SMALL_AT, &access[0]);
    kinds[kind].access(LARGE_AT, MANY, got + LARGE_AT, &access[1]);
    receive_large(other);
    fill(0, INTS);
    OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    OK(MPI_Waitall(2, access, MPI_STATUSES_IGNORE));
    OK(MPI_Win_flush(other, win));
    for (int i = 0; kinds[kind].gets && i < INTS; i++)
        CHECK(got[i] == (inside(i, SMALL_AT, SMALL) || inside(i, LARGE_AT, MANY) ? value(i) : 0));
    word();
}

/* One element; with two values, of which the first is there, and with none. */
static void on_one_that_comes(void)
{
    if (t_rank == 1) {
        receive();
        word();
        heard();
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
        in[SMALL_AT] -= 3;
        in[LARGE_AT] -= 4;
        verify(in, 0, 0);
        return;
    }
    MPI_Request req = begin();
    int32_t three = 3, was = 0, swapped = value(LARGE_AT) + 4, there = value(LARGE_AT), had = 0,
            not_there = -1, kept = 0;
    heard();
    OK(MPI_Fetch_and_op(&three, &was, MPI_INT, other, in_at(SMALL_AT), MPI_SUM, win));
    OK(MPI_Compare_and_swap(&swapped, &there, &had, MPI_INT, other, in_at(LARGE_AT), win));
    OK(MPI_Compare_and_swap(&swapped, &not_there, &kept, MPI_INT, other, in_at(INTS - 1), win));
    fill(0, INTS);
    OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    OK(MPI_Win_flush(other, win));
    CHECK(was == value(SMALL_AT) && had == value(LARGE_AT) && kept == value(INTS - 1));
    word();
}

/* The other way round: a rank has called to put what has not come into the window of the one that sends it. */
static void from_what_comes(void)
{
    MPI_Request reqs[PARKED];
    if (t_rank == 0) {
        MPI_Request req = begin();
        heard();
        receive_large(other);
        fill(0, INTS);
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        heard();
        for (int i = 0; i < SMALL; i++)
            CHECK(aside[i] == value(SMALL_AT + i));
        for (int i = 0; i < MANY; i++)
            CHECK(aside[SMALL + i] == value(LARGE_AT + i));
        return;
    }
    send_large(other, reqs);
    receive();
    word();
    OK(MPI_Put(in + SMALL_AT, SMALL, MPI_INT, other, 2 * INTS, SMALL, MPI_INT, win));
    OK(MPI_Put(in + LARGE_AT, MANY, MPI_INT, other, 2 * INTS + SMALL, MANY, MPI_INT, win));
    OK(MPI_Win_flush(other, win));
    word();
    OK(MPI_Waitall(PARKED, reqs, MPI_STATUSES_IGNORE));
    OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
    verify(in, 0, 0);
}

/* The other rank writes to parts of what this one is about to send, while this one has half of a page made. */
static void into_what_is_sent(int adds)
{
    enum { HALF = 10 * PAGE / 4 + PAGE / 8 };
    if (t_rank == 1) {
        receive();
        heard();
        for (int k = 0; k < 2; k++) {
            int at = k == 0 ? SMALL_AT : LARGE_AT, count = k == 0 ? SMALL : MANY;
            int32_t *from = from_here(at, count, adds ? 0 : 5);
            if (adds)
                OK(MPI_Accumulate(from, count, MPI_INT, other, at, count, MPI_INT, MPI_SUM, win));
            else
                OK(MPI_Put(from, count, MPI_INT, other, at, count, MPI_INT, win));
        }
        OK(MPI_Win_flush(other, win));
        word();
        verify(in, adds ? 1 : 5, adds ? 1 : 5);
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
        return;
    }
    fill(0, INTS);
    memset(out, 0, (HALF + PAGE / 8) * sizeof(*out));
    MPI_Request req = begin();
    fill(0, HALF);
    word();
    heard();
    fill(HALF, SMALL_AT);
    OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
}

/* What is gotten belongs to what is being sent. */
static void gotten_into_what_is_sent(void)
{
    if (t_rank == 1) {
        for (int i = 0; i < INTS; i++)
            aside[i] = value(i) + 5;
        receive();
        word();
        verify(in, 5, 5);
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
        return;
    }
    MPI_Request req = begin();
    heard();
    fill(0, SMALL_AT);
    OK(MPI_Get(out + SMALL_AT, SMALL, MPI_INT, other, 2 * INTS + SMALL_AT, SMALL, MPI_INT, win));
    OK(MPI_Get(out + LARGE_AT, MANY, MPI_INT, other, 2 * INTS + LARGE_AT, MANY, MPI_INT, win));
    OK(MPI_Win_flush(other, win));
    fill(SMALL_AT + SMALL, LARGE_AT);
    fill(LARGE_AT + MANY, INTS);
    OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
}

/* Too late: that part has gone. The put is done, and the send says so. */
static void into_what_has_gone(void)
{
    if (t_rank == 1) {
        receive();
        CHECK(in[SMALL_AT] == value(SMALL_AT));
        OK(MPI_Put(from_here(SMALL_AT, SMALL, 5), SMALL, MPI_INT, other, SMALL_AT, SMALL, MPI_INT, win));
        OK(MPI_Win_flush(other, win));
        word();
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
        verify(in, 0, 0);
        return;
    }
    char text[MPI_MAX_ERROR_STRING], address[32];
    int len;
    MPI_Request req = begin();
    fill(0, INTS);
    heard();
    int code = MPIX_Delta_wait(&req, MPI_STATUS_IGNORE);
    OK(MPI_Error_string(code, text, &len));
    snprintf(address, sizeof(address), "%p", (void *)(out + SMALL_AT));
    CHECK(t_class(code) == MPI_ERR_ARG && strstr(text, address) != NULL);
    verify(out, 5, 0);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    other = t_rank ^ 1;
    size_t bytes = 3 * INTS * sizeof(*out);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    out = memory;
    in = out + INTS;
    aside = in + INTS;
    OK(MPI_Win_create(memory, (MPI_Aint)bytes, sizeof(*out), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_lock_all(0, win));
    for (int kind = 0; kind < KINDS; kind++)
        on_what_comes(kind);
    on_one_that_comes();
    from_what_comes();
    into_what_is_sent(0);
    into_what_is_sent(1);
    gotten_into_what_is_sent();
    into_what_has_gone();
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    return t_end();
}

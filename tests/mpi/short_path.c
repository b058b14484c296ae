/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking sends and receives that go at once (p2p/short.h) keep MPI's order beside those that do not: two senders, each with a
 * sequence that the receiver knows, of every mode; it takes them in turns of its own, with every call. And every length
 * that goes so arrives whole. */
#include <stdbool.h>
#include <stdint.h>

#include "mpitest.h"

enum { MESSAGES = 6000, AHEAD = 12, COMMS = 2, TAGS = 3, MOST = 56, ISENDS = 16 };

static MPI_Comm comms[COMMS];

struct message {
    int comm;
    int tag;
    int len; /* bytes, at least 8 */
    int mode; /* 0: Ssend; 1: Isend; else Send */
};

static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* What goes by Send is short: it may wait for its receive otherwise, and then nothing behind it may be received before. */
static struct message message_of(int sender, int i)
{
    uint64_t state = (uint64_t)sender << 32 | (uint64_t)i;
    struct message m = {.comm = (int)(draw(&state) % COMMS),
                        .tag = (int)(draw(&state) % TAGS),
                        .mode = (int)(draw(&state) % 12)};
    m.len = 8 + (int)(draw(&state) % (m.mode < 2 ? 5 : 3)) * 12;
    return m;
}

static void fill(char *data, int sender, int i, int len)
{
    t_fill(data, (size_t)len, (uint64_t)sender << 32 | (uint64_t)i);
}

static void send_all(int self)
{
    char data[ISENDS + 1][MOST];
    MPI_Request reqs[ISENDS];
    for (int i = 0; i < ISENDS; i++)
        reqs[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < MESSAGES; i++) {
        struct message m = message_of(self, i);
        int at = m.mode == 1 ? i % ISENDS : ISENDS;
        if (m.mode == 1)
            OK(MPI_Wait(&reqs[at], MPI_STATUS_IGNORE));
        fill(data[at], self, i, m.len);
        if (m.mode == 0)
            OK(MPI_Ssend(data[at], m.len, MPI_BYTE, 1, m.tag, comms[m.comm]));
        else if (m.mode == 1)
            OK(MPI_Isend(data[at], m.len, MPI_BYTE, 1, m.tag, comms[m.comm], &reqs[at]));
        else
            OK(MPI_Send(data[at], m.len, MPI_BYTE, 1, m.tag, comms[m.comm]));
    }
    OK(MPI_Waitall(ISENDS, reqs, MPI_STATUSES_IGNORE));
}

struct from {
    int sender;
    int next; /* the first that is not yet here */
    bool here[MESSAGES + AHEAD];
};

/* One that can be received now: no earlier one of its communicator and tag is missing, and no earlier Ssend, whose sender waits. */
static int choose(const struct from *f, uint64_t random)
{
    int choice[AHEAD], n = 0;
    bool missing[COMMS][TAGS] = {{false}};
    for (int i = f->next; i < f->next + AHEAD && i < MESSAGES; i++) {
        struct message m = message_of(f->sender, i);
        if (f->here[i])
            continue;
        if (!missing[m.comm][m.tag])
            choice[n++] = i;
        missing[m.comm][m.tag] = true;
        if (m.mode == 0)
            break;
    }
    return choice[random % (unsigned)n];
}

/* No earlier one of this communicator is missing, whatever its tag. */
static bool is_first(const struct from *f, int i)
{
    for (int j = f->next; j < i; j++)
        if (!f->here[j] && message_of(f->sender, j).comm == message_of(f->sender, i).comm)
            return false;
    return true;
}

static void check_status(const struct from *f, int i, const MPI_Status *status)
{
    struct message m = message_of(f->sender, i);
    int count;
    OK(MPI_Get_count(status, MPI_BYTE, &count));
    CHECK(status->MPI_SOURCE == f->sender && status->MPI_TAG == m.tag && count == m.len);
}

static void check(const struct from *f, int i, const char *data, const MPI_Status *status)
{
    struct message m = message_of(f->sender, i);
    char wanted[MOST];
    fill(wanted, f->sender, i, m.len);
    check_status(f, i, status);
    CHECK(memcmp(data, wanted, (size_t)m.len) == 0);
}

static void receive_one(struct from *f, uint64_t random)
{
    int i = choose(f, random >> 8), tag;
    struct message m = message_of(f->sender, i);
    char data[MOST];
    MPI_Request req;
    MPI_Status status;
    tag = random % 4 == 0 && is_first(f, i) ? MPI_ANY_TAG : m.tag;
    switch (random / 4 % 8) {
    case 0:
        OK(MPI_Irecv(data, MOST, MPI_BYTE, f->sender, tag, comms[m.comm], &req));
        OK(MPI_Wait(&req, &status));
        break;
    case 1:
        OK(MPI_Probe(f->sender, tag, comms[m.comm], &status));
        check_status(f, i, &status);
        OK(MPI_Recv(data, m.len, MPI_BYTE, f->sender, tag, comms[m.comm], &status));
        break;
    case 2: /* too short by a byte */
        CHECK(MPI_Recv(data, m.len - 1, MPI_BYTE, f->sender, tag, comms[m.comm], &status) != MPI_SUCCESS);
        f->here[i] = true;
        return;
    default:
        OK(MPI_Recv(data, MOST, MPI_BYTE, f->sender, tag, comms[m.comm], &status));
        break;
    }
    check(f, i, data, &status);
    f->here[i] = true;
}

static void receive_all(void)
{
    static struct from from[2] = {{.sender = 0}, {.sender = 2}};
    uint64_t state = 7;
    while (from[0].next < MESSAGES || from[1].next < MESSAGES) {
        struct from *f = &from[draw(&state) / 8 % 2];
        for (unsigned n = (unsigned)(draw(&state) % 40); n > 0 && f->next < MESSAGES; n--) {
            receive_one(f, draw(&state));
            while (f->next < MESSAGES && f->here[f->next])
                f->next++;
        }
    }
}

/* Two messages lie in the lane, of which the second is received first: most of the time, for nobody polls meanwhile. */
static void second_first(int rank, int turn)
{
    int other = turn % 2 == 0 ? 1 : 0; /* of the second: its communicator, else its tag */
    int64_t number = 0;
    MPI_Status status;
    if (rank == 0) {
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        number = 2 * turn;
        OK(MPI_Send(&number, 1, MPI_INT64_T, 1, 0, comms[0]));
        number++;
        OK(MPI_Send(&number, 1, MPI_INT64_T, 1, 1 - other, comms[other]));
    } else if (rank == 1) {
        OK(MPI_Send(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD));
        for (double began = MPI_Wtime(); MPI_Wtime() - began < 1e-4;)
            continue;
        OK(MPI_Recv(&number, 1, MPI_INT64_T, 0, turn % 4 < 2 ? 1 - other : MPI_ANY_TAG, comms[other],
                    &status));
        CHECK(number == 2 * turn + (other == 1 || turn % 4 < 2 ? 1 : 0));
        OK(MPI_Recv(&number, 1, MPI_INT64_T, 0, MPI_ANY_TAG, comms[0], &status));
    }
}

/* Every length that a slot holds, and some more, to every alignment: these bytes, and none beside them. */
static void every_length(int rank, int len, int shift)
{
    char data[MOST + 16], wanted[MOST];
    MPI_Status status;
    fill(wanted, 0, len + shift, len);
    if (rank == 0) {
        memcpy(data + shift, wanted, (size_t)len);
        OK(MPI_Send(data + shift, len, MPI_BYTE, 1, len, MPI_COMM_WORLD));
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else if (rank == 1) {
        memset(data, 0x5a, sizeof(data));
        OK(MPI_Recv(data + shift, MOST, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        int count;
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == len && status.MPI_SOURCE == 0 && status.MPI_TAG == len);
        CHECK(memcmp(data + shift, wanted, (size_t)len) == 0);
        for (int i = 0; i < (int)sizeof(data); i++)
            CHECK((i >= shift && i < shift + len) || data[i] == 0x5a);
        OK(MPI_Send(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD));
    }
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    t_rank = rank;
    comms[0] = MPI_COMM_WORLD;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    for (int i = 0; i < COMMS; i++)
        OK(MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN));
    if (rank == 1)
        receive_all();
    else
        send_all(rank);
    for (int turn = 0; turn < 400; turn++)
        second_first(rank, turn);
    for (int i = 0; i < 8 * MOST; i++)
        every_length(rank, i / 8, i % 8);
    OK(MPI_Comm_free(&comms[1]));
    MPI_Finalize();
    return 0;
}

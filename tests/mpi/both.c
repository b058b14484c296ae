/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages by memory and by the NIC in one communicator: receives from any source, of which there are more than words for both
 * (nof/claim.h), beside receives that name theirs; probes that wait, and take; cancel. MPI's order holds between any two messages of one
 * sender: what an earlier receive could have had no later one gets. And a rank that floods keeps no other one out.
 *
 *   both [SEED] */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "mpitest.h"

enum { EACH = 150, TAGS = 2, RANKS_MOST = 16, PROBED = 400 };

static int size;

static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Of message i from one rank to another. */
struct message {
    int tag;
    int len; /* bytes, at least 8 */
};

static struct message message_of(uint64_t seed, int from, int to, int i)
{
    static const int lens[] = {8, 8, 8, 24, 40, 41, 600, 5000, 17000, 40000, 120000};
    uint64_t state = seed ^ (uint64_t)from << 48 ^ (uint64_t)to << 32 ^ (uint64_t)i;
    struct message m = {.tag = (int)(draw(&state) % TAGS)};
    m.len = lens[draw(&state) % (sizeof(lens) / sizeof(lens[0]))];
    return m;
}

static void fill(char *data, int from, int i, int len)
{
    t_fill(data, (size_t)len, (uint64_t)from << 32 | (uint64_t)i);
    memcpy(data, &i, sizeof(i));
}

static void check(const char *data, uint64_t seed, int to, const MPI_Status *status, int *number_out)
{
    static char wanted[120000];
    int i, count;
    memcpy(&i, data, sizeof(i));
    struct message m = message_of(seed, status->MPI_SOURCE, to, i);
    OK(MPI_Get_count(status, MPI_BYTE, &count));
    CHECK(i >= 0 && i < EACH && count == m.len && status->MPI_TAG == m.tag);
    fill(wanted, status->MPI_SOURCE, i, m.len);
    CHECK(memcmp(data, wanted, (size_t)m.len) == 0);
    *number_out = i;
}

/* A receive of posted order, and what it got. */
struct receive {
    MPI_Request request;
    char *data;
    int source, tag; /* asked for */
    int from; /* the sender; -1: nothing has come */
    int number; /* of the message, in its sender's order */
    int got_tag;
};

static void post(struct receive *r, int source, int tag)
{
    *r = (struct receive){.source = source, .tag = tag, .from = -1, .data = malloc(120000)};
    CHECK(r->data != NULL);
    OK(MPI_Irecv(r->data, 120000, MPI_BYTE, source, tag, MPI_COMM_WORLD, &r->request));
}

/* What a later receive got an earlier one could have had, too, if it fitted: only after what it got itself, if anything. */
static void check_order(const struct receive *r, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            bool fits = r[j].from >= 0 && (r[i].source == MPI_ANY_SOURCE || r[i].source == r[j].from) &&
                        (r[i].tag == MPI_ANY_TAG || r[i].tag == r[j].got_tag);
            CHECK(!fits || (r[i].from >= 0 && (r[i].from != r[j].from || r[i].number < r[j].number)));
        }
}

static int receive_all(struct receive *r, int n, uint64_t seed, int rank, int left)
{
    for (int at = 0; left > 0; at = (at + 1) % n) {
        MPI_Status status;
        int done = 0;
        if (r[at].request == MPI_REQUEST_NULL)
            continue;
        OK(MPI_Test(&r[at].request, &done, &status));
        if (!done)
            continue;
        check(r[at].data, seed, rank, &status, &r[at].number);
        r[at].from = status.MPI_SOURCE;
        r[at].got_tag = status.MPI_TAG;
        left--;
    }
    return left;
}

/* All have had theirs: nobody serves these any more. */
static void cancel_rest(struct receive *r, int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Status status;
        int cancelled = 0;
        if (r[i].request != MPI_REQUEST_NULL) {
            OK(MPI_Cancel(&r[i].request));
            OK(MPI_Wait(&r[i].request, &status));
            OK(MPI_Test_cancelled(&status, &cancelled));
            CHECK(cancelled);
        }
        free(r[i].data);
    }
}

static void send_all(uint64_t seed, int rank, MPI_Request *requests, char **data)
{
    for (int i = 0, at = 0; i < EACH; i++)
        for (int to = 0; to < size; to++, at++) {
            struct message m = message_of(seed, rank, to, i);
            data[at] = malloc((size_t)m.len);
            CHECK(data[at] != NULL);
            fill(data[at], rank, i, m.len);
            if (i % 7 == 3)
                OK(MPI_Issend(data[at], m.len, MPI_BYTE, to, m.tag, MPI_COMM_WORLD, &requests[at]));
            else
                OK(MPI_Isend(data[at], m.len, MPI_BYTE, to, m.tag, MPI_COMM_WORLD, &requests[at]));
        }
}

/* Everybody to everybody, itself too; as many receives from any source as there are messages, and half as many that name one. */
static void storm(uint64_t seed, int rank)
{
    static MPI_Request sends[EACH * RANKS_MOST];
    static char *data[EACH * RANKS_MOST];
    static struct receive receives[EACH * RANKS_MOST * 2];
    int messages = EACH * size, n = 0, wild = 0;
    uint64_t state = seed + (uint64_t)rank;
    if (seed % 2 == 0)
        send_all(seed, rank, sends, data);
    while (wild < messages) {
        bool named = n - wild < messages / 2 && draw(&state) % 3 == 0;
        post(&receives[n++], named ? (int)(draw(&state) % (unsigned)size) : MPI_ANY_SOURCE,
             draw(&state) % 2 == 0 && named ? (int)(draw(&state) % TAGS) : MPI_ANY_TAG);
        wild += !named;
    }
    if (seed % 2 == 1)
        send_all(seed, rank, sends, data);
    CHECK(receive_all(receives, n, seed, rank, messages) == 0);
    check_order(receives, n);
    OK(MPI_Waitall(messages, sends, MPI_STATUSES_IGNORE));
    cancel_rest(receives, n);
    for (int i = 0; i < messages; i++)
        free(data[i]);
}

/* All to rank 0, which asks first: in turns, with every call that can. */
static void probed(int rank)
{
    static int next[RANKS_MOST];
    static char data[40000];
    for (int i = 0; rank != 0 && i < PROBED; i++) {
        struct message m = message_of(1, rank, 0, i % EACH);
        memcpy(data, &i, sizeof(i));
        OK(MPI_Send(data, m.len < 40000 ? m.len : 40000, MPI_BYTE, 0, i % TAGS, MPI_COMM_WORLD));
    }
    for (int i = 0; rank == 0 && i < PROBED * (size - 1); i++) {
        MPI_Status status, got;
        MPI_Message message;
        MPI_Request request;
        int flag = 0, number;
        switch (i % 5) {
        case 0:
            OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            OK(MPI_Recv(data, sizeof(data), MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                        &got));
            break;
        case 1:
            OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
            OK(MPI_Mrecv(data, sizeof(data), MPI_BYTE, &message, &got));
            break;
        case 2:
            while (!flag)
                OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status));
            OK(MPI_Mrecv(data, sizeof(data), MPI_BYTE, &message, &got));
            break;
        case 3: /* whoever has it: the message is received once */
            OK(MPI_Irecv(data, sizeof(data), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                         &request));
            OK(MPI_Cancel(&request));
            OK(MPI_Wait(&request, &got));
            OK(MPI_Test_cancelled(&got, &flag));
            if (flag)
                OK(MPI_Recv(data, sizeof(data), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &got));
            status = got;
            break;
        default:
            OK(MPI_Recv(data, sizeof(data), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &got));
            status = got;
            break;
        }
        memcpy(&number, data, sizeof(number));
        CHECK(got.MPI_SOURCE == status.MPI_SOURCE && got.MPI_TAG == status.MPI_TAG);
        CHECK(number == next[got.MPI_SOURCE] && got.MPI_TAG == number % TAGS);
        next[got.MPI_SOURCE]++;
    }
}

/* Rank 1 sends to rank 0 without end, in pieces, so that there is always one more; the last rank's few come all the same. */
static void flooded(int rank)
{
    enum {
        FEW = 20,
        BYTES = 20000,
        AHEAD = 16,
        BEGUN = 300,
        ENDLESS = 100000,
        FLOOD = 1,
        WORD = 2,
        STOP = 3,
        LAST = 4,
        GO = 5
    };
    static char data[AHEAD][2 * BYTES];
    MPI_Datatype apart;
    MPI_Request request, sends[AHEAD];
    MPI_Status status;
    int few = 0, many = 0, stop = 0;
    OK(MPI_Type_vector(BYTES, 1, 2, MPI_BYTE, &apart));
    OK(MPI_Type_commit(&apart));
    for (int i = 0; i < AHEAD; i++)
        sends[i] = MPI_REQUEST_NULL;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        while (few < FEW) {
            OK(MPI_Recv(data[0], sizeof(data[0]), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                        &status));
            few += status.MPI_TAG == WORD;
            many += status.MPI_TAG == FLOOD;
            CHECK(many < ENDLESS);
            if (many == BEGUN && status.MPI_TAG == FLOOD)
                OK(MPI_Send(NULL, 0, MPI_BYTE, size - 1, GO, MPI_COMM_WORLD));
        }
        OK(MPI_Send(NULL, 0, MPI_BYTE, 1, STOP, MPI_COMM_WORLD));
        do
            OK(MPI_Recv(data[0], sizeof(data[0]), MPI_BYTE, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        while (status.MPI_TAG != LAST);
    } else if (rank == 1) {
        OK(MPI_Irecv(NULL, 0, MPI_BYTE, 0, STOP, MPI_COMM_WORLD, &request));
        for (int i = 0; !stop; i = (i + 1) % AHEAD) {
            OK(MPI_Wait(&sends[i], MPI_STATUS_IGNORE));
            OK(MPI_Isend(data[i], 1, apart, 0, FLOOD, MPI_COMM_WORLD, &sends[i]));
            OK(MPI_Test(&request, &stop, MPI_STATUS_IGNORE));
        }
        OK(MPI_Send(NULL, 0, MPI_BYTE, 0, LAST, MPI_COMM_WORLD));
        OK(MPI_Waitall(AHEAD, sends, MPI_STATUSES_IGNORE));
    } else if (rank == size - 1) {
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < FEW; i++)
            OK(MPI_Send(NULL, 0, MPI_BYTE, 0, WORD, MPI_COMM_WORLD));
    }
    OK(MPI_Type_free(&apart));
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &t_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= RANKS_MOST);
    for (uint64_t turn = 0; turn < 4; turn++) {
        storm(seed + turn, t_rank);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    probed(t_rank);
    flooded(t_rank);
    MPI_Finalize();
    return 0;
}

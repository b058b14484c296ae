/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank has K messages under way to each of those that it sends to, and takes what is sent to it in an order that
 * the NIC cannot foresee: what it waits for comes behind what it does not want yet. All flows of a NIC share its
 * memory, so before, each rank makes flows that then lie idle.
 * usage: storm [K [SEED [KINDS]]]; letters of KINDS are rounds, in this order. */
#include "mpitest.h"

enum { BYTES_MAX = 70000 };

static int messages;
static int first_tag; /* of the round's tags: a fast rank is in the next one */
static uint64_t rng;
static MPI_Comm other;

struct round {
    int any_source;
    int all; /* to everybody, not to the right only */
    int synchronous;
    int lengths; /* kind of, see length() */
    int comms;
    void (*order)(int *tags, int n);
    void (*take)(char *buf, int source, int tag, int len, MPI_Comm comm);
};

static int length(int kind, int sender, int tag)
{
    static const int mixed[] = {0, 8, 100, 1500, 9000, BYTES_MAX, 8, 0};
    uint64_t state = (uint64_t)(sender * 4099 + tag + 1) * 0x9e3779b97f4a7c15u;
    return kind == 0 ? 0 : mixed[t_random(&state) % (kind == 1 ? 3u : 8u)];
}

static unsigned seed_of(int sender, int tag)
{
    return (unsigned)(sender * 100003 + tag);
}

static void reversed(int *tags, int n)
{
    for (int i = 0; i < n; i++)
        tags[i] = n - 1 - i;
}

static void shuffled(int *tags, int n)
{
    reversed(tags, n);
    for (int i = n - 1; i > 0; i--) {
        int k = (int)(t_random(&rng) % (uint64_t)(i + 1)), t = tags[i];
        tags[i] = tags[k];
        tags[k] = t;
    }
}

/* First, last, second, last but one, ... */
static void interleaved(int *tags, int n)
{
    for (int i = 0; i < n; i++)
        tags[i] = i % 2 ? n - 1 - i / 2 : i / 2;
}

/* Every other one backwards, and then the rest. */
static void in_halves(int *tags, int n)
{
    int at = 0;
    for (int first = 1; first >= 0; first--)
        for (int i = n - 1; i >= 0; i--)
            if (i % 2 == first)
                tags[at++] = i;
}

static void check(const char *buf, const MPI_Status *status, int tag, int len_kind)
{
    int count;
    OK(MPI_Get_count(status, MPI_BYTE, &count));
    CHECK(status->MPI_TAG == first_tag + tag && count == length(len_kind, status->MPI_SOURCE, tag));
    CHECK(t_verify(buf, (size_t)count, seed_of(status->MPI_SOURCE, tag)));
}

static void by_recv(char *buf, int source, int tag, int kind, MPI_Comm comm)
{
    MPI_Status status;
    OK(MPI_Recv(buf, BYTES_MAX, MPI_BYTE, source, first_tag + tag, comm, &status));
    check(buf, &status, tag, kind);
}

static void by_probe(char *buf, int source, int tag, int kind, MPI_Comm comm)
{
    MPI_Status status;
    OK(MPI_Probe(source, first_tag + tag, comm, &status));
    by_recv(buf, status.MPI_SOURCE, tag, kind, comm);
}

static void by_iprobe(char *buf, int source, int tag, int kind, MPI_Comm comm)
{
    MPI_Status status;
    int there = 0;
    while (!there)
        OK(MPI_Iprobe(source, first_tag + tag, comm, &there, &status));
    by_recv(buf, status.MPI_SOURCE, tag, kind, comm);
}

static void by_mprobe(char *buf, int source, int tag, int kind, MPI_Comm comm)
{
    MPI_Message message;
    MPI_Status status;
    OK(MPI_Mprobe(source, first_tag + tag, comm, &message, &status));
    OK(MPI_Mrecv(buf, BYTES_MAX, MPI_BYTE, &message, &status));
    check(buf, &status, tag, kind);
}

/* Beside a receive that nothing matches, which is then taken back. */
static void by_cancel(char *buf, int source, int tag, int kind, MPI_Comm comm)
{
    MPI_Request never;
    MPI_Status status;
    int cancelled;
    OK(MPI_Irecv(NULL, 0, MPI_BYTE, tag % 2 ? MPI_ANY_SOURCE : source, first_tag + messages + tag, comm,
                 &never));
    if (tag % 3 == 0)
        by_recv(buf, source, tag, kind, comm);
    OK(MPI_Cancel(&never));
    OK(MPI_Wait(&never, &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled);
    if (tag % 3 != 0)
        by_recv(buf, source, tag, kind, comm);
}

static int partners(const struct round *r)
{
    return r->all ? t_size - 1 : 1;
}

static MPI_Comm comm_of(const struct round *r, int tag)
{
    return r->comms > 1 && tag % 2 ? other : MPI_COMM_WORLD;
}

static MPI_Request *start_sends(const struct round *r, int n, char *out)
{
    MPI_Request *requests = malloc((size_t)n * (size_t)partners(r) * sizeof(*requests));
    size_t at = 0;
    int started = 0;
    for (int tag = 0; tag < n; tag++) {
        int len = length(r->lengths, t_rank, tag);
        t_fill(out + at, (size_t)len, seed_of(t_rank, tag));
        for (int k = 0; k < partners(r); k++) {
            int to = (t_rank + 1 + k) % t_size;
            OK((r->synchronous ? MPI_Issend : MPI_Isend)(out + at, len, MPI_BYTE, to, first_tag + tag,
                                                         comm_of(r, tag), &requests[started++]));
        }
        at += (size_t)len;
    }
    return requests;
}

static void play(const struct round *r)
{
    int n = messages / partners(r) > 0 ? messages / partners(r) : 1;
    size_t all = 1;
    for (int tag = 0; tag < n; tag++)
        all += (size_t)length(r->lengths, t_rank, tag);
    char *out = malloc(all), *in = malloc(BYTES_MAX);
    int *tags = malloc((size_t)n * sizeof(*tags));
    r->order(tags, n);
    MPI_Request *requests = start_sends(r, n, out);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < partners(r); k++) {
            int from = (t_rank + t_size - 1 - k) % t_size;
            r->take(in, r->any_source ? MPI_ANY_SOURCE : from, tags[i], r->lengths, comm_of(r, tags[i]));
        }
    }
    OK(MPI_Waitall(n * partners(r), requests, MPI_STATUSES_IGNORE));
    free(requests);
    free(tags);
    free(in);
    free(out);
    first_tag += 2 * messages;
}

/* A flow of everybody to rank 0, and those of the barrier. */
static void begin(void)
{
    int value = t_rank;
    MPI_Request request;
    OK(MPI_Isend(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request));
    for (int i = 0; t_rank == 0 && i < t_size; i++) {
        OK(MPI_Recv(&value, 1, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(value == i);
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    static const struct {
        char letter;
        struct round round;
    } kinds[] = {
        {'r', {.order = reversed, .take = by_recv}},
        {'x', {.order = shuffled, .take = by_recv}},
        {'i', {.order = interleaved, .take = by_recv, .lengths = 1}},
        {'h', {.order = in_halves, .take = by_recv, .lengths = 1}},
        {'w', {.order = reversed, .take = by_recv, .any_source = 1, .all = 1}},
        {'W', {.order = shuffled, .take = by_recv, .any_source = 1, .all = 1, .lengths = 2}},
        {'a', {.order = reversed, .take = by_recv, .all = 1}},
        {'p', {.order = reversed, .take = by_probe}},
        {'P', {.order = shuffled, .take = by_probe, .any_source = 1, .all = 1, .lengths = 2}},
        {'q', {.order = reversed, .take = by_iprobe, .lengths = 1}},
        {'m', {.order = reversed, .take = by_mprobe, .lengths = 1}},
        {'M', {.order = shuffled, .take = by_mprobe, .any_source = 1, .all = 1, .lengths = 2}},
        {'c', {.order = reversed, .take = by_cancel, .lengths = 1}},
        {'d', {.order = in_halves, .take = by_recv, .comms = 2}},
        {'l', {.order = reversed, .take = by_recv, .lengths = 2}},
        {'y', {.order = reversed, .take = by_recv, .synchronous = 1, .lengths = 1}},
        {'Y', {.order = shuffled, .take = by_mprobe, .synchronous = 1, .lengths = 2, .comms = 2}},
    };
    t_begin(&argc, &argv, 2);
    messages = argc > 1 ? atoi(argv[1]) : 400;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    rng = seed * 4099 + (uint64_t)t_rank + 1;
    const char *wanted = argc > 3 ? argv[3] : "rxihwWapPqmMcdlyY";
    begin();
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    for (; *wanted != '\0'; wanted++)
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
            if (kinds[i].letter == *wanted)
                play(&kinds[i].round);
    OK(MPI_Comm_free(&other));
    return t_end();
}

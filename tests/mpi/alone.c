/* SPDX-License-Identifier: BSD-3-Clause */
/* Random operations of one rank with itself, checked against MPI's order by a model: sends of all
 * modes and sizes, receives with and without wildcards, probes, matched probes, cancels. Run over the
 * fake driver it goes through spilling, parking and holding all the time. */
#include "mpitest.h"

enum { STEPS = 6000, OPEN = 40, TAGS = 3, LARGEST = 5000 };

struct sent {
    int tag;
    int len;
    uint64_t id;
    int matched;
};

static struct sent sent[STEPS];
static int sent_count;

struct open_recv {
    MPI_Request req;
    int tag; /* or any */
    char *buf;
    int message; /* index into sent, -1: none yet */
    uint64_t order;
};

static struct open_recv recvs[OPEN];
static struct {
    MPI_Request req;
    char *buf;
} sends[OPEN];
static uint64_t seed, orders;
static int width = OPEN; /* slots in use in this phase */

static int draw(int n)
{
    return (int)(t_random(&seed) % (uint64_t)n);
}

/* The oldest unmatched message that a receive or probe with this tag gets now. */
static int oldest_message(int tag)
{
    for (int i = 0; i < sent_count; i++)
        if (!sent[i].matched && (tag == MPI_ANY_TAG || sent[i].tag == tag))
            return i;
    return -1;
}

static void model_send(int message)
{
    struct open_recv *best = NULL;
    for (int i = 0; i < OPEN; i++) {
        struct open_recv *r = &recvs[i];
        if (r->req != MPI_REQUEST_NULL && r->message < 0 &&
            (r->tag == MPI_ANY_TAG || r->tag == sent[message].tag) &&
            (best == NULL || r->order < best->order))
            best = r;
    }
    if (best != NULL) {
        best->message = message;
        sent[message].matched = 1;
    }
}

static void do_send(void)
{
    int slot = draw(width), flag;
    OK(MPI_Test(&sends[slot].req, &flag, MPI_STATUS_IGNORE));
    if (!flag || sent_count == STEPS)
        return;
    free(sends[slot].buf);
    struct sent *s = &sent[sent_count];
    s->tag = draw(TAGS);
    s->len = draw(3) ? draw(60) : draw(3) ? draw(1000) : draw(LARGEST);
    s->id = (uint64_t)sent_count;
    sends[slot].buf = malloc((size_t)s->len + 1);
    t_fill(sends[slot].buf, (size_t)s->len, s->id);
    if (draw(4) == 0)
        OK(MPI_Issend(sends[slot].buf, s->len, MPI_BYTE, 0, s->tag, MPI_COMM_WORLD, &sends[slot].req));
    else
        OK(MPI_Isend(sends[slot].buf, s->len, MPI_BYTE, 0, s->tag, MPI_COMM_WORLD, &sends[slot].req));
    model_send(sent_count++);
}

static void check(const char *buf, const MPI_Status *status, int message)
{
    int count;
    CHECK(message >= 0);
    OK(MPI_Get_count(status, MPI_BYTE, &count));
    CHECK(count == sent[message].len && status->MPI_TAG == sent[message].tag);
    CHECK(t_verify(buf, (size_t)count, sent[message].id));
}

static void do_recv(void)
{
    struct open_recv *r = &recvs[draw(width)];
    if (r->req != MPI_REQUEST_NULL)
        return;
    r->tag = draw(3) ? draw(TAGS) : MPI_ANY_TAG;
    r->order = ++orders;
    r->message = oldest_message(r->tag);
    if (r->message >= 0)
        sent[r->message].matched = 1;
    OK(MPI_Irecv(r->buf, LARGEST, MPI_BYTE, draw(2) ? 0 : MPI_ANY_SOURCE, r->tag, MPI_COMM_WORLD, &r->req));
}

static void do_test(void)
{
    struct open_recv *r = &recvs[draw(OPEN)];
    MPI_Status status;
    int flag;
    if (r->req == MPI_REQUEST_NULL)
        return;
    OK(MPI_Test(&r->req, &flag, &status));
    if (flag)
        check(r->buf, &status, r->message);
}

/* Receive r was cancelled although `message` was sent for it: the message had not arrived, so it and
 * all after it find their receives anew. */
static void match_again(int message)
{
    for (int i = 0; i < OPEN; i++) {
        if (recvs[i].req != MPI_REQUEST_NULL && recvs[i].message > message) {
            sent[recvs[i].message].matched = 0;
            recvs[i].message = -1;
        }
    }
    sent[message].matched = 0;
    for (int i = message; i < sent_count; i++)
        if (!sent[i].matched)
            model_send(i);
}

/* A receive that nothing was sent for must be cancelled; any other may be or complete. */
static void cancel(struct open_recv *r)
{
    MPI_Status status;
    int flag;
    OK(MPI_Cancel(&r->req));
    OK(MPI_Wait(&r->req, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    if (!flag)
        check(r->buf, &status, r->message);
    else if (r->message >= 0)
        match_again(r->message);
}

static void do_cancel(void)
{
    struct open_recv *r = &recvs[draw(OPEN)];
    if (r->req != MPI_REQUEST_NULL)
        cancel(r);
}

static void do_probe(void)
{
    int tag = draw(3) ? draw(TAGS) : MPI_ANY_TAG, expected = oldest_message(tag), flag;
    MPI_Status status;
    MPI_Message message;
    char buf[LARGEST];
    /* What was sent just now may still be on its way: a probe may miss it, a waiting one may not. */
    if (draw(2)) {
        if (expected >= 0)
            OK(MPI_Probe(0, tag, MPI_COMM_WORLD, &status));
        else
            OK(MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &status));
        if (expected < 0) {
            CHECK(!flag);
            return;
        }
        int count;
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == sent[expected].len && status.MPI_TAG == sent[expected].tag);
    } else if (expected >= 0) {
        OK(MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, &status));
        sent[expected].matched = 1;
        OK(MPI_Mrecv(buf, LARGEST, MPI_BYTE, &message, &status));
        check(buf, &status, expected);
    } else {
        OK(MPI_Improbe(0, tag, MPI_COMM_WORLD, &flag, &message, &status));
        CHECK(!flag);
    }
}

/* Nothing open, nothing unmatched: a NIC that spilled takes matching back. */
static void quiesce(void)
{
    MPI_Status status;
    for (int i = 0; i < OPEN; i++) {
        struct open_recv *r = &recvs[i];
        if (r->req == MPI_REQUEST_NULL)
            continue;
        if (r->message < 0) {
            cancel(r);
        } else {
            OK(MPI_Wait(&r->req, &status));
            check(r->buf, &status, r->message);
        }
    }
    for (int message; (message = oldest_message(MPI_ANY_TAG)) >= 0;) {
        OK(MPI_Recv(recvs[0].buf, LARGEST, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        sent[message].matched = 1;
        check(recvs[0].buf, &status, message);
    }
    for (int i = 0; i < OPEN; i++)
        OK(MPI_Wait(&sends[i].req, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    if (t_size > 1) {
        fprintf(stderr, "skipped: for one rank\n");
        MPI_Finalize();
        return 77;
    }
    seed = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < OPEN; i++) {
        recvs[i].req = sends[i].req = MPI_REQUEST_NULL;
        recvs[i].buf = malloc(LARGEST);
    }
    /* Phases in which sends or receives prevail fill the store or the table of receives. */
    for (int step = 0; step < STEPS; step++) {
        if (step % 50 == 0) {
            if (draw(2))
                quiesce();
            width = 1 + draw(draw(2) ? 6 : OPEN);
        }
        int more_sends = step / 200 % 3;
        int what = draw(20);
        if (what < 6 + 3 * more_sends)
            do_send();
        else if (what < 14)
            do_recv();
        else if (what < 17)
            do_test();
        else if (what < 18)
            do_cancel();
        else
            do_probe();
    }
    quiesce();
    for (int i = 0; i < OPEN; i++) {
        free(sends[i].buf);
        free(recvs[i].buf);
    }
    return t_end();
}

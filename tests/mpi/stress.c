/* SPDX-License-Identifier: BSD-3-Clause */
/* Random traffic: every rank sends messages of random size and tag in random modes to random ranks
 * and receives those that come for it in random ways; every byte is checked. All ranks know the
 * whole plan from one seed. */
#include "mpitest.h"

enum { MESSAGES = 3000, TAGS = 4, LARGEST = 200000, SLOTS = 64 };

struct plan {
    int from;
    int to;
    int tag;
    int len;
    int mode;
};

static struct plan plan[MESSAGES];

static void make_plan(uint64_t seed)
{
    for (int i = 0; i < MESSAGES; i++) {
        uint64_t r = t_random(&seed);
        int shape = (int)(r % 16);
        plan[i].from = (int)(r >> 8) % t_size;
        if (plan[i].from < 0)
            plan[i].from += t_size;
        plan[i].to = (int)(t_random(&seed) % (uint64_t)t_size);
        plan[i].tag = (int)(t_random(&seed) % TAGS);
        uint64_t len = t_random(&seed);
        plan[i].len = (int)(shape < 8    ? len % 64
                            : shape < 13 ? len % 4000
                            : shape < 15 ? len % 60000
                                         : len % LARGEST);
        plan[i].mode = (int)(t_random(&seed) % 4);
    }
}

struct slot {
    MPI_Request req;
    char *buf;
    int message; /* receive: the first of the plan it may be, for a given source and tag */
};

static struct slot sends[SLOTS];
static int *next_expected; /* by source and tag: index into the plan */

static int find_next(int from, int tag, int after)
{
    for (int i = after; i < MESSAGES; i++)
        if (plan[i].from == from && plan[i].to == t_rank && plan[i].tag == tag)
            return i;
    return MESSAGES;
}

static int free_slot(void)
{
    for (int i = 0; i < SLOTS; i++)
        if (sends[i].req == MPI_REQUEST_NULL)
            return i;
    return -1;
}

static void start_send(int i)
{
    struct slot *s = &sends[free_slot()];
    const struct plan *p = &plan[i];
    s->buf = malloc((size_t)p->len + 1);
    t_fill(s->buf, (size_t)p->len, (uint64_t)i);
    switch (p->mode) {
    case 0:
        OK(MPI_Issend(s->buf, p->len, MPI_BYTE, p->to, p->tag, MPI_COMM_WORLD, &s->req));
        break;
    default:
        OK(MPI_Isend(s->buf, p->len, MPI_BYTE, p->to, p->tag, MPI_COMM_WORLD, &s->req));
        break;
    }
}

static void finish_sends(void)
{
    for (int i = 0; i < SLOTS; i++) {
        int flag;
        if (sends[i].req == MPI_REQUEST_NULL)
            continue;
        OK(MPI_Test(&sends[i].req, &flag, MPI_STATUS_IGNORE));
        if (flag)
            free(sends[i].buf);
    }
}

static void check_received(const char *buf, const MPI_Status *status)
{
    int *next = &next_expected[status->MPI_SOURCE * TAGS + status->MPI_TAG], count;
    CHECK(*next < MESSAGES);
    OK(MPI_Get_count(status, MPI_BYTE, &count));
    CHECK(count == plan[*next].len);
    CHECK(t_verify(buf, (size_t)count, (uint64_t)*next));
    *next = find_next(status->MPI_SOURCE, status->MPI_TAG, *next + 1);
}

static int try_receive(char *buf, uint64_t *seed)
{
    int flag;
    MPI_Status status;
    MPI_Message message;
    if (t_random(seed) % 2) {
        OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status));
        if (!flag)
            return 0;
        OK(MPI_Mrecv(buf, LARGEST, MPI_BYTE, &message, &status));
    } else {
        OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
        if (!flag)
            return 0;
        OK(MPI_Recv(buf, LARGEST, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status));
    }
    check_received(buf, &status);
    return 1;
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20240607;
    make_plan(seed);
    next_expected = malloc((size_t)t_size * TAGS * sizeof(int));
    int to_receive = 0, sent = 0;
    for (int s = 0; s < t_size; s++)
        for (int t = 0; t < TAGS; t++)
            next_expected[s * TAGS + t] = find_next(s, t, 0);
    for (int i = 0; i < MESSAGES; i++)
        to_receive += plan[i].to == t_rank;
    for (int i = 0; i < SLOTS; i++)
        sends[i].req = MPI_REQUEST_NULL;
    char *buf = malloc(LARGEST);
    seed += (uint64_t)t_rank * 77777 + 1;
    while (sent < MESSAGES || to_receive > 0) {
        while (sent < MESSAGES && plan[sent].from != t_rank)
            sent++;
        if (sent < MESSAGES && free_slot() >= 0 && t_random(&seed) % 4)
            start_send(sent++);
        if (to_receive > 0)
            to_receive -= try_receive(buf, &seed);
        finish_sends();
    }
    for (int i = 0; i < SLOTS; i++)
        OK(MPI_Wait(&sends[i].req, MPI_STATUS_IGNORE));
    free(buf);
    free(next_expected);
    return t_end();
}

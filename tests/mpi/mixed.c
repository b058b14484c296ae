/* SPDX-License-Identifier: BSD-3-Clause */
/* Two communicators at once, one of the ranks of a host and one of all: what goes on in one waits for nothing of the other, whichever
 * channel each has, from one thread and from two. */
#include "mpitest.h"

#include <pthread.h>

enum {
    ROUNDS = 30,
    MOST = 8,
    FORMS = 6,
    LARGEST = 100000,
    LAST = ROUNDS /* tags: those of the rounds, this */
};

static const int lengths[FORMS] = {0, 8, 40, 41, 10000, LARGEST};

/* One communicator's messages of a round: one of each length to each, and from each. */
struct side {
    MPI_Comm comm;
    int rank, size;
    uint64_t name;
    unsigned char *out, *in; /* FORMS * LARGEST, and that of each */
    MPI_Request sends[MOST * FORMS], recvs[MOST * FORMS];
    int came[MOST];
};

static void open_side(struct side *s, MPI_Comm comm, uint64_t name)
{
    s->comm = comm;
    s->name = name;
    OK(MPI_Comm_rank(comm, &s->rank));
    OK(MPI_Comm_size(comm, &s->size));
    CHECK(s->size <= MOST);
    s->out = malloc((size_t)FORMS * LARGEST);
    s->in = malloc((size_t)MOST * FORMS * LARGEST);
    CHECK(s->out != NULL && s->in != NULL);
}

static uint64_t id_of(const struct side *s, int from, int round, int form)
{
    return ((s->name * 100 + (uint64_t)from) * 1000 + (uint64_t)round) * 10 + (uint64_t)form;
}

static unsigned char *in_at(const struct side *s, int k)
{
    return s->in + (size_t)k * LARGEST;
}

/* Who is ahead must not be taken for who is behind: each round has its tag. */
static void begin_receives(struct side *s, int round)
{
    memset(s->came, 0, sizeof(s->came));
    for (int k = 0; k < s->size * FORMS; k++)
        OK(MPI_Irecv(in_at(s, k), LARGEST, MPI_BYTE, MPI_ANY_SOURCE, round, s->comm, &s->recvs[k]));
}

static void begin_sends(struct side *s, int round)
{
    for (int form = 0; form < FORMS; form++) {
        unsigned char *at = s->out + (size_t)form * LARGEST;
        t_fill(at, (size_t)lengths[form], id_of(s, s->rank, round, form));
        for (int to = 0; to < s->size; to++)
            OK((to + form + round) % 3 == 0
                   ? MPI_Issend(at, lengths[form], MPI_BYTE, to, round, s->comm, &s->sends[to * FORMS + form])
                   : MPI_Isend(at, lengths[form], MPI_BYTE, to, round, s->comm,
                               &s->sends[to * FORMS + form]));
    }
}

/* Receives end in any order, but they were matched in the order of their posts: those of a source, too. */
static void end(struct side *s, int round)
{
    MPI_Status status[MOST * FORMS];
    OK(MPI_Waitall(s->size * FORMS, s->recvs, status));
    for (int k = 0; k < s->size * FORMS; k++) {
        int from = status[k].MPI_SOURCE, bytes, form;
        CHECK(from >= 0 && from < s->size);
        form = s->came[from]++;
        OK(MPI_Get_count(&status[k], MPI_BYTE, &bytes));
        CHECK(form < FORMS && bytes == lengths[form]);
        CHECK(t_verify(in_at(s, k), (size_t)bytes, id_of(s, from, round, form)));
    }
    OK(MPI_Waitall(s->size * FORMS, s->sends, MPI_STATUSES_IGNORE));
}

/* A waiting receive in one, while a message of the other has to be answered. */
static void crossed(struct side *inner, struct side *outer, int round)
{
    int left = (outer->rank + outer->size - 1) % outer->size, right = (outer->rank + 1) % outer->size;
    int sum = 0, value = inner->rank + round;
    MPI_Request request;
    MPI_Message message;
    OK(MPI_Issend(outer->out, LARGEST, MPI_BYTE, right, LAST, outer->comm, &request));
    OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inner->comm));
    CHECK(sum == inner->size * (inner->size - 1) / 2 + inner->size * round);
    OK(MPI_Mprobe(left, LAST, outer->comm, &message, MPI_STATUS_IGNORE));
    OK(MPI_Mrecv(outer->in, LARGEST, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void *alone(void *context)
{
    struct side *s = context;
    for (int round = 0; round < ROUNDS; round++) {
        begin_receives(s, round);
        begin_sends(s, round);
        end(s, round);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct side inner, outer;
    MPI_Comm local;
    pthread_t thread;
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &t_rank);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local));
    open_side(&inner, local, 1);
    open_side(&outer, MPI_COMM_WORLD, 2);
    for (int round = 0; round < ROUNDS; round++) {
        begin_receives(&inner, round);
        begin_receives(&outer, round);
        begin_sends(&outer, round);
        begin_sends(&inner, round);
        end(round % 2 == 0 ? &inner : &outer, round);
        end(round % 2 == 0 ? &outer : &inner, round);
        crossed(&inner, &outer, round);
        crossed(&outer, &inner, round);
    }
    if (provided == MPI_THREAD_MULTIPLE) {
        CHECK(pthread_create(&thread, NULL, alone, &inner) == 0);
        (void)alone(&outer);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    free(inner.out);
    free(inner.in);
    free(outer.out);
    free(outer.in);
    OK(MPI_Comm_free(&local));
    return t_end();
}

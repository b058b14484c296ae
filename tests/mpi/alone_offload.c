/* SPDX-License-Identifier: BSD-3-Clause */
/* Random schedules of one rank with itself, over the stand-in driver: run by it or declined, spilled, asked for, several at
 * a time, persistent, cut and cancelled, they do what the list of their steps says. */
#include "mpitest.h"

#include "base/error.h"
#include "base/wait.h"
#include "chan/chan.h"
#include "chan/nic/chan_nic.h"
#include "coll/offload.h"
#include "fake_pmd.h"

enum { BUFFERS = 12, LARGEST = 1500, TOGETHER = 5, ROUNDS = 200 };

struct work {
    struct nof_sched *s;
    size_t count; /* of each buffer */
    int buffer[BUFFERS][LARGEST];
    int wanted[BUFFERS][LARGEST];
    int program[400][3]; /* what a run does, for the next one */
    int steps;
};

static struct work works[TOGETHER];
static uint64_t seed;
static struct nof_op *sum;

static int draw(int n)
{
    return (int)(t_random(&seed) % (uint64_t)n);
}

enum { COPY, ADD, MOVE };

/* What a step makes of the buffers, when all is well. */
static void model(struct work *w)
{
    for (int i = 0; i < w->steps; i++) {
        const int *step = w->program[i];
        int *from = w->wanted[step[1]], *to = w->wanted[step[2]];
        for (size_t k = 0; k < w->count; k++)
            to[k] = step[0] == ADD ? (int)((unsigned)from[k] + (unsigned)to[k]) : from[k];
    }
}

static void note(struct work *w, int what, int from, int to)
{
    int *step = w->program[w->steps++];
    step[0] = what, step[1] = from, step[2] = to;
}

/* Buffers that a message of this round uses are nobody else's until the fence. */
static int unused(const bool *used)
{
    for (int i = 0; i < 1000; i++) {
        int b = draw(BUFFERS);
        if (!used[b])
            return b;
    }
    return -1;
}

static void add_round(struct work *w)
{
    struct nof_type *type = nof_type_of_basic(NOF_REDUCE_I32);
    bool used[BUFFERS] = {false};
    int sent[BUFFERS], sends = 0, receives = 0;
    for (int n = draw(10); n >= 0 || receives < sends; n--) {
        int a = unused(used), b = unused(used), what = n < 0 ? 3 : draw(4);
        if (what < 2 && a >= 0 && b >= 0 && a != b) {
            if (what == 0)
                nof_sched_copy(w->s, w->buffer[a], w->count, type, w->buffer[b], w->count, type);
            else
                nof_sched_reduce(w->s, sum, type, w->buffer[a], w->buffer[b], w->count);
            note(w, what == 0 ? COPY : ADD, a, b);
        } else if (what == 2 && sends < BUFFERS / 3 && a >= 0) {
            nof_sched_send(w->s, w->buffer[a], w->count, type, 0);
            used[sent[sends++] = a] = true;
        } else if (what == 3 && receives < sends) {
            CHECK(b >= 0);
            nof_sched_recv(w->s, w->buffer[b], w->count, type, 0);
            used[b] = true;
            note(w, MOVE, sent[receives++], b);
        }
    }
    nof_sched_fence(w->s);
}

static void build(struct work *w)
{
    static const size_t counts[] = {1, 5, 100, 300, LARGEST};
    w->s = nof_sched_new(nof_comm_world());
    CHECK(w->s != NULL);
    if (draw(2)) /* what they are told to be part of is any */
        nof_sched_buffers(w->s, w->buffer[draw(BUFFERS)], works[draw(TOGETHER)].buffer[draw(BUFFERS)]);
    w->steps = 0;
    w->count = counts[draw(5)];
    for (int b = 0; b < BUFFERS; b++)
        for (size_t k = 0; k < w->count; k++)
            w->wanted[b][k] = w->buffer[b][k] = draw(1000000);
    for (int rounds = 1 + draw(5); rounds > 0; rounds--)
        add_round(w);
}

static void wait_for(struct work *w)
{
    struct nof_wait wait = NOF_WAIT_START;
    while (!w->s->done)
        nof_wait_step(&wait);
    CHECK(w->s->error == MPI_SUCCESS);
    model(w);
    for (int b = 0; b < BUFFERS; b++)
        CHECK(memcmp(w->buffer[b], w->wanted[b], w->count * sizeof(int)) == 0);
}

/* Several under way, begun again when they have ended: the NIC drives in each run, or does not. */
static void together(void)
{
    int n = 1 + draw(TOGETHER);
    for (int i = 0; i < n; i++) {
        build(&works[i]);
        if (draw(2))
            nof_sched_keep(works[i].s);
    }
    for (int again = 0; again < 3; again++) {
        fake_runs_collectives = draw(4) != 0;
        for (int i = 0; i < n; i++)
            OK(nof_sched_start(works[i].s));
        for (int i = n - 1; i >= 0; i--)
            wait_for(&works[i]);
    }
    for (int i = 0; i < n; i++)
        nof_sched_free(works[i].s);
}

/* A message that is too long is told at the end; behind it, lengths that are expected are not met on purpose. */
static void cut(void)
{
    struct nof_type *type = nof_type_of_basic(NOF_REDUCE_I32);
    int from[40], to[40] = {0}, next[40] = {0}, last = 0;
    for (int i = 0; i < 40; i++)
        from[i] = 1 + i;
    struct nof_sched *s = nof_sched_new(nof_comm_world());
    CHECK(s != NULL);
    nof_sched_send(s, from, 40, type, 0);
    nof_sched_recv(s, to, 30, type, 0);
    nof_sched_fence(s);
    nof_sched_exact(s, true);
    nof_sched_send(s, from, 20, type, 0);
    nof_sched_recv(s, next, 20, type, 0);
    nof_sched_fence(s);
    nof_sched_copy(s, from, 1, type, &last, 1, type);
    int error_class = nof_error_class(nof_sched_run(s));
    CHECK(error_class == MPI_ERR_TRUNCATE || error_class == MPI_ERR_COUNT);
    CHECK(to[29] == 30 && to[30] == 0 && next[0] == 0 && last == 1);
}

/* A death ends a schedule whose message never comes; what it sent may still lie there. */
static void ended(void)
{
    struct nof_type *type = nof_type_of_basic(NOF_REDUCE_I32);
    static int from[LARGEST], to[LARGEST];
    struct nof_sched *s = nof_sched_new(nof_comm_world());
    CHECK(s != NULL);
    nof_sched_reduce(s, sum, type, from, to, 1);
    nof_sched_recv(s, to, LARGEST, type, 0);
    nof_sched_recv(s, to, LARGEST, type, 0);
    nof_sched_fence(s);
    nof_sched_reduce(s, sum, type, from, to, 1);
    nof_sched_send(s, from, 1, type, 0);
    OK(nof_sched_start(s));
    for (int i = draw(10); i > 0; i--)
        (void)nof_wait_poll();
    CHECK(!s->done);
    nof_sched_fail_rank(0, nof_error(MPIX_ERR_PROC_FAILED, "a rank is dead"));
    struct nof_wait wait = NOF_WAIT_START;
    while (!s->done)
        nof_wait_step(&wait);
    CHECK(nof_error_class(s->error) == MPIX_ERR_PROC_FAILED);
    nof_sched_free(s);
}

/* As another thread would: there is always more than the ring has room for. */
static unsigned flood_turns;
static int flood(void)
{
    const struct nof_desc nothing = {.opcode = NOF_DESC_RELEASE};
    while (flood_turns > 0 && nof_chan_nic.queue_count < 20)
        nof_chan_nic_submit(&nothing);
    flood_turns -= flood_turns > 0;
    return 0;
}
static uint64_t no_nap(void)
{
    return UINT64_MAX;
}
static void say_nothing(const struct nof_sched *of)
{
    (void)of;
}

/* A schedule has ended when what was before it in the queue is with the NIC; what others put there meanwhile does not hold it up. */
static void beside_a_flood(void)
{
    static const struct nof_wait_source source = {.poll = flood, .nap_ns = no_nap, .describe = say_nothing};
    static int from[10] = {7}, to[10];
    struct nof_type *type = nof_type_of_basic(NOF_REDUCE_I32);
    struct nof_sched *s = nof_sched_new(nof_comm_world());
    CHECK(s != NULL);
    nof_wait_add(&source);
    nof_sched_recv(s, to, 10, type, 0);
    nof_sched_send(s, from, 10, type, 0);
    nof_sched_fence(s);
    flood_turns = 1000;
    OK(nof_sched_run(s));
    CHECK(to[0] == 7 && flood_turns > 0);
    flood_turns = 0;
    while (nof_chan_nic.queue_count > 0)
        (void)nof_wait_poll();
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    t_errors_return();
    seed = 0x9e3779b97f4a7c15u * (argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
    OK(nof_op_check(MPI_SUM, NULL, &sum));
    for (int i = 0; i < ROUNDS; i++) {
        together();
        fake_runs_collectives = draw(4) != 0;
        if (draw(4) == 0)
            cut();
        if (draw(4) == 0)
            ended();
    }
    beside_a_flood();
    CHECK(nof_driver_counted[NOF_DRIVER_NIC] > 0 && nof_driver_counted[NOF_DRIVER_DECLINED] > 0 &&
          nof_driver_counted[NOF_DRIVER_OFF] > 0);
    return t_end();
}

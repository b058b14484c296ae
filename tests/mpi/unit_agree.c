/* SPDX-License-Identifier: BSD-3-Clause */
/* Who waits asks a few at a time, also of a multicast, and everybody in turn. Who is in MPI_Finalize says so of what it has not
 * begun; in MPI_COMM_WORLD not of blocking collectives, since it begins such itself. Who has freed a communicator says so of that, also
 * when it is gone. */
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "coll/agree.h"
#include "coll/coll_abort.h"
#include "coll/left.h"
#include "coll/steps/step.h"
#include "nof/status.h"

enum { RANKS = 100, AT_ONCE = 16, SENDER = 7, PLACE = 5 };

struct nof_lib nof_lib = {.world_rank = SENDER, .world_size = RANKS};
struct nof_claims nof_chan_claims;
static struct nof_group everybody = {.size = RANKS, .rank = SENDER};
static int told[RANKS], told_count, last_status;

static void tell_failure(int to, const struct nof_chan_failure *failure)
{
    told[to]++;
    told_count++;
    last_status = failure->status;
}

static const struct nof_chan channel = {.tell_failure = tell_failure};
const struct nof_chan *nof_chan_to_all = &channel;
static struct nof_comm world = {.group = &everybody, .rank = SENDER, .ctx = 0, .chan = &channel};
static struct nof_comm comm = {.group = &everybody, .rank = SENDER, .ctx = 64, .chan = &channel};
static bool comm_lives = true;

const struct nof_chan *nof_chan_choose(const struct nof_comm *c)
{
    return c->chan;
}
struct nof_comm *nof_comm_world(void)
{
    return &world;
}
struct nof_comm *nof_comm_of_coll_ctx(uint32_t coll_ctx)
{
    return coll_ctx == nof_comm_coll_ctx(&world)                ? &world
           : comm_lives && coll_ctx == nof_comm_coll_ctx(&comm) ? &comm
                                                                : NULL;
}
struct nof_chan_failure nof_coll_abort_of(const struct nof_sched *s, bool local)
{
    (void)local;
    return (struct nof_chan_failure){.ctx = nof_comm_coll_ctx(s->comm), .tag = s->tag, .number = s->number};
}
struct nof_match_entry *nof_matcher_find(const struct nof_matcher *m, uint32_t ctx, int32_t source,
                                         int32_t tag)
{
    (void)m, (void)ctx, (void)source, (void)tag;
    return NULL;
}
void nof_chan_say_no_more(const struct nof_chan_failure *question, bool by_nic, bool by_memory)
{
    (void)question, (void)by_nic, (void)by_memory;
}

/* A few at a time until all others have been asked; in_group: each once, and it is said when all have been. */
static void all_in_turn(struct nof_sched *s, bool in_group)
{
    memset(told, 0, sizeof(told));
    for (int asked = 0; asked < RANKS - 1; asked += AT_ONCE) {
        int left = RANKS - 1 - asked;
        told_count = 0;
        nof_coll_agree_ask(s);
        check(told_count == (in_group && left < AT_ONCE ? left : AT_ONCE));
        check(last_status == NOF_EAGAIN);
        check((s->ask_member != 0) == (in_group && left > AT_ONCE));
    }
    for (int rank = 0; rank < RANKS; rank++)
        check(rank == SENDER ? told[rank] == 0 : in_group ? told[rank] == 1 : told[rank] > 0);
}

static void asks(void)
{
    struct nof_chan_group *group = (void *)&everybody; /* is not looked at */
    struct nof_step cast = {.kind = NOF_SCHED_SEND, .peer = SENDER, .multicast = {.group = group}};
    struct nof_step each[RANKS];
    struct nof_sched s = {.comm = &comm, .rank = SENDER, .size = RANKS, .steps = &cast, .count = 1};
    all_in_turn(&s, true);
    all_in_turn(&s, true);
    for (int rank = 0; rank < RANKS; rank++)
        each[rank] = (struct nof_step){.kind = NOF_SCHED_RECV, .peer = rank};
    s = (struct nof_sched){.comm = &comm, .rank = SENDER, .size = RANKS, .steps = each, .count = RANKS};
    all_in_turn(&s, false);
}

static bool never_comes(const struct nof_comm *of, uint32_t tag, uint32_t number)
{
    const struct nof_chan_failure question = {
        .ctx = nof_comm_coll_ctx(of), .tag = (int32_t)tag, .number = number, .status = NOF_EAGAIN, .rank = 1};
    told_count = 0;
    nof_coll_agree_answer(&question);
    check(told_count == 0 || last_status == NOF_ENOENT);
    return told_count == 1;
}

static uint32_t kept_tag(uint32_t place, uint32_t number)
{
    return NOF_COMM_KEPT_TAG + place * NOF_COMM_KEPT_STARTS + number % NOF_COMM_KEPT_STARTS;
}

static void gone(void)
{
    comm_lives = true;
    nof_left_comm(nof_comm_coll_ctx(&comm));
    check(comm.kept.begun == NULL && comm.kept.made == 0);
    comm_lives = false;
}

/* Before MPI_Finalize: of a communicator that was freed, which some request may still hold; then of one that is gone. */
static void freed(void)
{
    const uint32_t started = 2 * NOF_COMM_COLL_TAGS;
    comm.coll_seq = comm.coll_started = 3;
    for (uint32_t place = 0; place < 100; place++) /* more than there is room for at first */
        check(nof_kept_make(&comm.kept) == place);
    nof_kept_begins(&comm.kept, PLACE, 2 * NOF_COMM_KEPT_STARTS + 3);
    nof_kept_begins(&comm.kept, PLACE + 1, NOF_KEPT_UNKNOWN);
    check(!never_comes(&comm, 3, 0) && !never_comes(&comm, started + 3, 0));
    comm.freed = true;
    check(!never_comes(&comm, 2, 0) && never_comes(&comm, 3, 0) && never_comes(&comm, 0, 1));
    check(!never_comes(&comm, started + 2, 0) && never_comes(&comm, started + 3, 0));
    check(!never_comes(&comm, kept_tag(PLACE, 4), 2 * NOF_COMM_KEPT_STARTS + 4)); /* may yet be started */
    gone();
    check(!never_comes(&comm, 2, 0) && never_comes(&comm, 3, 0) && !never_comes(&world, 3, 0));
    check(never_comes(&comm, kept_tag(PLACE, 4), 2 * NOF_COMM_KEPT_STARTS + 4));
    check(!never_comes(&comm, kept_tag(PLACE, 3), 2 * NOF_COMM_KEPT_STARTS + 3));
    check(!never_comes(&comm, kept_tag(PLACE, 4), NOF_COMM_KEPT_STARTS + 4));
    check(!never_comes(&comm, kept_tag(PLACE + 1, 4), 4));
    check(never_comes(&comm, kept_tag(99, 1), 1) && !never_comes(&comm, kept_tag(100, 1), 1));
}

/* What is remembered is bounded, and the last count. */
static void many(void)
{
    const uint32_t ctx = comm.ctx;
    for (uint32_t i = 1; i <= NOF_LEFT_COMMS; i++) {
        comm.ctx = ctx + 64 * i;
        comm.coll_seq = 0;
        for (uint32_t k = 0; k <= NOF_LEFT_PLACES / 16; k++)
            (void)nof_kept_make(&comm.kept);
        gone();
    }
    check(never_comes(&comm, 0, 0) && never_comes(&comm, kept_tag(0, 1), 1));
    comm.ctx -= 64;
    check(never_comes(&comm, 0, 0) && never_comes(&comm, kept_tag(0, 1), 1));
    comm.ctx = ctx + 64;
    check(never_comes(&comm, 0, 0) && !never_comes(&comm, kept_tag(0, 1), 1));
    comm.ctx = ctx;
    check(!never_comes(&comm, 3, 0));
    for (uint32_t i = 1; i <= NOF_LEFT_COMMS; i++)
        gone();
}

/* Behind the last place the first comes again, if it is free: two with the same tags would take each other's messages. */
static void places(void)
{
    for (uint32_t place = 0; place < NOF_KEPT_MAX; place++) {
        check(nof_kept_make(&comm.kept) == place);
        if (place != 0 && place != 77)
            nof_kept_goes(&comm.kept, place);
    }
    nof_kept_begins(&comm.kept, 0, 5);
    check(nof_kept_make(&comm.kept) == NOF_KEPT_NO_PLACE && nof_kept_begun(&comm.kept, 0) == 5);
    for (uint32_t place = 1; place < 77; place++)
        check(nof_kept_make(&comm.kept) == place);
    check(nof_kept_make(&comm.kept) == NOF_KEPT_NO_PLACE);
    nof_kept_goes(&comm.kept, NOF_KEPT_NO_PLACE);
    check(nof_kept_make(&comm.kept) == 78);
    nof_kept_goes(&comm.kept, 0);
    comm.kept.made = NOF_KEPT_MAX;
    check(nof_kept_make(&comm.kept) == 0 && nof_kept_begun(&comm.kept, 0) == 0);
    free(comm.kept.begun);
    comm.kept = (struct nof_kept){0};
}

static void in_finalize(void)
{
    const uint32_t started = 2 * NOF_COMM_COLL_TAGS;
    comm_lives = true;
    comm.freed = false;
    comm.ctx = 6400;
    world.coll_started = comm.coll_started = comm.coll_seq = world.coll_seq = 3;
    check(nof_kept_make(&comm.kept) == 0 && nof_kept_make(&world.kept) == 0);
    check(!never_comes(&comm, 3, 0) && !never_comes(&comm, kept_tag(0, 1), 1));
    nof_left_all();
    check(!never_comes(&comm, 2, 0) && never_comes(&comm, 3, 0));
    check(!never_comes(&comm, started + 2, 0) && never_comes(&comm, started + 3, 0));
    check(!never_comes(&world, started + 2, 0) && never_comes(&world, started + 3, 0));
    check(!never_comes(&world, 2, 0) && !never_comes(&world, 3, 0));
    check(never_comes(&comm, kept_tag(0, 1), 1) && never_comes(&world, kept_tag(0, 1), 1));
    nof_kept_begins(&world.kept, 0, 1);
    check(!never_comes(&world, kept_tag(0, 1), 1) && never_comes(&world, kept_tag(0, 2), 2));
    nof_left_comm(nof_comm_coll_ctx(&world)); /* as of a communicator that failed before it had a context */
    check(world.kept.begun != NULL);
    free(world.kept.begun);
    free(comm.kept.begun);
}

int main(void)
{
    asks();
    freed();
    many();
    places();
    in_finalize();
    return 0;
}

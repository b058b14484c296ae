/* SPDX-License-Identifier: BSD-3-Clause */
/* Who waits asks a few at a time, also of a multicast, and everybody in turn. Who is in MPI_Finalize says so of what it has not
 * begun: of a place as the last who said it, until the communicator is gone; in MPI_COMM_WORLD of non-blocking collectives
 * alone, since it begins blocking ones there itself. */
#include <string.h>

#include "../check.h"
#include "coll/agree.h"
#include "coll/coll_abort.h"
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

const struct nof_chan *nof_chan_choose(const struct nof_comm *c)
{
    return c->chan;
}
struct nof_comm *nof_comm_world(void)
{
    return &world;
}
void nof_handle_each(const struct nof_handle_table *table, void (*visit)(void *object, void *arg), void *arg)
{
    (void)table;
    visit(&comm, arg);
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

static void places(void)
{
    const uint32_t tag = NOF_COMM_KEPT_TAG + PLACE * NOF_COMM_KEPT_STARTS;
    for (uint32_t moved = 0; moved < 4; moved++)
        nof_coll_agree_leave_place(&comm, PLACE, moved);
    for (uint32_t other = 0; other < 100; other++) /* more than there is room for at first */
        nof_coll_agree_leave_place(&comm, PLACE + 1 + other, 1000);
    check(!never_comes(&comm, tag + 4, 4));
    nof_coll_agree_leave();
    check(never_comes(&comm, tag + 4, 4) && !never_comes(&comm, tag + 3, 3));
    check(!never_comes(&world, tag + 4, 4));
    nof_coll_agree_forget_places(nof_comm_coll_ctx(&world));
    check(never_comes(&comm, tag + 4, 4));
    nof_coll_agree_forget_places(nof_comm_coll_ctx(&comm));
    check(!never_comes(&comm, tag + 4, 4));
    nof_coll_agree_forget_places(nof_comm_coll_ctx(&comm));
}

static void of_world(void)
{
    const uint32_t started = 2 * NOF_COMM_COLL_TAGS;
    world.coll_started = comm.coll_started = comm.coll_seq = world.coll_seq = 3;
    check(!never_comes(&comm, 2, 0) && never_comes(&comm, 3, 0));
    check(!never_comes(&comm, started + 2, 0) && never_comes(&comm, started + 3, 0));
    check(!never_comes(&world, started + 2, 0) && never_comes(&world, started + 3, 0));
    check(!never_comes(&world, 2, 0) && !never_comes(&world, 3, 0));
}

int main(void)
{
    asks();
    places();
    of_world();
    return 0;
}

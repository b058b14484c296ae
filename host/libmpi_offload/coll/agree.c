/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/agree.h"

#include "base/error.h"
#include "coll/coll_abort.h"
#include "coll/left.h"
#include "coll/steps/step.h"
#include "nof/status.h"

#define ASKED_AT_ONCE 16
#define REMEMBERED 64u
#define HASHES 251u /* a prime, of which powers of two have 50 different remainders */

static struct ended {
    struct nof_chan_failure failure; /* status NOF_OK: without one; rank: whose */
    bool by_nic, by_memory; /* how messages went, to one rank or another */
} ended[REMEMBERED];
static uint32_t ended_count;

static void agree(struct nof_sched *s, enum nof_coll_call call, int root, uint64_t bytes, unsigned op)
{
    uint64_t sum = 17u * (uint64_t)call;
    if (s->comm->remote == NULL)
        sum += 7u * (uint64_t)root + 31u * (uint64_t)op + bytes % HASHES;
    s->agreed = (uint8_t)(1 + sum % HASHES);
}

void nof_coll_agree(struct nof_sched *s, enum nof_coll_call call, int root, uint64_t bytes)
{
    agree(s, call, root, bytes, 0);
}

void nof_coll_agree_reduction(struct nof_sched *s, enum nof_coll_call call, int root,
                              const struct nof_reduction *r)
{
    bool user = r->op->kind == NOF_OP_USER;
    unsigned type = user ? 0 : r->type->basic;
    agree(s, call, root, (uint64_t)r->count * r->type->size,
          8 * r->op->kind + 2 * type + (user && r->op->commutative));
}

uint64_t nof_coll_agree_each(const struct nof_blocks *blocks)
{
    bool alike = blocks->counts.kind == NOF_COUNTS_ONE && blocks->types == NULL;
    return alike ? (uint64_t)blocks->counts.one * blocks->type->size : NOF_EACH_OTHER;
}

void nof_coll_agree_exchange(struct nof_sched *s, enum nof_coll_call call, uint64_t sends, uint64_t receives)
{
    bool alike = sends != NOF_EACH_OTHER && receives != NOF_EACH_OTHER;
    agree(s, call, 0, alike ? sends % HASHES + 3 * (receives % HASHES) : 0, 0);
}

void nof_coll_agree_way(struct nof_sched *s, unsigned way)
{
    if (s->agreed != 0 && s->comm->remote == NULL)
        s->agreed = (uint8_t)(1 + (s->agreed - 1 + 13 * (way + 1)) % HASHES);
}

static bool ask(const struct nof_sched *s, bool local, int peer)
{
    const struct nof_comm *comm = local ? s->comm->local : s->comm;
    const struct nof_chan *channel = nof_chan_of(comm);
    int to = nof_comm_peer_world(comm, peer);
    if (to == nof_lib.world_rank || channel->tell_failure == NULL)
        return false;
    struct nof_chan_failure question = nof_coll_abort_of(s, local);
    question.status = NOF_EAGAIN;
    question.rank = nof_lib.world_rank;
    question.agreed = s->agreed;
    channel->tell_failure(to, &question);
    return true;
}

void nof_coll_agree_ask(struct nof_sched *s)
{
    int asked = 0, last = MPI_UNDEFINED;
    for (size_t i = 0; i < s->count && asked < ASKED_AT_ONCE; i++) {
        const struct nof_step *step = &s->steps[s->ask_at % s->count];
        bool to_group = step->multicast.group != NULL && step->kind == NOF_SCHED_SEND;
        while (to_group && s->ask_member < nof_comm_size(s->comm) && asked < ASKED_AT_ONCE)
            asked += ask(s, false, s->ask_member++); /* any of them may be in the group */
        if (to_group && s->ask_member < nof_comm_size(s->comm))
            return;
        s->ask_member = 0;
        s->ask_at++;
        if (to_group || !nof_step_transfers(step) || step->peer == last)
            continue;
        last = step->peer;
        asked += ask(s, step->local, last);
    }
}

void nof_coll_agree_ended(const struct nof_sched *s)
{
    struct ended *last = &ended[ended_count++ % REMEMBERED];
    last->failure = nof_coll_abort_of(s, false);
    last->failure.agreed = s->agreed;
    last->by_nic = nof_chan_of(s->comm) == nof_chan_to_all;
    last->by_memory = !last->by_nic || s->comm->mixed;
}

/* This rank has come to its end in what the other one waits in, and both called the same: but for a count that is 0 here and
 * not there, of those that may differ from rank to rank. Then a message was sent that nobody has received, or one is waited for
 * that was not sent: which of what is under way still none is, the order of messages says. */
static bool left_unread(const struct nof_chan_failure *question)
{
    return question->unread ||
           nof_matcher_find(&nof_chan_claims.memory, question->ctx, question->rank, question->tag) != NULL ||
           nof_matcher_find(&nof_chan_claims.nic, question->ctx, question->rank, question->tag) != NULL;
}

void nof_coll_agree_answer(const struct nof_chan_failure *question)
{
    for (uint32_t i = 0; i < REMEMBERED && i < ended_count; i++) {
        struct nof_chan_failure failure = ended[i].failure;
        if (failure.ctx != question->ctx || failure.tag != question->tag ||
            failure.number != question->number)
            continue;
        bool both = failure.agreed != 0 && question->agreed != 0;
        if (failure.status == NOF_OK && both &&
            (failure.agreed != question->agreed || left_unread(question))) {
            failure.status = NOF_EDISAGREE;
            failure.rank = nof_lib.world_rank;
        }
        if (failure.status != NOF_OK)
            nof_chan_to_all->tell_failure(question->rank, &failure);
        else if (both)
            nof_chan_say_no_more(question, ended[i].by_nic, ended[i].by_memory);
        return;
    }
    if (nof_left_before(question)) {
        struct nof_chan_failure failure = *question;
        failure.status = NOF_ENOENT;
        failure.rank = nof_lib.world_rank;
        nof_chan_to_all->tell_failure(question->rank, &failure);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/left.h"

#include <stdlib.h>

#include "comm/comm.h"

/* How many of each kind a communicator's rank has begun. */
struct begun {
    uint32_t ctx; /* for collectives; 0: none */
    uint32_t blocking, started;
    struct nof_kept kept;
};

static bool leaving;
static struct begun gone[NOF_LEFT_COMMS];
static uint32_t gone_count, oldest;
static uint64_t places;

void nof_left_all(void)
{
    leaving = true;
}

static void forget_places(struct begun *b)
{
    places -= b->kept.room;
    free(b->kept.begun);
    b->kept = (struct nof_kept){0};
}

void nof_left_comm(uint32_t coll_ctx)
{
    struct nof_comm *comm = nof_comm_of_coll_ctx(coll_ctx);
    if (comm == NULL || comm == nof_comm_world()) /* its context is also that of those that have none yet */
        return;
    struct begun *b = &gone[gone_count++ % NOF_LEFT_COMMS];
    forget_places(b);
    *b = (struct begun){coll_ctx, comm->coll_seq, comm->coll_started, comm->kept};
    comm->kept = (struct nof_kept){0};
    places += b->kept.room;
    if (gone_count - oldest > NOF_LEFT_COMMS)
        oldest = gone_count - NOF_LEFT_COMMS;
    while (places > NOF_LEFT_PLACES && oldest < gone_count)
        forget_places(&gone[oldest++ % NOF_LEFT_COMMS]);
}

/* The run has a number behind the last that was begun. */
static bool is_behind(const struct begun *b, const struct nof_chan_failure *question)
{
    uint32_t tag = (uint32_t)question->tag;
    if (tag >= NOF_COMM_KEPT_TAG) {
        uint32_t last = nof_kept_begun(&b->kept, (tag - NOF_COMM_KEPT_TAG) / NOF_COMM_KEPT_STARTS);
        return last != NOF_KEPT_UNKNOWN && (int32_t)(question->number - last) > 0;
    }
    bool started = nof_comm_coll_is_started(question->tag);
    uint32_t at = started ? tag - 2 * NOF_COMM_COLL_TAGS : tag, next = started ? b->started : b->blocking;
    return (started || tag < NOF_COMM_COLL_TAGS) &&
           (int32_t)(question->number * NOF_COMM_COLL_TAGS + at - next) >= 0;
}

/* Of one that is there: no more of this kind begin. */
static bool ends(const struct nof_comm *comm, int tag)
{
    if ((uint32_t)tag >= NOF_COMM_KEPT_TAG)
        return leaving;
    bool started = nof_comm_coll_is_started(tag);
    return (comm->freed && (comm->compiled == 0 || started)) ||
           (leaving && (comm != nof_comm_world() || started));
}

bool nof_left_before(const struct nof_chan_failure *question)
{
    struct nof_comm *comm = nof_comm_of_coll_ctx(question->ctx);
    if (comm != NULL) {
        const struct begun b = {question->ctx, comm->coll_seq, comm->coll_started, comm->kept};
        return ends(comm, question->tag) && is_behind(&b, question);
    }
    for (uint32_t i = gone_count; i-- > 0 && gone_count - i <= NOF_LEFT_COMMS;)
        if (gone[i % NOF_LEFT_COMMS].ctx == question->ctx)
            return is_behind(&gone[i % NOF_LEFT_COMMS], question);
    return false;
}

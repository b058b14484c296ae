/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/coll_abort.h"

#include <stdlib.h>

#include "coll/step.h"
#include "nof/status.h"

#define REMEMBERED 16u

static struct remembered {
    struct nof_chan_failure failure;
    int code;
} last[REMEMBERED];
static uint32_t last_count;

struct nof_coll_blame nof_coll_blame(int code, int peer)
{
    struct nof_coll_blame blame = {.status = NOF_ECANCELED, .rank = nof_lib.world_rank};
    switch (nof_error_class(code)) {
    case MPIX_ERR_PROC_FAILED:
        blame.status = NOF_EPEERDEAD;
        blame.rank = peer == MPI_UNDEFINED ? nof_lib.world_rank : peer;
        break;
    case MPI_ERR_BUFFER:
        blame.status = NOF_EFAULT;
        break;
    case MPI_ERR_NO_MEM:
        blame.status = NOF_ENOMEM;
        break;
    default:
        break;
    }
    return blame;
}

static struct nof_chan_failure failure_of(const struct nof_sched *s, bool local)
{
    return (struct nof_chan_failure){.ctx = nof_comm_coll_ctx(local ? s->comm->local : s->comm),
                                     .tag = local ? s->local_tag : s->tag,
                                     .number = s->number,
                                     .status = s->blame.status,
                                     .rank = s->blame.rank};
}

void nof_coll_abort_tell(struct nof_sched *s)
{
    if (s->blame.status == NOF_OK || s->told)
        return;
    s->told = true;
    bool *told = calloc((size_t)nof_lib.world_size, sizeof(*told)); /* NULL: some are told more than once */
    for (size_t i = 0; i < s->count; i++) {
        const struct nof_step *step = &s->steps[i];
        if (!nof_step_transfers(step))
            continue;
        const struct nof_comm *comm = step->local ? s->comm->local : s->comm;
        int to = nof_comm_peer_world(comm, step->peer);
        const struct nof_chan *channel = nof_chan_of(comm, step->peer);
        if (to == nof_lib.world_rank || channel->tell_failure == NULL || (told != NULL && told[to]))
            continue;
        struct nof_chan_failure failure = failure_of(s, step->local);
        channel->tell_failure(to, &failure);
        if (told != NULL)
            told[to] = true;
    }
    free(told);
}

static bool same(const struct nof_chan_failure *a, const struct nof_chan_failure *b)
{
    return a->ctx == b->ctx && a->tag == b->tag && a->number == b->number;
}

bool nof_coll_abort_is_of(const struct nof_sched *s, const struct nof_chan_failure *failure)
{
    struct nof_chan_failure own = failure_of(s, false);
    if (same(&own, failure))
        return true;
    if (s->comm->local == NULL)
        return false;
    own = failure_of(s, true);
    return same(&own, failure);
}

void nof_coll_abort_remember(const struct nof_chan_failure *failure, int code)
{
    last[last_count++ % REMEMBERED] = (struct remembered){*failure, code};
}

int nof_coll_abort_heard(struct nof_sched *s)
{
    for (uint32_t i = 0; i < REMEMBERED; i++)
        if (last[i].code != MPI_SUCCESS && nof_coll_abort_is_of(s, &last[i].failure)) {
            s->blame = (struct nof_coll_blame){last[i].failure.status, last[i].failure.rank};
            return last[i].code;
        }
    return MPI_SUCCESS;
}

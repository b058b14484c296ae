/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/coll_abort.h"

#include <stdlib.h>

#include "coll/steps/step.h"
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
    case MPI_ERR_ARG: /* of a message: the channel says it of EDISAGREE alone */
        blame.status = NOF_EDISAGREE;
        break;
    default:
        break;
    }
    return blame;
}

struct nof_chan_failure nof_coll_abort_of(const struct nof_sched *s, bool local)
{
    return (struct nof_chan_failure){.ctx = nof_comm_coll_ctx(local ? s->comm->local : s->comm),
                                     .tag = local ? s->local_tag : s->tag,
                                     .number = s->number,
                                     .status = s->blame.status,
                                     .rank = s->blame.rank};
}

/* told: by job rank; NULL: some are told more than once. */
static void tell(struct nof_sched *s, bool local, int peer, bool *told)
{
    const struct nof_comm *comm = local ? s->comm->local : s->comm;
    int to = nof_comm_peer_world(comm, peer);
    const struct nof_chan *channel = nof_chan_of(comm);
    if (to == nof_lib.world_rank || channel->tell_failure == NULL || (told != NULL && told[to]))
        return;
    struct nof_chan_failure failure = nof_coll_abort_of(s, local);
    channel->tell_failure(to, &failure);
    if (told != NULL)
        told[to] = true;
}

static void tell_group(struct nof_sched *s, bool local, bool *told)
{
    const struct nof_comm *comm = local ? s->comm->local : s->comm;
    for (int i = 0; i < nof_comm_peers(comm)->size; i++)
        tell(s, local, i, told);
}

/* Those that its steps have messages with; beside: if these go by memory. */
static void tell_peers(struct nof_sched *s, bool beside, bool *told)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct nof_step *step = &s->steps[i];
        if (!nof_step_transfers(step) || (beside && !nof_step_by_memory(s, step)))
            continue;
        if (step->multicast.group != NULL)
            tell_group(s, false, told);
        else
            tell(s, step->local, step->peer, told);
    }
}

void nof_coll_abort_tell(struct nof_sched *s)
{
    if (s->blame.status == NOF_OK || s->told)
        return;
    s->told = true;
    bool *told = calloc((size_t)nof_lib.world_size, sizeof(*told));
    /* Who calls something else may wait for ranks whose schedules have nothing to do with it; and of a schedule that could not
     * be built nobody knows with whom it would have had messages. */
    bool other = s->blame.status == NOF_EDISAGREE && s->blame.rank == nof_lib.world_rank;
    if (other || s->build_error != MPI_SUCCESS) {
        tell_group(s, false, told);
        if (s->comm->local != NULL)
            tell_group(s, true, told);
    }
    tell_peers(s, false, told);
    free(told);
}

void nof_coll_abort_tell_beside(struct nof_sched *s)
{
    if (!s->comm->mixed)
        return;
    bool *told = calloc((size_t)nof_lib.world_size, sizeof(*told));
    tell_peers(s, true, told);
    free(told);
}

static bool same(const struct nof_chan_failure *a, const struct nof_chan_failure *b)
{
    return a->ctx == b->ctx && a->tag == b->tag && a->number == b->number;
}

bool nof_coll_abort_is_of(const struct nof_sched *s, const struct nof_chan_failure *failure)
{
    struct nof_chan_failure own = nof_coll_abort_of(s, false);
    if (same(&own, failure))
        return true;
    if (s->comm->local == NULL)
        return false;
    own = nof_coll_abort_of(s, true);
    return same(&own, failure);
}

void nof_coll_abort_remember(const struct nof_chan_failure *failure, int code)
{
    last[last_count++ % REMEMBERED] = (struct remembered){*failure, code};
}

uint32_t nof_coll_abort_remembered(void)
{
    return last_count;
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Which operations of an origin wait for which. MPI asks it of accumulates only; but what reads through a put that its origin
 * has seen end, or adds to it, means that put's bytes, and a put whose payload comes by itself can be overtaken. */
#include "rma/rma_work.h"

void nof_rma_turn_join(struct nof_rma_peer *peer, struct nof_rma_work *work)
{
    work->queued = true;
    nof_rma_work_append(&peer->first, &peer->last, work);
}

void nof_rma_turn_leave(struct nof_rma_peer *peer, struct nof_rma_work *work)
{
    struct nof_rma_work *before = NULL;
    for (struct nof_rma_work *at = peer->first; at != work; at = at->next)
        before = at;
    if (before == NULL)
        peer->first = work->next;
    else
        before->next = work->next;
    if (peer->last == work)
        peer->last = before;
    work->queued = false;
}

/* Until its description has come, an operation may touch anything. */
static bool in_the_way(const struct nof_rma_work *earlier, const struct nof_rma_work *work)
{
    if (earlier->command.kind == NOF_RMA_GET && work->command.kind == NOF_RMA_GET)
        return false;
    return !earlier->known || (earlier->from < work->to && work->from < earlier->to);
}

bool nof_rma_turn_has_come(const struct nof_rma_peer *peer, const struct nof_rma_work *work)
{
    unsigned n = 0;
    for (const struct nof_rma_work *at = peer->first; at != NULL && at != work; at = at->next)
        if (++n >= NOF_RMA_TURNS || in_the_way(at, work))
            return false;
    return true;
}

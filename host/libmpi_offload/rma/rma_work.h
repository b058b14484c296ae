/* SPDX-License-Identifier: BSD-3-Clause */
/* What a target has still to do for a command: lists of it. */
#ifndef NOF_MPI_RMA_WORK_H
#define NOF_MPI_RMA_WORK_H

#include <stdlib.h>

#include "rma/rma.h"

struct nof_rma_work {
    struct nof_rma_step step; /* its transfer, or that it can be touched */
    struct nof_win *win;
    int origin;
    struct nof_rma_command command;
    struct nof_type *type; /* a reference; NULL: not known yet, or the command is refused */
    void *desc; /* malloc'ed */
    void *payload; /* malloc'ed */
    /* While it is under way (rma_turn.c): */
    bool queued; /* in the peer's list */
    bool known; /* what it touches: [from, to) */
    bool ready; /* it may begin in its turn */
    bool begun;
    bool aside; /* a put whose payload is received before its turn */
    uint64_t from, to;
    struct nof_rma_work *next;
    /* While it waits for what a delta receive hides (rma_settle.c): */
    bool waits;
    struct nof_rma_work *waits_next;
};

static inline void nof_rma_work_free(struct nof_rma_work *work)
{
    if (work->type != NULL)
        nof_type_release(work->type);
    free(work->desc);
    free(work->payload);
    free(work);
}

/* Of rma_turn.c: operations of one origin that touch the same bytes, one after the other. Those that end here at once are never
 * in the list. */

/* As many at most have begun; what is behind them waits, so that no look at the list is long. */
#define NOF_RMA_TURNS 64u
void nof_rma_turn_join(struct nof_rma_peer *peer, struct nof_rma_work *work);
void nof_rma_turn_leave(struct nof_rma_peer *peer, struct nof_rma_work *work);
/* Nothing that came before it and is under way is in its way. */
bool nof_rma_turn_has_come(const struct nof_rma_peer *peer, const struct nof_rma_work *work);

/* Of rma_settle.c, of a command whose range was checked. */

/* Its place can be touched: no delta receive hides any of it. */
bool nof_rma_settled(const struct nof_rma_work *work);
/* step.then() is called from a poll once that is so, and may free it. */
void nof_rma_wait_settled(struct nof_rma_work *work);
/* Before this process writes there: what of it a delta send guards is open, and leaves with that message's end. */
void nof_rma_write_here(const struct nof_rma_work *work);
/* The window ends without them. */
void nof_rma_drop_waiting(const struct nof_win *win);

static inline void nof_rma_work_append(struct nof_rma_work **first, struct nof_rma_work **last,
                                       struct nof_rma_work *work)
{
    work->next = NULL;
    if (*last == NULL)
        *first = work;
    else
        (*last)->next = work;
    *last = work;
}

/* The oldest; the list is not empty. */
static inline struct nof_rma_work *nof_rma_work_take(struct nof_rma_work **first, struct nof_rma_work **last)
{
    struct nof_rma_work *work = *first;
    *first = work->next;
    if (*first == NULL)
        *last = NULL;
    return work;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What a target has still to do for a command: lists of it. */
#ifndef NOF_MPI_RMA_WORK_H
#define NOF_MPI_RMA_WORK_H

#include "rma/rma.h"

struct nof_rma_work {
    struct nof_rma_step step; /* its transfer */
    struct nof_win *win;
    int origin;
    struct nof_rma_command command;
    struct nof_type *type; /* a reference; NULL: not known yet, or the command is refused */
    void *desc; /* malloc'ed */
    void *payload; /* malloc'ed */
    bool queued; /* in the peer's list of accumulates */
    bool ready; /* an accumulate whose payload is here */
    struct nof_rma_work *next;
};

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

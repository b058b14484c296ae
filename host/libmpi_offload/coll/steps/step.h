/* SPDX-License-Identifier: BSD-3-Clause */
/* What a schedule is made of: its steps and temporary buffers. step.c adds them (the builders of schedule.h), schedule.c goes
 * through them, compile.c makes a program of them. */
#ifndef NOF_MPI_STEP_H
#define NOF_MPI_STEP_H

#include "chan/chan.h"
#include "coll/schedule.h"

enum nof_step_kind {
    NOF_SCHED_SEND,
    NOF_SCHED_RECV,
    NOF_SCHED_COPY,
    NOF_SCHED_REDUCE,
    NOF_SCHED_UPDATE,
    NOF_SCHED_FENCE,
    NOF_SCHED_TURN
};

struct nof_step {
    enum nof_step_kind kind;
    bool local; /* SEND, RECV: peer is a rank of comm->local */
    bool exact; /* SEND, RECV: see nof_sched_exact() */
    size_t meets; /* SEND: see nof_sched_meets() */
    int peer;
    struct nof_group_step multicast; /* SEND, RECV: to or from the whole group; peer is the root */
    const void *from; /* SEND, COPY, REDUCE: in */
    void *to; /* RECV, COPY, REDUCE: inout */
    size_t count;
    size_t to_count; /* COPY */
    struct nof_type *type;
    struct nof_type *to_type; /* COPY */
    struct nof_op *op;
    const struct nof_section *section; /* UPDATE: of what is `from` now and was `to` */
};

static inline bool nof_step_transfers(const struct nof_step *step)
{
    return step->kind == NOF_SCHED_SEND || step->kind == NOF_SCHED_RECV;
}

/* All steps, and the temporaries but where something may still read them. */
void nof_step_free_all(struct nof_sched *s);

/* A transfer that is not the NIC's, of a mixed communicator. */
static inline bool nof_step_by_memory(const struct nof_sched *s, const struct nof_step *step)
{
    const struct nof_comm *comm = step->local ? s->comm->local : s->comm;
    return comm->mixed && nof_step_transfers(step) && step->multicast.group == NULL &&
           nof_chan_of_coll(comm, step->peer, s->kept || s->request != NULL) != nof_chan_to_all;
}

/* Where the host waits for what is before it. */
static inline bool nof_step_parts(const struct nof_step *step)
{
    return step->kind == NOF_SCHED_FENCE || step->kind == NOF_SCHED_TURN;
}

/* It is done at once, by this rank alone. */
static inline bool nof_step_is_own(const struct nof_step *step)
{
    return !nof_step_transfers(step) && !nof_step_parts(step);
}

#endif

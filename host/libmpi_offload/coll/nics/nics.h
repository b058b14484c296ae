/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ranks of a communicator share a NIC: their messages to each other take no link. All ranks know the same.
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_COLL_NICS_H
#define NOF_MPI_COLL_NICS_H

#include "coll/schedule.h"

struct nof_nics {
    int count; /* numbered in the order of their first ranks */
    bool shared; /* two or more, and some of them by two ranks or more */
    bool neighbours; /* the ranks of each are neighbours: an operation need not commute */
    bool even; /* as many ranks on each */
    int mine; /* this rank's NIC */
    int self; /* this rank among those on it */
    int here_count;
    int *nic; /* of each rank */
    int *number; /* of each rank, among those on its NIC */
    int *leader; /* the first rank of each NIC */
    int *here; /* ranks on this rank's NIC, in their order */
    int *chosen; /* room for nof_nics_leaders() and nof_nics_lane() */
};

/* Of the communicator of s, which lie there from the first call on. NULL: an inter-communicator, a part of a communicator
 * (nof_sched_among()), fewer than three ranks, no NIC; or it cannot be known, which s remembers as an error. */
const struct nof_nics *nof_nics_of(struct nof_sched *s);

/* The same where some of its NICs, two or more, are shared; else NULL. */
const struct nof_nics *nof_nics_shared(struct nof_sched *s);

/* The same of an operation that need not commute: of NICs whose ranks are neighbours. NULL also where NOF_REDUCTION_ORDER says
 * that results must not depend on it. */
const struct nof_nics *nof_nics_for_reduction(struct nof_sched *s, const struct nof_op *op);

/* From here on peers are those on this rank's NIC, or these leaders; all ranks again. */
void nof_nics_here(struct nof_sched *s, const struct nof_nics *nics);
void nof_nics_between(struct nof_sched *s, const struct nof_nics *nics, const int *leaders);
void nof_nics_all(struct nof_sched *s);

/* A rank of each NIC: `root` of its own, the first of the others. It holds until the next call. */
const int *nof_nics_leaders(const struct nof_nics *nics, int root);

/* Of an even one: the rank of each NIC that has this rank's number there. It holds until the next call. */
const int *nof_nics_lane(const struct nof_nics *nics, int ranks);

#endif

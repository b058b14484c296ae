/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive halving, for operations that commute: a vector is cut into one piece per taker, and after a
 * logarithmic number of rounds every taker has its piece reduced over all ranks, having sent and
 * received less than one vector.
 *
 *   plan() -> fold() -> reduce() -> ... what the collective wants of the pieces ...
 *
 * Takers are a power of two. The ranks beyond form pairs with as many of the first: the odd one of a
 * pair folds its vector into the even one's and waits. */
#ifndef NOF_MPI_COLL_HALVING_H
#define NOF_MPI_COLL_HALVING_H

#include "coll/coll.h"

struct nof_halving {
    struct nof_sched *s;
    struct nof_type *type;
    int top; /* this rank is the first taker */
    int takers; /* a power of two */
    int pairs;
    int self; /* which taker this rank is; -1: it folds */
    void *partial; /* the vector that is reduced in place */
    void *incoming; /* a temporary of the same length */
    const size_t *bounds; /* piece of taker t: elements [bounds[t], bounds[t + 1]) */
};

/* Takers and pairs of a schedule's ranks; the rest of *h is the caller's to fill in. */
void nof_halving_plan(struct nof_halving *h, struct nof_sched *s, int top);

/* The rank of a taker, and that of its folded partner (MPI_UNDEFINED if it has none). */
int nof_halving_rank(const struct nof_halving *h, int taker);
int nof_halving_partner(const struct nof_halving *h, int taker);

/* Elements [bounds[first], bounds[last]) of a vector. */
struct nof_data nof_halving_pieces(const struct nof_halving *h, void *vector, int first, int last);

/* Reduce. r->in and r->out are not looked at: operands are in `partial`. */
void nof_halving_reduce(const struct nof_halving *h, const struct nof_reduction *r);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Which algorithm a collective uses: by the number of ranks and the bytes, from a table. A table is rows
 *
 *   COLLECTIVE  RANKS  BYTES  ALGORITHM
 *
 * of which the first fits that is for at least RANKS ranks, at most BYTES bytes (512, 64K, 1M, any), and an algorithm that
 * can do what is asked. `#` begins a comment. NOF_COLL_TABLE names a file with such rows; where none of them fits, the rows of
 * select.c count. NOF_ALLTOALL goes before both. BYTES are those of one block of an all-to-all, allgather, gather and
 * scatter (of an allgatherv their mean, of an alltoallv the largest that a rank receives), else of the whole vector.
 *
 * All ranks have to choose alike: the choice is part of what they agree on (agree.h). Why a table and not more:
 * docs/decisions/0031-selection.md. Threads: under the library's lock. */
#ifndef NOF_MPI_SELECT_H
#define NOF_MPI_SELECT_H

#include <stddef.h>
#include <stdint.h>

#include "coll/schedule.h"

/* X(ID, "collective", "algorithm", "what it does") */
#define NOF_ALGORITHMS(X) \
    X(ALLTOALL_BRUCK, "alltoall", "bruck", "blocks travel together, a logarithmic number of rounds") \
    X(ALLTOALL_BATCHED, "alltoall", "batched", "as many rounds of pairs at a time as have 32 KiB") \
    X(ALLTOALL_PAIRWISE, "alltoall", "pairwise", "one round of pairs at a time") \
    X(ALLTOALL_BARRIER, "alltoall", "barrier", "rounds of pairs with a barrier between them") \
    X(ALLTOALL_UNSCHEDULED, "alltoall", "unscheduled", "all messages at once") \
    X(ALLGATHER_BRUCK, "allgather", "bruck", "what a rank has doubles in each round") \
    X(ALLGATHER_RING, "allgather", "ring", "a block goes on to the next rank in each round") \
    X(ALLREDUCE_DOUBLING, "allreduce", "doubling", "whole vectors, by recursive doubling") \
    X(ALLREDUCE_HALVING, "allreduce", "halving", "pieces are halved, then doubled") \
    X(ALLREDUCE_RING, "allreduce", "ring", "pieces go round a ring twice") \
    X(ALLREDUCE_TREE, "allreduce", "tree", "a reduction in segments, then a broadcast") \
    X(BCAST_TREE, "bcast", "tree", "whole messages down a binomial tree") \
    X(BCAST_DOUBLING, "bcast", "doubling", "pieces down the tree, then handed on by doubling") \
    X(BCAST_RING, "bcast", "ring", "pieces down the tree, then round a ring") \
    X(REDUCE_TREE, "reduce", "tree", "segments up a binomial tree") \
    X(REDUCE_HALVING, "reduce", "halving", "pieces are halved, then gathered") \
    X(REDUCE_SCATTER_HALVING, "reduce_scatter", "halving", "pieces are halved") \
    X(REDUCE_SCATTER_PAIRWISE, "reduce_scatter", "pairwise", "operands of a block go straight to its rank") \
    X(REDUCE_SCATTER_ROOT, "reduce_scatter", "root", "a reduction at rank 0, then a scatter") \
    X(REDUCE_SCATTER_BLOCKS, "reduce_scatter", "blocks", "a reduction for each block") \
    X(GATHER_TREE, "gather", "tree", "packed blocks up a binomial tree") \
    X(GATHER_LINEAR, "gather", "linear", "each block straight to the root") \
    X(SCATTER_TREE, "scatter", "tree", "packed blocks down a binomial tree") \
    X(SCATTER_LINEAR, "scatter", "linear", "each block straight from the root")

enum nof_algorithm {
#define X(id, collective, name, help) NOF_##id,
    NOF_ALGORITHMS(X)
#undef X
        NOF_ALGORITHM_COUNT
};

/* A set of algorithms of one collective. */
#define NOF_CAN(algorithm) (1u << (algorithm))

/* Who chose: X(ID, "name", "whose row it was"). */
#define NOF_SELECTED_BY(X) \
    X(DEFAULT, "default", "by the library's own table") \
    X(TABLE, "table", "by the table that NOF_COLL_TABLE names") \
    X(ENVIRONMENT, "environment", "by NOF_ALLTOALL")

enum nof_selected_by {
#define X(id, name, help) NOF_SELECTED_BY_##id,
    NOF_SELECTED_BY(X)
#undef X
        NOF_SELECTED_BY_COUNT
};

/* NOF_COLL_TABLE and NOF_ALLTOALL. 0, or -1 and a sentence in error[size]. */
int nof_select_open(char *error, size_t size);
/* The rows of a text that is called `name`, as those of a file. */
int nof_select_read(const char *name, const char *text, char *error, size_t size);

/* One of `can`, which is not empty. ranks: of s. It becomes part of what the ranks of s agree on. */
enum nof_algorithm nof_select(struct nof_sched *s, size_t bytes, uint32_t can);
/* The same where other ranks may choose another of `can`: their messages are alike. */
enum nof_algorithm nof_select_alone(const struct nof_sched *s, size_t bytes, uint32_t can);
/* NOF_ALLTOALL asks for it. */
bool nof_select_asked(enum nof_algorithm algorithm);

/* How often so far. */
unsigned long long nof_select_counted(enum nof_algorithm algorithm);
unsigned long long nof_select_counted_by(enum nof_selected_by by);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The algorithms of collectives of which a table chooses one (select.h), by the names that it has for them; those of a collective
 * stand together. X(ID, "collective", "algorithm", "what it does") */
#ifndef NOF_MPI_ALGORITHMS_H
#define NOF_MPI_ALGORITHMS_H

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

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank's library counts of its collectives (library_counts.h): which algorithms, who chose them, who went through them and
 * why. Names of algorithms are those of tables, too (host/libmpi_offload/coll/select.h). */
#ifndef NOF_PRIVATE_COLL_COUNTS_H
#define NOF_PRIVATE_COLL_COUNTS_H

/* X(ID, "name", "what is counted"): collectives that have messages, by who went through them. */
#define NOF_DRIVERS(X) \
    X(NIC, "collectives_nic", "collectives whose steps the NIC went through") \
    X(OFF, "collectives_host_off", \
      "collectives of the host, because feature collectives says so or there is no NIC") \
    X(SHAPE, "collectives_host_shape", \
      "collectives of the host: inter-communicators, too many steps, buffers that are too short") \
    X(TYPE, "collectives_host_type", "collectives of the host, because of a datatype that is packed") \
    X(PEER, "collectives_host_peer", "collectives of the host, because a peer cannot be reached") \
    X(ROOM, "collectives_host_room", "collectives of the host, because there was no room for the program") \
    X(MULTICAST, "collectives_host_multicast", \
      "collectives of the host, because their message is multicast: the NIC goes through that one") \
    X(DECLINED, "collectives_host_declined", "collectives of the host, because the NIC declined")

/* X(ID, "collective", "algorithm", "what it does"); those of a collective stand together. */
#define NOF_ALGORITHMS(X) \
    X(BARRIER_DISSEMINATION, "barrier", "dissemination", "to ranks at doubling distance") \
    X(BARRIER_HIERARCHICAL, "barrier", "hierarchical", "among the ranks of a NIC, among NICs, and back") \
    X(ALLTOALL_BRUCK, "alltoall", "bruck", "blocks travel together, a logarithmic number of rounds") \
    X(ALLTOALL_PAIRWISE, "alltoall", "pairwise", "rounds of pairs, one behind the other") \
    X(ALLTOALL_BARRIER, "alltoall", "barrier", "rounds of pairs with a barrier between them") \
    X(ALLTOALL_UNSCHEDULED, "alltoall", "unscheduled", "all messages at once") \
    X(ALLGATHER_BRUCK, "allgather", "bruck", "what a rank has doubles in each round") \
    X(ALLGATHER_RING, "allgather", "ring", "a block goes on to the next rank in each round") \
    X(ALLGATHER_PAIRWISE, "allgather", "pairwise", "a block straight to each rank, one behind the other") \
    X(ALLGATHER_HIERARCHICAL, "allgather", "hierarchical", \
      "blocks of a NIC travel together, then among its ranks") \
    X(ALLGATHER_LANES, "allgather", "lanes", "among ranks with one number on their NICs, then on each NIC") \
    X(ALLREDUCE_DOUBLING, "allreduce", "doubling", "whole vectors, by recursive doubling") \
    X(ALLREDUCE_HALVING, "allreduce", "halving", "pieces are halved, then doubled") \
    X(ALLREDUCE_RING, "allreduce", "ring", "pieces go round a ring twice") \
    X(ALLREDUCE_TREE, "allreduce", "tree", "a reduction in segments, then a broadcast") \
    X(ALLREDUCE_HIERARCHICAL, "allreduce", "hierarchical", "among the ranks of a NIC, among NICs, and back") \
    X(ALLREDUCE_LANES, "allreduce", "lanes", "a piece at each rank of a NIC, among NICs, and back") \
    X(BCAST_TREE, "bcast", "tree", "whole messages down a binomial tree") \
    X(BCAST_DOUBLING, "bcast", "doubling", "pieces down the tree, then handed on by doubling") \
    X(BCAST_RING, "bcast", "ring", "pieces down the tree, then round a ring") \
    X(BCAST_HIERARCHICAL, "bcast", "hierarchical", "among NICs, then among the ranks of each") \
    X(REDUCE_TREE, "reduce", "tree", "segments up a binomial tree") \
    X(REDUCE_HALVING, "reduce", "halving", "pieces are halved, then gathered") \
    X(REDUCE_HIERARCHICAL, "reduce", "hierarchical", "segments up a tree of each NIC's ranks, then of NICs") \
    X(REDUCE_SCATTER_HALVING, "reduce_scatter", "halving", "pieces are halved") \
    X(REDUCE_SCATTER_PAIRWISE, "reduce_scatter", "pairwise", "operands of a block go straight to its rank") \
    X(REDUCE_SCATTER_LANES, "reduce_scatter", "lanes", \
      "at each rank of a NIC for those of its number, then among NICs") \
    X(REDUCE_SCATTER_ROOT, "reduce_scatter", "root", "a reduction at rank 0, then a scatter") \
    X(REDUCE_SCATTER_BLOCKS, "reduce_scatter", "blocks", "a reduction for each block") \
    X(GATHER_TREE, "gather", "tree", "packed blocks up a binomial tree") \
    X(GATHER_LINEAR, "gather", "linear", "each block straight to the root") \
    X(SCATTER_TREE, "scatter", "tree", "packed blocks down a binomial tree") \
    X(SCATTER_LINEAR, "scatter", "linear", "each block straight from the root") \
    X(SCATTER_MULTICAST, "scatter", "multicast", "all blocks as one message to a multicast group") \
    X(SCATTERV_LINEAR, "scatterv", "linear", \
      "each block straight from the root, after all were told the sizes") \
    X(SCATTERV_MULTICAST, "scatterv", "multicast", \
      "the sizes, then all blocks as one message to a multicast group")

/* Who chose: X(ID, "name", "whose row it was"). */
#define NOF_SELECTED_BY(X) \
    X(DEFAULT, "default", "by the library's own table") \
    X(TABLE, "table", "by the table that NOF_COLL_TABLE names") \
    X(ENVIRONMENT, "environment", "by NOF_ALLTOALL")

/* X(ID, "name", "what is counted"): large blocking broadcasts, by the way they went; scattervs. */
#define NOF_BCASTS(X) \
    X(MULTICAST, "bcast_multicast", "large blocking broadcasts that went by multicast") \
    X(FEW, "bcast_unicast_few", "that went by unicast: fewer than three NICs, or more than 256") \
    X(UNASKED, "bcast_unicast_unasked", "by unicast: the ranks have not agreed yet that the group is open") \
    X(REFUSED, "bcast_unicast_refused", \
      "by unicast: feature multicast is off somewhere, a NIC declined the group, or a member is deaf") \
    X(SCATTERV_UNASKED, "scatterv_unicast_unasked", \
      "blocking scattervs by unicast that could have gone by multicast: the sizes of those before were too " \
      "large") \
    X(GROUP, "scatterv_group", "transmissions of compiled and dynamic groups that went by multicast") \
    X(GROUP_UNICAST, "scatterv_group_unicast", \
      "of these by unicast: fewer than three NICs, or no group could be opened")

#define NOF_COLL_COUNTS_NAMED(id, name, help) NOF_LIBRARY_COUNT(name, help)
#define NOF_COLL_COUNTS_ALGORITHM(id, collective, name, help) NOF_LIBRARY_COUNT(collective "_" name, help)
#define NOF_COLL_COUNTS_BY(id, name, help) \
    NOF_LIBRARY_COUNT("selected_by_" name, "algorithms that were chosen " help)

/* With NOF_LIBRARY_COUNT(name, help) defined: all of them. */
#define NOF_COLL_COUNTS \
    NOF_DRIVERS(NOF_COLL_COUNTS_NAMED) \
    NOF_ALGORITHMS(NOF_COLL_COUNTS_ALGORITHM) \
    NOF_SELECTED_BY(NOF_COLL_COUNTS_BY) \
    NOF_BCASTS(NOF_COLL_COUNTS_NAMED)

enum {
#define NOF_COLL_COUNT_ONE(...) +1
    NOF_COLL_COUNT_MAX = 0 NOF_DRIVERS(NOF_COLL_COUNT_ONE) NOF_ALGORITHMS(NOF_COLL_COUNT_ONE)
        NOF_SELECTED_BY(NOF_COLL_COUNT_ONE) NOF_BCASTS(NOF_COLL_COUNT_ONE)
#undef NOF_COLL_COUNT_ONE
};

#endif

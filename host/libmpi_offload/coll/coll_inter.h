/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives of an inter-communicator (MPI 4.1, 6.2.3 and the "inter-communicator" paragraphs of each
 * function). Peers are ranks of the remote group. `root` is MPI_ROOT at the root, MPI_PROC_NULL at the
 * others of its group, the root's rank in the other group. What is not significant may be NULL. */
#ifndef NOF_MPI_COLL_INTER_H
#define NOF_MPI_COLL_INTER_H

#include "coll/coll.h"

void nof_coll_inter_barrier(struct nof_sched *s);
void nof_coll_inter_bcast(struct nof_sched *s, const struct nof_data *data, int root);
void nof_coll_inter_gather(struct nof_sched *s, const struct nof_data *send, const struct nof_blocks *recv,
                           int root);
void nof_coll_inter_scatter(struct nof_sched *s, const struct nof_blocks *send, const struct nof_data *recv,
                            int root);
/* recv has a block for each remote rank. */
void nof_coll_inter_allgather(struct nof_sched *s, const struct nof_data *send,
                              const struct nof_blocks *recv);
void nof_coll_inter_alltoall(struct nof_sched *s, const struct nof_blocks *send,
                             const struct nof_blocks *recv);
void nof_coll_inter_reduce(struct nof_sched *s, const struct nof_reduction *r, int root);
void nof_coll_inter_allreduce(struct nof_sched *s, const struct nof_reduction *r);
/* r->count is the sum of the counts, which are those of the local group. */
void nof_coll_inter_reduce_scatter(struct nof_sched *s, const struct nof_reduction *r,
                                   const struct nof_counts *counts);

#endif

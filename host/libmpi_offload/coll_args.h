/* SPDX-License-Identifier: BSD-3-Clause */
/* What the entry points of the collectives check, and how they end. */
#ifndef NOF_MPI_COLL_ARGS_H
#define NOF_MPI_COLL_ARGS_H

#include "coll.h"

/* The communicator and an empty schedule for it; *s_out is NULL unless MPI_SUCCESS. */
int nof_coll_begin(MPI_Comm comm, struct nof_comm **comm_out, struct nof_sched **s_out);

/* Run the schedule if rc is MPI_SUCCESS, else drop it (it may be NULL); then leave the library. */
int nof_coll_end(struct nof_comm *comm, struct nof_sched *s, int rc, const char *func);

int nof_coll_check_root(const struct nof_comm *comm, int root);

/* A buffer argument. MPI_IN_PLACE is refused: the caller handles it where it is allowed. */
int nof_coll_check_data(const void *buf, MPI_Count count, MPI_Datatype datatype, struct nof_data *data_out);

/* A v-argument: one count and displacement per rank of the communicator. */
int nof_coll_check_blocks(const struct nof_comm *comm, const void *buf, const int *counts, const int *displs,
                          MPI_Datatype datatype, struct nof_blocks *blocks_out);

/* A reduction; needs_out: recvbuf is significant here. */
int nof_coll_check_reduction(const void *sendbuf, void *recvbuf, bool needs_out, MPI_Count count,
                             MPI_Datatype datatype, MPI_Op op, struct nof_reduction *r_out);

#endif

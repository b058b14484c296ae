/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that ranks of one host share. */
#ifndef NOF_MPI_WIN_SHARED_H
#define NOF_MPI_WIN_SHARED_H

#include "comm/comm.h"

struct nof_win_shared {
    void *mapping;
    size_t bytes;
    void *base; /* this process's part */
};

/* Collective over comm, all of whose ranks must be on one host (else MPI_ERR_RMA_SHARED): `size` bytes of
 * this process behind those of the ranks before it. The caller unmaps. */
int nof_win_shared_map(struct nof_comm *comm, size_t size, struct nof_win_shared *shared_out);

#endif

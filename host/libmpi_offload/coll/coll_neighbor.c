/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbourhood collectives. All messages of a call have one tag, and two ranks may be neighbours more
 * than once: what the k-th message from one to the other carries is said by the order in which both
 * list the edges. In a Cartesian topology every dimension is a pair, the negative direction first; what
 * goes out in the negative direction comes in from the positive one, so receives are posted the other
 * way round (MPI 4.1, 8.6, figure of 3 and 1 processes in a dimension). */
#include "coll/agree.h"

void nof_coll_build_neighbors(struct nof_sched *s, const struct nof_neighbors *n,
                              const struct nof_blocks *send, const struct nof_blocks *recv)
{
    nof_coll_agree(s, NOF_CALL_NEIGHBOR, 0, 0);
    for (int i = 0; i < n->in_count; i++) {
        int slot = n->cartesian ? i ^ 1 : i;
        struct nof_data block = nof_block(recv, slot);
        if (n->in[slot] != MPI_PROC_NULL)
            nof_coll_recv(s, &block, n->in[slot]);
    }
    for (int i = 0; i < n->out_count; i++) {
        struct nof_data block = nof_block(send, i);
        if (n->out[i] != MPI_PROC_NULL)
            nof_coll_send(s, &block, n->out[i]);
    }
}

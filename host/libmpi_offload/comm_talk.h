/* SPDX-License-Identifier: BSD-3-Clause */
/* What the making of communicators says between processes, outside the collectives: blocking, in one of
 * the communicator's own contexts. */
#ifndef NOF_MPI_COMM_TALK_H
#define NOF_MPI_COMM_TALK_H

#include "comm.h"

struct nof_talk {
    struct nof_comm *comm;
    enum nof_comm_use use;
    int peer; /* rank among nof_comm_peers(comm) */
    int tag;
};

/* Send and receive at the same time. Either size may be 0: then that half does not take place. The
 * other side has to send exactly in_bytes. */
int nof_talk_swap(const struct nof_talk *to, const void *out, size_t out_bytes, void *in, size_t in_bytes);

/* ---- comm_inter.c ---- */

/* Make an inter-communicator: collective over `local`; its leader talks to the other side's through
 * `to`. leader_rc (significant at the leader): why it cannot, which every member then learns. */
int nof_comm_connect(struct nof_comm *local, int local_leader, const struct nof_talk *to, int leader_rc,
                     struct nof_comm **inter_out);

/* Collective over an inter-communicator: every process learns what rank 0 of the other side says. */
int nof_comm_sides_swap(struct nof_comm *inter, const void *mine, void *theirs, size_t bytes);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the making of communicators says between processes, outside the collectives (blocking, in a
 * context of the library's own), and the steps that several functions share. */
#ifndef NOF_MPI_COMM_MAKE_H
#define NOF_MPI_COMM_MAKE_H

#include "comm/comm.h"

struct nof_talk {
    struct nof_comm *comm;
    uint32_t ctx;
    int peer; /* rank among nof_comm_peers(comm) */
    int tag;
};

/* Send and receive at the same time. Either size may be 0: then that half does not take place. The
 * other side has to send exactly in_bytes. */
int nof_talk_swap(const struct nof_talk *to, const void *out, size_t out_bytes, void *in, size_t in_bytes);

/* Of comm_inter.c. */

/* Make an inter-communicator: collective over `local`; its leader talks to the other side's through
 * `to`. leader_rc (significant at the leader): why it cannot, which every member then learns, and the other side
 * too unless to->comm is NULL. by_nic (likewise): its messages shall go by the NIC; if one side says so they do. */
int nof_comm_connect(struct nof_comm *local, int local_leader, const struct nof_talk *to, int leader_rc,
                     bool by_nic, struct nof_comm **inter_out);

/* Collective over an inter-communicator: every process learns what rank 0 of the other side says. */
int nof_comm_sides_swap(struct nof_comm *inter, const void *mine, void *theirs, size_t bytes);

/* Of comm_dup.c. */

/* Collective over c: a duplicate, intra or inter. */
int nof_comm_duplicate(struct nof_comm *c, struct nof_comm **copy_out);

/* Of comm_split.c. */

/* Collective over c, intra or inter. *part_out: the processes of this color, by key, then by rank (of an
 * inter-communicator on both sides); NULL for MPI_UNDEFINED, or when the other side has none. hints: what its first rank says of
 * nof_channels counts for all. */
int nof_comm_split_into(struct nof_comm *c, int color, int key, const struct nof_info *hints,
                        struct nof_comm **part_out);

/* The first n processes of c, an intra-communicator, in order. Collective over c; *made_out is NULL at
 * the others. */
int nof_comm_make_first(struct nof_comm *c, int n, struct nof_comm **made_out);

/* Of comm_subset.c. */

/* The tree by which rank 0 tells all: parent of a rank above 0, and its child number i from 0 on, -1
 * beyond the last. */
int nof_comm_tree_parent(int rank);
int nof_comm_tree_child(int rank, int size, int i);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The multicast group of a communicator, for the collectives that use it (coll.h says when): what coll_group.c and
 * coll_group_scatter.c share.
 *
 *   nof_coll_group_ask(), once a blocking call -> nof_coll_group_build(), for each message, if it is agreed on
 *     -> nof_coll_group_vote(), at the end of the schedule
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_COLL_GROUP_H
#define NOF_MPI_COLL_GROUP_H

#include "chan/chan.h"
#include "coll/coll.h"

#define NOF_GROUP_MEMBERS_MIN 3
#define NOF_GROUP_MEMBERS_MAX 256

enum nof_group_agreement { NOF_GROUP_NOT_ASKED, NOF_GROUP_AGREED, NOF_GROUP_REFUSED };

/* Ranks by the NICs that they are on: one member each, those beside it get their bytes from it. */
struct nof_group_members {
    int count; /* 0: not known */
    int *rank; /* of each member, in the communicator */
    int *of; /* of each rank: which member's NIC it is on; -1: it takes no part */
};

struct nof_coll_group {
    struct nof_coll_group *next;
    uint32_t ctx;
    uint32_t calls; /* blocking calls that may use it, so far */
    uint32_t number; /* of the next message of the group */
    enum nof_group_agreement agreement;
    int vote, votes; /* ours; the least of all, once the call has ended */
    bool voted;
    bool wanted; /* by all: then members are looked for, and votes ask whether the group is open */
    bool sought; /* who the members are has been looked for */
    bool useful; /* it would have been, for one of the calls */
    bool few;
    struct nof_group_members members;
    int *beside; /* ranks on this rank's NIC */
    int beside_count;
    uint32_t pause,
        paused; /* calls of Scatterv that go by unicast, unasked; and how many of them have gone */
    struct nof_chan_group nic;
};

/* Who is on which NIC; takes_part: of each rank, or NULL: all. `first`, who takes part, becomes member 0. MPI_SUCCESS, or why that
 * is not known. */
int nof_group_members_find(struct nof_group_members *m, const struct nof_comm *comm, const bool *takes_part,
                           int first);
void nof_group_members_free(struct nof_group_members *m);
/* Open the group of these members (chan.h). */
void nof_group_members_open(const struct nof_group_members *m, const struct nof_comm *comm,
                            struct nof_chan_group *group, uint32_t first, uint32_t epoch);

/* Count a blocking call, for which the group is useful or not, the same at all ranks. NULL: this communicator can have none. */
struct nof_coll_group *nof_coll_group_ask(struct nof_sched *s, bool useful);
/* All ranks know that it is open. */
static inline bool nof_coll_group_agreed(const struct nof_coll_group *g)
{
    return g != NULL && !g->few && g->agreement == NOF_GROUP_AGREED;
}
/* A broadcast of the library's own, which counts as a call: by the group as soon as that is agreed on, however short. */
int nof_coll_group_tell(struct nof_comm *comm, void *buf, size_t bytes, int root);
/* One message of bytes that lie together, from `root` to all ranks. */
void nof_coll_group_build(struct nof_sched *s, struct nof_coll_group *g, const struct nof_data *data,
                          int root);

#endif

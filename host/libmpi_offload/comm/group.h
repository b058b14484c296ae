/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: an ordered set of processes, each named by its job rank (its index in the world).
 *
 * A group never changes. `world` NULL is the identity (rank r is job rank r): the group of
 * MPI_COMM_WORLD costs nothing. The way back (job rank to rank) is a table made when first needed.
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_GROUP_H
#define NOF_MPI_GROUP_H

#include "base/lib.h"

struct nof_group {
    uint32_t refs;
    int size;
    int rank; /* of this process, MPI_UNDEFINED if it is no member */
    int *world; /* job rank by rank, NULL: identity */
    MPI_Session session; /* whose process set it is, or is made from; NULL: none */
    int *back; /* rank by job rank, MPI_UNDEFINED where none; NULL until asked for */
};

/* A group of `size` processes; takes over `world` (malloc'ed, or NULL for the identity) also when
 * it fails. NULL: memory is short. */
struct nof_group *nof_group_new(int size, int *world);
void nof_group_hold(struct nof_group *group);
void nof_group_release(struct nof_group *group);

/* The empty group, which is never freed. */
struct nof_group *nof_group_empty(void);

/* Group behind a handle, with the error the standard names. */
int nof_group_check(MPI_Group handle, struct nof_group **group_out);

/* What is of one session is not to be mixed with what is of another (MPI 4.1, 11.3). */
int nof_group_check_session(const struct nof_group *group, MPI_Session other);

/* Its processes, as a group of that session: the group itself, held, where it is of that one already or there is none to be of,
 * else a copy; what the program holds stays as it is. NULL: memory is short. */
struct nof_group *nof_group_in_session(struct nof_group *group, MPI_Session session);

/* Give the program a handle with a reference of its own. */
int nof_group_publish(struct nof_group *group, MPI_Group *handle_out);

static inline int nof_group_world_rank(const struct nof_group *group, int rank)
{
    return group->world == NULL ? rank : group->world[rank];
}

/* The rank of a job rank, MPI_UNDEFINED if it is no member. */
int nof_group_rank_of(struct nof_group *group, int world_rank);

/* MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL. */
int nof_group_compare(struct nof_group *a, struct nof_group *b);

#endif

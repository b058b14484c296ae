/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: a group, a context for the program's messages and one for the collectives.
 *
 * Context ids. The process that has rank 0 in the new communicator draws the id from a counter of
 * its own; its job rank is part of the id, so no two processes can draw the same one, and no
 * agreement is needed (threads may create communicators at the same time):
 *
 *   | job rank of the leader | counter | 1 |     lowest bit: 0 the program's, 1 the collectives'
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_COMM_H
#define NOF_MPI_COMM_H

#include "error.h"
#include "group.h"
#include "lib.h"

struct nof_comm {
    uint32_t refs; /* the handle's one, and one per request */
    uint32_t ctx;
    struct nof_group *group;
    int rank;
    bool predefined;
    MPI_Comm handle;
    struct nof_errhandler *errhandler;
    uint32_t coll_seq; /* collectives so far: their tag */
    char name[MPI_MAX_OBJECT_NAME];
};

/* Tags of collectives; every collective of a communicator takes the next one. */
#define NOF_COMM_COLL_TAGS (1u << 24)

static inline uint32_t nof_comm_coll_ctx(const struct nof_comm *comm)
{
    return comm->ctx | 1u;
}

static inline int nof_comm_size(const struct nof_comm *comm)
{
    return comm->group->size;
}

/* Make MPI_COMM_WORLD and MPI_COMM_SELF. 0, or -1 when memory is short. */
int nof_comm_init(void);

struct nof_comm *nof_comm_world(void);
struct nof_comm *nof_comm_self(void);

/* Communicator behind a handle, with the error the standard names. *comm_out is NULL on error. */
int nof_comm_check(MPI_Comm handle, struct nof_comm **comm_out);

/* Draw a context id, for the case that this process leads the new communicator. Ids that are not
 * used are lost; the counter goes round and skips those in use. */
uint32_t nof_comm_draw_ctx(void);

/* The context of the library's own notices: no communicator ever has it. World of two or more. */
uint32_t nof_comm_notice_ctx(void);

/* A communicator with a handle; takes over the group's reference. It inherits the error handler. */
int nof_comm_new(struct nof_group *group, uint32_t ctx, struct nof_comm *parent, struct nof_comm **comm_out);

void nof_comm_hold(struct nof_comm *comm);
void nof_comm_release(struct nof_comm *comm);

/* Drop the handle; the communicator lives until its last request ends. */
void nof_comm_drop(struct nof_comm *comm);

#endif

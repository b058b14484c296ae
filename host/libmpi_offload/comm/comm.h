/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: a group, a context for the program's messages and one for the collectives.
 *
 * Context ids. The process that has rank 0 in the new communicator draws the id from a counter of
 * its own; its job rank is part of the id, so no two processes can draw the same one, and no
 * agreement is needed (threads may create communicators at the same time):
 *
 *   | job rank of the leader | counter | use |     enum nof_comm_use, two bits
 *
 * Inter-communicators have a remote group, and a local intra-communicator (with contexts of its own,
 * without a handle) for what the collectives do inside the local group. Ranks of point to point are
 * those of the remote group: nof_comm_peers(). As the groups have no process in common, one context
 * serves both directions.
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_COMM_H
#define NOF_MPI_COMM_H

#include "base/error.h"
#include "comm/group.h"
#include "comm/kept_starts.h"
#include "base/lib.h"
#include "nof/bar.h"

enum nof_comm_use {
    NOF_COMM_PROGRAM, /* the program's point to point */
    NOF_COMM_COLL, /* collectives, tagged by their numbers */
    NOF_COMM_MAKE, /* making communicators with some members only, tagged by the program */
    NOF_COMM_PART /* partitioned communication */
};

struct nof_chan;
struct nof_nics;
struct nof_request;
struct nof_topo;

/* A buffer that the program attached; used by p2p/bsend.h. */
struct nof_bsend {
    void *address;
    size_t size;
    size_t used;
    bool attached;
    struct nof_request *flushes; /* MPI_Buffer_iflush, MPI_Comm_iflush_buffer: wait for used == 0 */
};

struct nof_comm {
    uint32_t refs; /* the handle's one, and one per request */
    uint32_t ctx;
    struct nof_group *group; /* the local one */
    struct nof_group *remote; /* NULL: intra-communicator */
    struct nof_comm *local; /* of an inter-communicator: over `group`; NULL: intra-communicator */
    int rank; /* in `group` */
    const struct nof_chan *chan; /* nof_chan_choose(); NULL: not yet */
    bool mixed; /* likewise: memory reaches some of whom its point to point reaches, beside this process */
    bool mixed_short; /* likewise, and what is short may take the short path to them */
    bool by_nic; /* hint nof_channels (chan/ways.h) was nic at its rank 0, when it was made */
    bool way_said; /* the hint is another one here: */
    enum nof_channels way;
    struct nof_topo *topo; /* NULL: none */
    struct nof_nics *nics; /* coll/nics/nics.h, malloc'ed in one piece; NULL: nobody has asked */
    bool predefined;
    bool freed; /* the program can name it no more */
    struct nof_comm *next, *prev; /* all that there are, but the predefined */
    MPI_Comm handle;
    struct nof_errhandler *errhandler;
    struct nof_attr *attrs;
    struct nof_bsend bsend; /* buffer of MPI_Comm_attach_buffer */
    MPI_Session session; /* from whose group it was made, and all from it; 0: none */
    uint32_t assertions; /* comm_info.c: bits of the hints that were given */
    int delta_way; /* likewise, enum nof_delta_way */
    uint32_t coll_seq; /* blocking collectives so far: their tag */
    uint32_t coll_started; /* non-blocking ones */
    struct nof_kept kept; /* persistent ones */
    uint32_t compiled; /* all-to-alls that begin blocking ones while they are there, also when it is freed */
    char name[MPI_MAX_OBJECT_NAME];
};

/* Tags of collectives; every collective of a communicator takes the next one: blocking ones, then as many that are left to
 * the others. Of the persistent ones each has some of its own, behind NOF_COMM_KEPT_TAG, one for each start in turn: what a
 * start that failed has left unreceived is not taken for that of the next. */
#define NOF_COMM_COLL_TAGS (1u << 24)
#define NOF_COMM_KEPT_TAG (1u << 30)
#define NOF_COMM_KEPT_STARTS (1u << 10)

/* The collective with this tag has a request: its ranks may compute meanwhile. */
static inline bool nof_comm_coll_is_started(int tag)
{
    return tag >= (int)(2 * NOF_COMM_COLL_TAGS);
}

static inline uint32_t nof_comm_coll_ctx(const struct nof_comm *comm)
{
    return comm->ctx | NOF_COMM_COLL;
}

/* Of the local group. */
static inline int nof_comm_size(const struct nof_comm *comm)
{
    return comm->group->size;
}

/* Whom point to point reaches: the remote group of an inter-communicator, else the group. */
static inline struct nof_group *nof_comm_peers(const struct nof_comm *comm)
{
    return __builtin_expect(comm->remote == NULL, 1) ? comm->group : comm->remote;
}

static inline int nof_comm_peer_world(const struct nof_comm *comm, int peer)
{
    return nof_group_world_rank(nof_comm_peers(comm), peer);
}

/* The job rank belongs to it, on either side. */
static inline bool nof_comm_has(const struct nof_comm *comm, int world_rank)
{
    return nof_group_rank_of(comm->group, world_rank) != MPI_UNDEFINED ||
           (comm->remote != NULL && nof_group_rank_of(comm->remote, world_rank) != MPI_UNDEFINED);
}

/* Make MPI_COMM_WORLD and MPI_COMM_SELF. 0, or -1 when memory is short. */
int nof_comm_init(void);

struct nof_comm *nof_comm_world(void);
struct nof_comm *nof_comm_self(void);

/* MPI_COMM_WORLD, without a group before nof_comm_init(); nof_comm_find() alone names it. */
extern struct nof_comm nof_comm_of_world __attribute__((visibility("hidden")));
struct nof_comm *nof_comm_find_other(MPI_Comm handle);
/* Communicator behind a handle; NULL: none. */
static inline struct nof_comm *nof_comm_find(MPI_Comm handle)
{
    return __builtin_expect(handle == MPI_COMM_WORLD, 1) ? &nof_comm_of_world : nof_comm_find_other(handle);
}
/* The same, with the error the standard names. *comm_out is NULL on error. */
int nof_comm_check(MPI_Comm handle, struct nof_comm **comm_out);

/* nof_comm_check(), and it is no inter-communicator. */
int nof_comm_check_intra(MPI_Comm handle, struct nof_comm **comm_out);

/* nof_comm_check(), and it is an inter-communicator. */
int nof_comm_check_inter(MPI_Comm handle, struct nof_comm **comm_out);

/* Draw a context id, for the case that this process leads the new communicator. Ids that are not
 * used are lost; the counter goes round and skips those in use. */
uint32_t nof_comm_draw_ctx(void);

/* The context of the library's own notices: no communicator ever has it. World of two or more. */
uint32_t nof_comm_notice_ctx(void);

/* The context in which communicators are made out of groups alone: of no communicator. */
uint32_t nof_comm_groups_ctx(void);

/* A communicator with a handle; takes over the group's reference. It inherits the error handler. */
int nof_comm_new(struct nof_group *group, uint32_t ctx, struct nof_comm *parent, struct nof_comm **comm_out);

/* An inter-communicator; takes over the references of both groups, also when it fails. */
struct nof_comm_sides {
    struct nof_group *group;
    struct nof_group *remote;
    uint32_t ctx; /* equal on both sides */
    uint32_t local_ctx; /* each side its own */
};
int nof_comm_new_inter(const struct nof_comm_sides *sides, struct nof_comm *parent,
                       struct nof_comm **comm_out);

/* For one that was made with context 0 because its ids were not known yet. */
void nof_comm_set_ctx(struct nof_comm *comm, uint32_t ctx, uint32_t local_ctx, bool by_nic);

/* The one with this context for collectives: also one without a handle, as the local side of an inter-communicator. NULL: none. */
struct nof_comm *nof_comm_of_coll_ctx(uint32_t coll_ctx);

/* Nobody holds one any more, which is still there: its context for collectives. Three may hear of it. */
void nof_comm_on_gone(void (*heard)(uint32_t coll_ctx));

void nof_comm_hold(struct nof_comm *comm);
void nof_comm_release(struct nof_comm *comm);

/* Drop the handle; the communicator lives until its last request ends. */
void nof_comm_drop(struct nof_comm *comm);

/* Of comm_info.c. */

/* Take the hints that the library knows; info may be NULL. A value of the library's own keys that is none of theirs is
 * MPI_ERR_INFO_VALUE, and nothing is taken. */
struct nof_info;
int nof_comm_take_hints(struct nof_comm *comm, const struct nof_info *info);
/* All that rank 0 of a new communicator says, which then counts for all: it asks for the NIC (comm->by_nic). */
bool nof_comm_hints_by_nic(const struct nof_info *info);

#endif

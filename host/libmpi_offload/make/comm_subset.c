/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators that only their members make: out of a group of a communicator, or out of groups alone.
 * The first member draws the context id and tells the others along a tree. */
#include <stdlib.h>

#include "make/comm_make.h"
#include "comm/entry.h"
#include "base/info.h"

int nof_comm_tree_parent(int rank)
{
    return rank & (rank - 1);
}

int nof_comm_tree_child(int rank, int size, int i)
{
    if (i >= 31 || (rank != 0 && 1 << i >= (rank & -rank)))
        return -1;
    int64_t child = (int64_t)rank + (1 << i);
    return child < size ? (int)child : -1;
}

/* What rank 0 says. */
struct word {
    uint32_t ctx;
    uint32_t by_nic;
};

/* Learn it. `to` names communicator, context and tag. */
static int tell(struct nof_group *group, struct nof_talk to, const struct nof_info *hints,
                struct word *word_out)
{
    struct nof_group *among = nof_comm_peers(to.comm);
    struct word word = {0, 0};
    int rc = MPI_SUCCESS;
    if (group->rank == 0) {
        word = (struct word){nof_comm_draw_ctx(), nof_comm_hints_by_nic(hints)};
    } else {
        to.peer = nof_group_rank_of(among, nof_group_world_rank(group, nof_comm_tree_parent(group->rank)));
        rc = nof_talk_swap(&to, NULL, 0, &word, sizeof(word));
    }
    for (int i = 0; rc == MPI_SUCCESS && i < 31; i++) {
        int child = nof_comm_tree_child(group->rank, group->size, i);
        if (child < 0)
            continue;
        to.peer = nof_group_rank_of(among, nof_group_world_rank(group, child));
        rc = nof_talk_swap(&to, &word, sizeof(word), NULL, 0);
    }
    *word_out = word;
    return rc;
}

static int make(struct nof_group *group, const struct nof_talk *to, const struct nof_info *hints,
                struct nof_comm **comm_out)
{
    struct word word;
    nof_group_hold(group); /* the program may free it meanwhile */
    int rc = tell(group, *to, hints, &word), size = group->size;
    struct nof_group *own = rc == MPI_SUCCESS ? nof_group_in_session(group, to->comm->session) : NULL;
    nof_group_release(group);
    if (rc != MPI_SUCCESS)
        return rc;
    if (own == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a group of %d ranks", size);
    rc = nof_comm_new(own, word.ctx, to->comm, comm_out);
    if (rc == MPI_SUCCESS)
        (*comm_out)->by_nic = word.by_nic != 0;
    return rc;
}

NOF_MPI(Comm_create_group)
int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c, *made = NULL;
    struct nof_group *g = NULL;
    bool held = false;
    int rc = nof_comm_check_intra(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(newcomm, "the place for the communicator");
    if (rc == MPI_SUCCESS)
        rc = nof_group_check(group, &g);
    if (rc == MPI_SUCCESS)
        rc = nof_group_check_session(g, c->session);
    if (rc == MPI_SUCCESS && tag < 0)
        rc = nof_error(MPI_ERR_TAG, "the tag is %d: must be 0 to %d", tag, INT32_MAX);
    for (int i = 0; rc == MPI_SUCCESS && i < g->size; i++)
        if (nof_group_rank_of(c->group, nof_group_world_rank(g, i)) == MPI_UNDEFINED)
            rc = nof_error(MPI_ERR_GROUP, "rank %d of the group is not in the communicator", i);
    if (rc == MPI_SUCCESS && g->rank != MPI_UNDEFINED) {
        struct nof_talk to = {c, c->ctx | NOF_COMM_MAKE, 0, tag};
        nof_comm_hold(c); /* likewise: others of its ranks need not be here */
        rc = make(g, &to, NULL, &made);
        held = true;
    }
    if (rc == MPI_SUCCESS)
        *newcomm = made == NULL ? MPI_COMM_NULL : made->handle;
    return held ? nof_lib_leave_held(c, rc, __func__) : nof_lib_leave(c, rc, __func__);
}

/* Two strings with the same number would only mix if their makers met at the same time. FNV-1a. */
static int tag_of(const char *string)
{
    uint32_t hash = 2166136261u;
    for (const char *p = string; *p != '\0'; p++)
        hash = (hash ^ (uint8_t)*p) * 16777619u;
    return (int)(hash & INT32_MAX);
}

static int check_maker(MPI_Group group, const char *stringtag, MPI_Errhandler errhandler,
                       struct nof_group **group_out, struct nof_errhandler **errhandler_out)
{
    int rc = nof_errhandler_check(errhandler, NOF_ERRHANDLER_COMM, errhandler_out);
    if (rc != MPI_SUCCESS) {
        *errhandler_out = NULL;
        return rc;
    }
    rc = nof_group_check(group, group_out);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(stringtag, "the string tag");
    return rc;
}

/* Errors of the making itself are the new communicator's already, whose handler was given (MPI 4.1, 7.4.2). */
static int leave(struct nof_errhandler *handler, int rc, const char *func)
{
    if (rc == MPI_SUCCESS || handler == NULL)
        return nof_lib_leave(NULL, rc, func);
    struct nof_error_object object = {MPI_COMM_NULL, handler};
    return nof_lib_leave_at(&object, rc, func);
}

static void set_errhandler(struct nof_comm *comm, struct nof_errhandler *errhandler)
{
    nof_errhandler_hold(errhandler);
    nof_errhandler_release(comm->errhandler);
    comm->errhandler = errhandler;
}

NOF_MPI(Comm_create_from_group)
int PMPI_Comm_create_from_group(MPI_Group group, const char *stringtag, MPI_Info info,
                                MPI_Errhandler errhandler, MPI_Comm *newcomm)
{
    nof_lib_enter(__func__);
    struct nof_comm *made = NULL;
    struct nof_group *g;
    struct nof_errhandler *handler;
    struct nof_info *hints = NULL;
    int rc = check_maker(group, stringtag, errhandler, &g, &handler);
    if (rc == MPI_SUCCESS)
        rc = nof_info_check_optional(info, &hints);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(newcomm, "the place for the communicator");
    if (rc == MPI_SUCCESS && g->size > 0 && g->rank == MPI_UNDEFINED)
        rc = nof_error(MPI_ERR_GROUP, "this process is not in the group");
    if (rc == MPI_SUCCESS && g->size > 0) {
        struct nof_talk to = {nof_comm_world(), nof_comm_groups_ctx(), 0, tag_of(stringtag)};
        rc = make(g, &to, hints, &made);
    }
    if (made != NULL) {
        set_errhandler(made, handler);
        made->session = g->session;
        rc = nof_comm_take_hints(made, hints);
        if (rc != MPI_SUCCESS)
            nof_comm_drop(made);
    }
    if (rc == MPI_SUCCESS)
        *newcomm = made == NULL ? MPI_COMM_NULL : made->handle;
    return leave(handler, rc, __func__);
}

/* What only the leader's arguments say. */
static int check_remote(MPI_Group remote_group, int remote_leader, struct nof_talk *to)
{
    struct nof_group *remote;
    int rc = nof_group_check(remote_group, &remote);
    if (rc == MPI_SUCCESS && (remote_leader < 0 || remote_leader >= remote->size))
        rc = nof_error(MPI_ERR_RANK, "the remote leader is rank %d in a group of %d", remote_leader,
                       remote->size);
    if (rc == MPI_SUCCESS)
        to->peer = nof_group_world_rank(remote, remote_leader);
    else
        to->comm = NULL;
    return rc;
}

NOF_MPI(Intercomm_create_from_groups)
int PMPI_Intercomm_create_from_groups(MPI_Group local_group, int local_leader, MPI_Group remote_group,
                                      int remote_leader, const char *stringtag, MPI_Info info,
                                      MPI_Errhandler errhandler, MPI_Comm *newintercomm)
{
    nof_lib_enter(__func__);
    struct nof_comm *local = NULL, *inter = NULL;
    struct nof_info *hints = NULL;
    struct nof_group *g;
    struct nof_errhandler *handler;
    struct nof_talk to = {nof_comm_world(), nof_comm_groups_ctx(), 0, 0}, leaders = to;
    int leader_rc = MPI_SUCCESS;
    int rc = check_maker(local_group, stringtag, errhandler, &g, &handler);
    if (rc == MPI_SUCCESS)
        rc = nof_info_check_optional(info, &hints);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(newintercomm, "the place for the communicator");
    if (rc == MPI_SUCCESS && g->rank == MPI_UNDEFINED)
        rc = nof_error(MPI_ERR_GROUP, "this process is not in the local group");
    if (rc == MPI_SUCCESS && (local_leader < 0 || local_leader >= g->size))
        rc = nof_error(MPI_ERR_RANK, "the local leader is rank %d in a group of %d", local_leader, g->size);
    if (rc == MPI_SUCCESS) {
        to.tag = tag_of(stringtag);
        leaders = to;
        if (g->rank == local_leader) /* while it is there */
            leader_rc = check_remote(remote_group, remote_leader, &leaders);
        rc = make(g, &to, hints, &local);
    }
    if (rc == MPI_SUCCESS) {
        rc = nof_comm_connect(local, local_leader, &leaders, leader_rc, local->by_nic, &inter);
        nof_comm_drop(local);
    }
    if (rc == MPI_SUCCESS) {
        set_errhandler(inter, handler);
        inter->session = g->session;
        rc = nof_comm_take_hints(inter, hints);
        if (rc == MPI_SUCCESS)
            *newintercomm = inter->handle;
        else
            nof_comm_drop(inter);
    }
    return leave(handler, rc, __func__);
}

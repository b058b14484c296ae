/* SPDX-License-Identifier: BSD-3-Clause */
/* Inter-communicators: made of two groups whose leaders can talk, and merged into one. */
#include <stdlib.h>

#include "coll/coll.h"
#include "make/comm_make.h"
#include "comm/entry.h"

/* What a leader tells the other one, and then its group. */
struct card {
    int32_t size; /* of the group; -1: it failed, with this class */
    int32_t error_class;
    uint32_t ctx; /* drawn in case that this side's is taken */
    int32_t leader; /* job rank */
    uint32_t by_nic; /* hint nof_channels is nic at its first rank */
};

static struct nof_group *group_of(int size, const int32_t *members)
{
    int *world = malloc((size_t)size * sizeof(*world));
    if (world == NULL)
        return NULL;
    for (int i = 0; i < size; i++)
        world[i] = members[i];
    return nof_group_new(size, world);
}

static int disjoint(struct nof_group *group, int size, const int32_t *members)
{
    for (int i = 0; i < size; i++)
        if (nof_group_rank_of(group, members[i]) != MPI_UNDEFINED)
            return nof_error(MPI_ERR_COMM,
                             "rank %d of MPI_COMM_WORLD is in both groups: they must have none in common",
                             members[i]);
    return MPI_SUCCESS;
}

/* The leaders' part: *theirs_out and their members (malloc'ed). Why one of them cannot (rc) the other one is told. */
static int leaders_swap(const struct nof_talk *to, int rc, struct nof_comm *local, struct card *mine,
                        struct card *theirs, int32_t **members_out)
{
    size_t own = (size_t)nof_comm_size(local), most = (size_t)nof_lib.world_size;
    int32_t *out = malloc(own * sizeof(*out)), *in = malloc(most * sizeof(*in));
    if (rc == MPI_SUCCESS && (out == NULL || in == NULL))
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for %zu ranks", own + most);
    if (rc != MPI_SUCCESS)
        *mine = (struct card){.size = -1, .error_class = nof_error_class(rc)};
    int swapped = nof_talk_swap(to, mine, sizeof(*mine), theirs, sizeof(*theirs));
    rc = rc == MPI_SUCCESS ? swapped : rc;
    if (rc == MPI_SUCCESS && theirs->size < 0)
        rc = nof_error(theirs->error_class, "the leader of the remote group could not connect");
    if (rc == MPI_SUCCESS) {
        for (size_t i = 0; i < own; i++)
            out[i] = nof_group_world_rank(local->group, (int)i);
        rc = nof_talk_swap(to, out, own * sizeof(*out), in, (size_t)theirs->size * sizeof(*in));
    }
    if (rc == MPI_SUCCESS)
        rc = disjoint(local->group, theirs->size, in);
    free(out);
    if (rc == MPI_SUCCESS)
        *members_out = in;
    else
        free(in);
    return rc;
}

/* What every process of the local group learns. */
struct outcome {
    struct card theirs;
    uint32_t ctx;
    uint32_t local_ctx;
    uint32_t by_nic;
};

int nof_comm_connect(struct nof_comm *local, int local_leader, const struct nof_talk *to, int leader_rc,
                     bool by_nic, struct nof_comm **inter_out)
{
    bool leader = local->rank == local_leader;
    struct outcome outcome = {0};
    int32_t *members = NULL;
    int rc = leader ? leader_rc : MPI_SUCCESS;
    if (leader && to->comm != NULL) {
        struct card mine = {.size = nof_comm_size(local),
                            .ctx = nof_comm_draw_ctx(),
                            .leader = nof_lib.world_rank,
                            .by_nic = by_nic};
        nof_comm_hold(to->comm); /* the program may free it meanwhile */
        rc = leaders_swap(to, rc, local, &mine, &outcome.theirs, &members);
        nof_comm_release(to->comm);
        outcome.ctx = mine.leader < outcome.theirs.leader ? mine.ctx : outcome.theirs.ctx;
        outcome.local_ctx = nof_comm_draw_ctx();
        outcome.by_nic = by_nic || outcome.theirs.by_nic != 0;
    }
    if (leader && rc != MPI_SUCCESS)
        outcome.theirs = (struct card){.size = -1, .error_class = nof_error_class(rc)};
    int told = nof_coll_bcast(local, &outcome, sizeof(outcome), nof_type_byte(), local_leader);
    rc = rc == MPI_SUCCESS ? told : rc;
    if (rc == MPI_SUCCESS && outcome.theirs.size < 0)
        rc = nof_error(outcome.theirs.error_class, "the leader of the local group could not connect");
    size_t bytes = rc == MPI_SUCCESS ? (size_t)outcome.theirs.size * sizeof(*members) : 0;
    if (rc == MPI_SUCCESS && !leader && (members = malloc(bytes)) == NULL)
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for %d ranks", outcome.theirs.size);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_bcast(local, members, bytes, nof_type_byte(), local_leader);
    struct nof_group *remote = rc == MPI_SUCCESS ? group_of(outcome.theirs.size, members) : NULL;
    free(members);
    if (rc != MPI_SUCCESS)
        return rc;
    if (remote == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a group of %d ranks", outcome.theirs.size);
    nof_group_hold(local->group);
    struct nof_comm_sides sides = {local->group, remote, outcome.ctx, outcome.local_ctx};
    rc = nof_comm_new_inter(&sides, local, inter_out);
    if (rc == MPI_SUCCESS)
        (*inter_out)->by_nic = (*inter_out)->local->by_nic = outcome.by_nic != 0;
    return rc;
}

/* Arguments that only the leader's are significant. Where they are wrong nobody knows whom to tell. */
static int check_peer(MPI_Comm peer_comm, int remote_leader, int tag, struct nof_talk *to)
{
    struct nof_comm *peer;
    int rc = nof_comm_check(peer_comm, &peer);
    if (rc == MPI_SUCCESS && (remote_leader < 0 || remote_leader >= nof_comm_peers(peer)->size))
        rc = nof_error(MPI_ERR_RANK, "the remote leader is rank %d in a peer communicator of %d",
                       remote_leader, nof_comm_peers(peer)->size);
    if (rc == MPI_SUCCESS && tag < 0)
        rc = nof_error(MPI_ERR_TAG, "the tag is %d: must be 0 to %d", tag, INT32_MAX);
    if (rc == MPI_SUCCESS)
        *to = (struct nof_talk){peer, peer->ctx | NOF_COMM_MAKE, remote_leader, tag};
    return rc;
}

NOF_MPI(Intercomm_create)
int PMPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader,
                          int tag, MPI_Comm *newintercomm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c, *inter;
    struct nof_talk to = {0};
    int rc = nof_comm_check_intra(local_comm, &c);
    if (rc == MPI_SUCCESS && (local_leader < 0 || local_leader >= nof_comm_size(c)))
        rc = nof_error(MPI_ERR_RANK, "the local leader is rank %d in a communicator of %d", local_leader,
                       nof_comm_size(c));
    if (rc == MPI_SUCCESS) {
        int place_rc = nof_error_if_null(newintercomm, "the place for the communicator");
        int leader_rc =
            c->rank == local_leader ? check_peer(peer_comm, remote_leader, tag, &to) : MPI_SUCCESS;
        rc = nof_comm_connect(c, local_leader, &to, place_rc == MPI_SUCCESS ? leader_rc : place_rc, false,
                              &inter);
        if (rc == MPI_SUCCESS && place_rc != MPI_SUCCESS) { /* not the leader's, or all would know */
            nof_comm_drop(inter);
            rc = place_rc;
        }
    }
    if (rc == MPI_SUCCESS)
        *newintercomm = inter->handle;
    return nof_lib_leave(c, rc, __func__);
}

int nof_comm_sides_swap(struct nof_comm *inter, const void *mine, void *theirs, size_t bytes)
{
    struct nof_talk to = {inter, inter->ctx | NOF_COMM_MAKE, 0, 0};
    int rc = MPI_SUCCESS;
    if (inter->rank == 0)
        rc = nof_talk_swap(&to, mine, bytes, theirs, bytes);
    int told = nof_coll_bcast(inter->local, theirs, bytes, nof_type_byte(), 0);
    return rc == MPI_SUCCESS ? told : rc;
}

/* Members of the side that comes first, then those of the other one. */
static struct nof_group *join(const struct nof_group *first, const struct nof_group *second)
{
    int *world = malloc((size_t)(first->size + second->size) * sizeof(*world));
    if (world == NULL)
        return NULL;
    for (int i = 0; i < first->size; i++)
        world[i] = nof_group_world_rank(first, i);
    for (int i = 0; i < second->size; i++)
        world[first->size + i] = nof_group_world_rank(second, i);
    return nof_group_new(first->size + second->size, world);
}

/* The side with high = false comes first; where both say the same, the one whose leader has the lower
 * job rank. */
static int merge(struct nof_comm *inter, bool high, struct nof_comm **merged_out)
{
    struct {
        int32_t high;
        uint32_t ctx;
    } mine = {high, inter->rank == 0 ? nof_comm_draw_ctx() : 0}, theirs = {0, 0};
    int rc = nof_comm_sides_swap(inter, &mine, &theirs, sizeof(mine));
    if (rc == MPI_SUCCESS)
        rc = nof_coll_bcast(inter->local, &mine, sizeof(mine), nof_type_byte(), 0);
    if (rc != MPI_SUCCESS)
        return rc;
    bool lower = nof_group_world_rank(inter->group, 0) < nof_group_world_rank(inter->remote, 0);
    bool first = mine.high == theirs.high ? lower : !mine.high;
    struct nof_group *all = first ? join(inter->group, inter->remote) : join(inter->remote, inter->group);
    if (all == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a group of both sides");
    return nof_comm_new(all, first ? mine.ctx : theirs.ctx, inter, merged_out);
}

NOF_MPI(Intercomm_merge)
int PMPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newintracomm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c, *merged;
    int rc = nof_comm_check_inter(intercomm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(newintracomm, "the place for the communicator");
    if (rc == MPI_SUCCESS)
        rc = merge(c, high != 0, &merged);
    if (rc == MPI_SUCCESS)
        *newintracomm = merged->handle;
    return nof_lib_leave(c, rc, __func__);
}

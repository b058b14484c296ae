/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/group/coll_group.h"

#include <stdlib.h>

#include "coll/agree.h"
#include "coll/select.h"

#define BYTES_MIN 32768u
#define FIRST_VOTE 8u
#define VOTE_EVERY 64u /* where the feature is on everywhere; else: */
#define ASK_EVERY 1024u
#define MESSAGES 3u /* of a call two at most, and that of the opening */

static struct nof_coll_group *groups;
uint64_t nof_bcast_counted[NOF_BCAST_WAYS];

void nof_bcast_count(enum nof_bcast_way way)
{
    nof_bcast_counted[way]++;
}

void nof_group_members_free(struct nof_group_members *m)
{
    free(m->rank);
    free(m->of);
    *m = (struct nof_group_members){.count = 0};
}

int nof_group_members_find(struct nof_group_members *m, const struct nof_comm *comm, const bool *takes_part,
                           int first)
{
    int size = nof_comm_size(comm), rc = MPI_SUCCESS;
    uint32_t *nic = malloc((size_t)size * sizeof(*nic)), id;
    *m = (struct nof_group_members){.rank = malloc((size_t)size * sizeof(*m->rank)),
                                    .of = malloc((size_t)size * sizeof(*m->of))};
    if (nic == NULL || m->rank == NULL || m->of == NULL)
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for the members of a multicast group");
    for (int i = 0; rc == MPI_SUCCESS && i <= size; i++) { /* `first` is first */
        int rank = i == 0 ? first : i - 1, at = 0;
        if (i > 0 && (rank == first || (takes_part != NULL && !takes_part[rank]))) {
            m->of[rank] = rank == first ? 0 : -1;
            continue;
        }
        rc = nof_chan_to_all->nic_of(nof_comm_peer_world(comm, rank), &id);
        while (rc == MPI_SUCCESS && at < m->count && nic[at] != id)
            at++;
        if (rc == MPI_SUCCESS && at == m->count) {
            nic[at] = id;
            m->rank[m->count++] = rank;
        }
        m->of[rank] = at;
    }
    free(nic);
    if (rc != MPI_SUCCESS)
        nof_group_members_free(m);
    return rc;
}

void nof_group_members_open(const struct nof_group_members *m, const struct nof_comm *comm,
                            struct nof_chan_group *group, uint32_t first, uint32_t epoch)
{
    int world[NOF_GROUP_MEMBERS_MAX];
    for (int i = 0; i < m->count && i < NOF_GROUP_MEMBERS_MAX; i++)
        world[i] = nof_comm_peer_world(comm, m->rank[i]);
    nof_chan_to_all->groups->open(
        group,
        &(struct nof_chan_group_args){
            .ctx = nof_comm_coll_ctx(comm), .ranks = world, .n = m->count, .first = first, .epoch = epoch});
}

static void drop(struct nof_coll_group *g)
{
    nof_chan_to_all->groups->close(&g->nic);
    nof_group_members_free(&g->members);
    free(g->beside);
    free(g);
}

void nof_coll_group_forget(uint32_t coll_ctx)
{
    for (struct nof_coll_group **at = &groups; *at != NULL; at = &(*at)->next) {
        struct nof_coll_group *g = *at;
        if (g->ctx != coll_ctx)
            continue;
        *at = g->next;
        drop(g);
        return;
    }
}

void nof_coll_group_clear(void)
{
    while (groups != NULL)
        nof_coll_group_forget(groups->ctx);
}

/* Who is on which NIC. Where that cannot be known, or memory is short, the group stays shut. */
static void find_members(struct nof_coll_group *g, const struct nof_sched *s)
{
    struct nof_group_members *m = &g->members;
    g->sought = true;
    g->beside = malloc((size_t)s->size * sizeof(*g->beside));
    if (g->beside == NULL || nof_group_members_find(m, s->comm, NULL, 0) != MPI_SUCCESS)
        return;
    for (int rank = 0; rank < s->size; rank++)
        if (m->of[rank] == m->of[s->rank])
            g->beside[g->beside_count++] = rank;
    g->few = m->count < NOF_GROUP_MEMBERS_MIN || m->count > NOF_GROUP_MEMBERS_MAX;
}

static struct nof_coll_group *group_of(const struct nof_sched *s)
{
    uint32_t ctx = nof_comm_coll_ctx(s->comm);
    for (struct nof_coll_group *g = groups; g != NULL; g = g->next)
        if (g->ctx == ctx)
            return g;
    struct nof_coll_group *g = calloc(1, sizeof(*g));
    if (g == NULL)
        return NULL;
    g->ctx = ctx;
    g->next = groups;
    groups = g;
    return g;
}

/* The result of the vote that went with the last one; it has ended, as it was blocking. */
static void count_votes(struct nof_coll_group *g)
{
    if (!g->voted)
        return;
    g->voted = false;
    if (!g->wanted && g->votes == 1) {
        g->wanted = true;
        g->agreement = NOF_GROUP_NOT_ASKED;
    } else {
        g->agreement = g->votes == 1 ? NOF_GROUP_AGREED : NOF_GROUP_REFUSED;
    }
}

/* The first time, or after it was refused for long. */
static void open_group(struct nof_coll_group *g, const struct nof_sched *s)
{
    if (!g->wanted || !g->useful ||
        (g->sought && (g->agreement != NOF_GROUP_REFUSED || g->calls % VOTE_EVERY != 1)))
        return;
    if (!g->sought)
        find_members(g, s);
    if (g->few || g->members.count == 0)
        return;
    nof_chan_to_all->groups->close(&g->nic);
    g->number = MESSAGES * g->calls; /* alike, even after calls that went other ways at other ranks */
    nof_group_members_open(&g->members, s->comm, &g->nic, g->number++, 0);
}

static bool votes_now(const struct nof_coll_group *g)
{
    if (!g->wanted)
        return g->calls == FIRST_VOTE || g->calls % ASK_EVERY == 0;
    return g->calls % VOTE_EVERY == 0 || (g->calls & (g->calls - 1)) == 0;
}

void nof_coll_group_vote(struct nof_sched *s)
{
    if (!s->blocking)
        return;
    struct nof_coll_group *g = groups;
    while (g != NULL && g->ctx != nof_comm_coll_ctx(s->comm))
        g = g->next;
    if (g == NULL || g->few || !g->voted)
        return;
    struct nof_type *type;
    struct nof_op *op;
    if (nof_type_check(MPI_INT, true, &type) != MPI_SUCCESS ||
        nof_op_check(MPI_MIN, type, &op) != MPI_SUCCESS)
        return; /* not reached: they are predefined */
    nof_sched_fence(s);
    nof_coll_build_allreduce(s, &(struct nof_reduction){&g->vote, &g->votes, 1, type, op});
}

/* From the first of `n` ranks to the others. */
static void hand_on(struct nof_sched *s, const struct nof_coll_group *g, const struct nof_data *data,
                    int from)
{
    int n = g->beside_count, me = 0, source = 0, mask = 1;
    for (int i = 0; i < n; i++) {
        me = g->beside[i] == s->rank ? i : me;
        source = g->beside[i] == from ? i : source;
    }
    int relative = (me - source + n) % n;
    while (mask < n && (relative & mask) == 0)
        mask *= 2;
    if (relative != 0) {
        nof_coll_recv(s, data, g->beside[(relative - mask + source) % n]);
        nof_sched_fence(s);
    }
    for (mask /= 2; mask > 0; mask /= 2)
        if (relative + mask < n)
            nof_coll_send(s, data, g->beside[(relative + mask + source) % n]);
}

void nof_coll_group_build(struct nof_sched *s, struct nof_coll_group *g, const struct nof_data *data,
                          int root)
{
    const struct nof_group_members *m = &g->members;
    int member = m->of[root], from = root;
    bool here = member == m->of[s->rank];
    struct nof_group_step step = {
        .group = &g->nic, .number = g->number++, .member = nof_comm_peer_world(s->comm, m->rank[member])};
    if (s->rank == root)
        nof_sched_multicast(s, data, &step, true, root);
    if (!here && s->rank == m->rank[m->of[s->rank]])
        nof_sched_multicast(s, data, &step, false, root);
    if (!here) {
        from = g->beside[0];
        nof_sched_fence(s);
    }
    hand_on(s, g, data, from);
}

struct nof_coll_group *nof_coll_group_ask(struct nof_sched *s, bool useful)
{
    if (!s->blocking || s->size < NOF_GROUP_MEMBERS_MIN || s->comm->remote != NULL ||
        nof_chan_to_all->groups == NULL)
        return NULL;
    struct nof_coll_group *g = group_of(s);
    if (g == NULL) {
        s->build_error = nof_error(MPI_ERR_NO_MEM, "no memory for a collective operation");
        return NULL;
    }
    if (g->few)
        return g;
    count_votes(g);
    g->calls++;
    g->useful |= useful;
    open_group(g, s);
    if (g->few)
        return g;
    g->voted = votes_now(g);
    g->vote = nof_chan_to_all->groups->wanted() && (!g->wanted || (g->nic.open && !g->nic.deaf));
    g->votes = 0;
    return g;
}

bool nof_coll_group_bcast(struct nof_sched *s, const struct nof_data *data, int root, size_t bytes)
{
    bool large = bytes >= BYTES_MIN;
    struct nof_coll_group *g = nof_coll_group_ask(s, large);
    if (g == NULL || !large)
        return false;
    if (!nof_coll_group_agreed(g)) {
        nof_bcast_counted[g->few                              ? NOF_BCAST_FEW
                          : g->agreement == NOF_GROUP_REFUSED ? NOF_BCAST_REFUSED
                                                              : NOF_BCAST_UNASKED]++;
        return false;
    }
    nof_bcast_counted[NOF_BCAST_MULTICAST]++;
    nof_coll_agree_way(s, NOF_ALGORITHM_COUNT);
    if (data->type->contiguous) {
        char *at = nof_lib_at(data->buf, data->type->tree->lb);
        nof_coll_group_build(s, g, &(struct nof_data){at, bytes, nof_type_byte()}, root);
        return true;
    }
    char *packed = nof_sched_temporary(s, bytes, nof_type_byte());
    struct nof_data all = {packed, bytes, nof_type_byte()};
    if (s->rank == root)
        nof_coll_pack(s, data, packed, bytes);
    nof_coll_group_build(s, g, &all, root);
    nof_sched_fence(s);
    if (s->rank != root)
        nof_coll_unpack(s, packed, data);
    return true;
}

int nof_coll_group_tell(struct nof_comm *comm, void *buf, size_t bytes, int root)
{
    struct nof_sched *s = nof_sched_new(comm);
    struct nof_data data = {buf, bytes, nof_type_byte()};
    if (s == NULL)
        return nof_sched_run(s);
    s->blocking = true;
    nof_coll_agree(s, NOF_CALL_SCATTER_GROUP, root, 3);
    struct nof_coll_group *g = nof_coll_group_ask(s, true);
    if (nof_coll_group_agreed(g))
        nof_coll_group_build(s, g, &data, root);
    else
        nof_coll_build_bcast(s, &data, root);
    nof_coll_group_vote(s);
    return nof_sched_run(s);
}

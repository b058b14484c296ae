/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/coll.h"

#include <stdlib.h>

#include "chan/chan.h"
#include "coll/agree.h"
#include "coll/select.h"
#include "nof/status.h"

#define BYTES_MIN 32768u
#define MEMBERS_MIN 3
#define MEMBERS_MAX 256
#define FIRST_VOTE 8u
#define VOTE_EVERY 64u /* where the feature is on everywhere; else: */
#define ASK_EVERY 1024u

enum agreement { NOT_ASKED, AGREED, REFUSED };

struct coll_group {
    struct coll_group *next;
    uint32_t ctx;
    uint32_t calls; /* blocking broadcasts so far */
    uint32_t number; /* of the next message of the group */
    enum agreement agreement;
    int vote, votes; /* ours; the least of all, once the broadcast has ended */
    bool voted;
    bool wanted; /* by all: then members are looked for, and votes ask whether the group is open */
    bool sought; /* who the members are has been looked for */
    bool large; /* one of them was */
    bool few;
    int members; /* 0: not known */
    int *member; /* job rank of each */
    int *member_of; /* of each rank: which member's NIC it is on */
    int *beside; /* ranks on this rank's NIC */
    int beside_count;
    struct nof_chan_group nic;
};

static struct coll_group *first;
static unsigned long long counts[NOF_BCAST_WAYS];

unsigned long long nof_bcast_counted(enum nof_bcast_way way)
{
    return counts[way];
}

static void drop(struct coll_group *g)
{
    nof_chan_to_all->groups->close(&g->nic);
    free(g->member);
    free(g->member_of);
    free(g->beside);
    free(g);
}

void nof_coll_group_forget(uint32_t coll_ctx)
{
    for (struct coll_group **at = &first; *at != NULL; at = &(*at)->next) {
        struct coll_group *g = *at;
        if (g->ctx != coll_ctx)
            continue;
        *at = g->next;
        drop(g);
        return;
    }
}

void nof_coll_group_clear(void)
{
    while (first != NULL)
        nof_coll_group_forget(first->ctx);
}

/* Who is on which NIC. Where that cannot be known, or memory is short, the group stays shut. */
static void find_members(struct coll_group *g, const struct nof_sched *s)
{
    uint64_t *nic = malloc((size_t)s->size * sizeof(*nic));
    g->sought = true;
    g->member = malloc((size_t)s->size * sizeof(*g->member));
    g->member_of = malloc((size_t)s->size * sizeof(*g->member_of));
    g->beside = malloc((size_t)s->size * sizeof(*g->beside));
    bool good = nic != NULL && g->member != NULL && g->member_of != NULL && g->beside != NULL;
    for (int rank = 0; good && rank < s->size; rank++) {
        uint64_t id;
        int at = 0, world = nof_comm_peer_world(s->comm, rank);
        good = nof_chan_to_all->groups->nic_of(world, &id) == MPI_SUCCESS;
        while (good && at < g->members && nic[at] != id)
            at++;
        if (good && at == g->members) {
            nic[at] = id;
            g->member[g->members++] = world;
        }
        g->member_of[rank] = at;
    }
    for (int rank = 0; good && rank < s->size; rank++)
        if (g->member_of[rank] == g->member_of[s->rank])
            g->beside[g->beside_count++] = rank;
    free(nic);
    if (!good)
        g->members = 0;
    g->few = good && (g->members < MEMBERS_MIN || g->members > MEMBERS_MAX);
}

static struct coll_group *group_of(const struct nof_sched *s)
{
    uint32_t ctx = nof_comm_coll_ctx(s->comm);
    for (struct coll_group *g = first; g != NULL; g = g->next)
        if (g->ctx == ctx)
            return g;
    struct coll_group *g = calloc(1, sizeof(*g));
    if (g == NULL)
        return NULL;
    g->ctx = ctx;
    g->next = first;
    first = g;
    return g;
}

/* The result of the vote that went with the last one; it has ended, as it was blocking. */
static void count_votes(struct coll_group *g)
{
    if (!g->voted)
        return;
    g->voted = false;
    if (!g->wanted && g->votes == 1) {
        g->wanted = true;
        g->agreement = NOT_ASKED;
    } else {
        g->agreement = g->votes == 1 ? AGREED : REFUSED;
    }
}

/* The first time, or after it was refused for long. */
static void open_group(struct coll_group *g, const struct nof_sched *s)
{
    if (!g->wanted || !g->large || (g->sought && (g->agreement != REFUSED || g->calls % VOTE_EVERY != 1)))
        return;
    if (!g->sought)
        find_members(g, s);
    if (g->few || g->members == 0)
        return;
    nof_chan_to_all->groups->close(&g->nic);
    nof_chan_to_all->groups->open(&g->nic, g->ctx, g->member, g->members, g->number++);
}

static bool votes_now(const struct coll_group *g)
{
    if (!g->wanted)
        return g->calls == FIRST_VOTE || g->calls % ASK_EVERY == 0;
    return g->calls % VOTE_EVERY == 0 || (g->calls & (g->calls - 1)) == 0;
}

void nof_coll_group_vote(struct nof_sched *s)
{
    if (!s->blocking)
        return;
    struct coll_group *g = first;
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
static void hand_on(struct nof_sched *s, const struct coll_group *g, const struct nof_data *data, int from)
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

static void build(struct nof_sched *s, struct coll_group *g, const struct nof_data *data, int root)
{
    int member = g->member_of[root], from = root;
    bool here = member == g->member_of[s->rank];
    struct nof_group_step step = {.group = &g->nic, .number = g->number++, .member = g->member[member]};
    if (s->rank == root)
        nof_sched_multicast(s, data, &step, true, root);
    if (!here && nof_comm_peer_world(s->comm, s->rank) == g->member[g->member_of[s->rank]])
        nof_sched_multicast(s, data, &step, false, root);
    if (!here) {
        from = g->beside[0];
        nof_sched_fence(s);
    }
    hand_on(s, g, data, from);
}

bool nof_coll_group_bcast(struct nof_sched *s, const struct nof_data *data, int root, size_t bytes)
{
    bool large = bytes >= BYTES_MIN;
    if (!s->blocking || s->size < MEMBERS_MIN || s->comm->remote != NULL || nof_chan_to_all->groups == NULL)
        return false;
    struct coll_group *g = group_of(s);
    if (g == NULL) {
        s->build_error = nof_error(MPI_ERR_NO_MEM, "no memory for a broadcast");
        return false;
    }
    if (!g->few) {
        count_votes(g);
        g->calls++;
        g->large |= large;
        open_group(g, s);
    }
    counts[NOF_BCAST_FEW] += g->few && large;
    if (g->few)
        return false;
    g->voted = votes_now(g);
    g->vote = nof_chan_to_all->groups->wanted() && (!g->wanted || (g->nic.open && !g->nic.deaf));
    g->votes = 0;
    if (!large)
        return false;
    if (g->agreement != AGREED) {
        counts[g->agreement == REFUSED ? NOF_BCAST_REFUSED : NOF_BCAST_UNASKED]++;
        return false;
    }
    counts[NOF_BCAST_MULTICAST]++;
    nof_coll_agree_way(s, NOF_ALGORITHM_COUNT);
    if (data->type->contiguous) {
        char *at = nof_lib_at(data->buf, data->type->tree->lb);
        build(s, g, &(struct nof_data){at, bytes, nof_type_byte()}, root);
        return true;
    }
    char *packed = nof_sched_temporary(s, bytes, nof_type_byte());
    struct nof_data all = {packed, bytes, nof_type_byte()};
    if (s->rank == root)
        nof_coll_pack(s, data, packed, bytes);
    build(s, g, &all, root);
    nof_sched_fence(s);
    if (s->rank != root)
        nof_coll_unpack(s, packed, data);
    return true;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators whose members the processes choose together: split, create, the first n. */
#include <stdlib.h>
#include <strings.h>

#include "coll/coll.h"
#include "make/comm_make.h"
#include "comm/entry.h"
#include "base/info.h"
#include "launch/launch.h"
#include "type/type.h"

/* What every process tells every other in a split. */
struct split_card {
    int32_t color;
    int32_t key;
    int32_t rank;
    int32_t world_rank;
    uint32_t ctx; /* drawn in case that this process leads its part */
    uint32_t local_ctx;
    uint32_t by_nic; /* its hint nof_channels is nic: counts of who leads its part */
};

static int compare_cards(const void *a, const void *b)
{
    const struct split_card *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Bring the cards of one color to the front, ordered by key, then rank; how many there are. */
static int select_cards(struct split_card *cards, int total, int color)
{
    int count = 0;
    for (int i = 0; i < total; i++)
        if (cards[i].color == color)
            cards[count++] = cards[i];
    qsort(cards, (size_t)count, sizeof(*cards), compare_cards);
    return count;
}

static struct nof_group *group_of(const struct split_card *cards, int count)
{
    int *members = malloc((size_t)count * sizeof(*members));
    if (members == NULL)
        return NULL;
    for (int i = 0; i < count; i++)
        members[i] = cards[i].world_rank;
    return nof_group_new(count, members);
}

static int build_part(struct nof_comm *c, struct split_card *cards, int color, struct nof_comm **part_out)
{
    int count = select_cards(cards, nof_comm_size(c), color);
    struct nof_group *group = group_of(cards, count);
    if (group == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a group of %d ranks", count);
    int rc = nof_comm_new(group, cards[0].ctx, c, part_out);
    if (rc == MPI_SUCCESS)
        (*part_out)->by_nic = cards[0].by_nic != 0;
    return rc;
}

/* Each leader told its context: both sides take that of the lower job rank. */
static int build_inter_part(struct nof_comm *c, struct split_card *cards, struct split_card *others,
                            int color, struct nof_comm **part_out)
{
    int count = select_cards(cards, nof_comm_size(c), color);
    int other_count = select_cards(others, c->remote->size, color);
    if (other_count == 0)
        return MPI_SUCCESS;
    bool lower = cards[0].world_rank < others[0].world_rank;
    struct nof_comm_sides sides = {.group = group_of(cards, count),
                                   .remote = group_of(others, other_count),
                                   .ctx = lower ? cards[0].ctx : others[0].ctx,
                                   .local_ctx = cards[0].local_ctx};
    if (sides.group != NULL && sides.remote != NULL) {
        int rc = nof_comm_new_inter(&sides, c, part_out);
        if (rc == MPI_SUCCESS)
            (*part_out)->by_nic = (*part_out)->local->by_nic = (cards[0].by_nic | others[0].by_nic) != 0;
        return rc;
    }
    if (sides.group != NULL)
        nof_group_release(sides.group);
    if (sides.remote != NULL)
        nof_group_release(sides.remote);
    return nof_error(MPI_ERR_NO_MEM, "no memory for groups of %d and %d ranks", count, other_count);
}

/* Cards of `each` bytes, one per process: those of this side come first, then those of the other. The own one is
 * filled in. */
static int share_cards(struct nof_comm *c, void *cards, size_t each)
{
    int rc = nof_coll_allgather_bytes(c->remote == NULL ? c : c->local, cards, each);
    if (rc != MPI_SUCCESS || c->remote == NULL)
        return rc;
    size_t out = (size_t)nof_comm_size(c) * each, in = (size_t)c->remote->size * each;
    void *others = nof_lib_at(cards, (ptrdiff_t)out);
    struct nof_talk to = {c, c->ctx | NOF_COMM_MAKE, 0, 0};
    rc = c->rank == 0 ? nof_talk_swap(&to, cards, out, others, in) : MPI_SUCCESS;
    int told = nof_coll_bcast(c->local, others, in, nof_type_byte(), 0);
    return rc == MPI_SUCCESS ? told : rc;
}

int nof_comm_split_into(struct nof_comm *c, int color, int key, const struct nof_info *hints,
                        struct nof_comm **part_out)
{
    size_t size = (size_t)nof_comm_size(c), others_size = c->remote == NULL ? 0 : (size_t)c->remote->size;
    struct split_card *cards = calloc(size + others_size, sizeof(*cards));
    if (cards == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory to split %zu ranks", size + others_size);
    cards[c->rank] = (struct split_card){.color = color,
                                         .key = key,
                                         .rank = c->rank,
                                         .world_rank = nof_lib.world_rank,
                                         .ctx = nof_comm_draw_ctx(),
                                         .local_ctx = c->remote == NULL ? 0 : nof_comm_draw_ctx(),
                                         .by_nic = nof_comm_hints_by_nic(hints)};
    int rc = share_cards(c, cards, sizeof(*cards));
    *part_out = NULL;
    if (rc == MPI_SUCCESS && color != MPI_UNDEFINED)
        rc = c->remote == NULL ? build_part(c, cards, color, part_out)
                               : build_inter_part(c, cards, cards + size, color, part_out);
    free(cards);
    return rc;
}

static int split(struct nof_comm *c, int color, int key, const struct nof_info *hints, MPI_Comm *newcomm)
{
    struct nof_comm *part;
    int rc = nof_comm_split_into(c, color, key, hints, &part);
    if (rc == MPI_SUCCESS && part != NULL)
        rc = nof_comm_take_hints(part, hints);
    if (rc != MPI_SUCCESS && part != NULL)
        nof_comm_drop(part);
    if (rc == MPI_SUCCESS)
        *newcomm = part == NULL ? MPI_COMM_NULL : part->handle;
    return rc;
}

int nof_comm_make_first(struct nof_comm *c, int n, struct nof_comm **made_out)
{
    *made_out = NULL;
    if (n == 0)
        return MPI_SUCCESS;
    uint32_t ctx = c->rank == 0 ? nof_comm_draw_ctx() : 0;
    int rc = nof_coll_bcast(c, &ctx, sizeof(ctx), nof_type_byte(), 0);
    if (rc != MPI_SUCCESS || c->rank >= n)
        return rc;
    int *members = malloc((size_t)n * sizeof(*members));
    for (int i = 0; members != NULL && i < n; i++)
        members[i] = nof_group_world_rank(c->group, i);
    struct nof_group *group = members == NULL ? NULL : nof_group_new(n, members);
    if (group == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a group of %d ranks", n);
    return nof_comm_new(group, ctx, c, made_out);
}

NOF_MPI(Comm_split)
int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(newcomm, "the place for the communicator");
    if (rc == MPI_SUCCESS && color < 0 && color != MPI_UNDEFINED)
        rc = nof_error(MPI_ERR_ARG, "the color is %d: must be >= 0 or MPI_UNDEFINED", color);
    if (rc == MPI_SUCCESS)
        rc = split(c, color, key, NULL, newcomm);
    return nof_lib_leave(c, rc, __func__);
}

/* The color of "ranks that share memory": the lowest job rank, of both sides, on the same (simulated) host.
 * *all_out: everybody is there. */
static int host_color(struct nof_comm *c, int *color_out, bool *all_out)
{
    int size = nof_comm_size(c), total = size + (c->remote == NULL ? 0 : c->remote->size), count = 0;
    uint64_t *hosts = calloc((size_t)total, sizeof(*hosts));
    if (hosts == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for %d host numbers", total);
    hosts[c->rank] = nof_launch_host_id();
    int rc = share_cards(c, hosts, sizeof(*hosts));
    *color_out = nof_lib.world_rank;
    for (int i = 0; rc == MPI_SUCCESS && i < total; i++) {
        if (hosts[i] != hosts[c->rank])
            continue;
        int rank = i < size ? nof_group_world_rank(c->group, i) : nof_group_world_rank(c->remote, i - size);
        *color_out = rank < *color_out ? rank : *color_out;
        count++;
    }
    *all_out = count == total;
    free(hosts);
    return rc;
}

static bool says(const struct nof_info *hints, const char *key, const char *value)
{
    const char *said = nof_info_get(hints, key);
    return said != NULL && strcasecmp(said, value) == 0;
}

/* Of the parts that hardware has, this library knows hosts alone: what asks for smaller ones gets none
 * (MPI 4.1, 7.4.2). */
static int type_color(int split_type, const struct nof_info *hints, struct nof_comm *c, int *color_out)
{
    int host = 0;
    bool all = false; /* the unguided kind wants a proper part */
    int rc = host_color(c, &host, &all);
    bool guided = split_type == MPI_COMM_TYPE_HW_GUIDED || split_type == MPI_COMM_TYPE_RESOURCE_GUIDED;
    bool sets = split_type == MPI_COMM_TYPE_RESOURCE_GUIDED;
    *color_out = MPI_UNDEFINED;
    if (split_type == MPI_COMM_TYPE_SHARED || (split_type == MPI_COMM_TYPE_HW_UNGUIDED && !all) ||
        (guided && says(hints, "mpi_hw_resource_type", "mpi_shared_memory")))
        *color_out = host;
    else if (sets && says(hints, "mpi_pset_name", "mpi://WORLD"))
        *color_out = 0;
    else if (sets && says(hints, "mpi_pset_name", "mpi://SELF"))
        *color_out = nof_lib.world_rank;
    return rc;
}

NOF_MPI(Comm_split_type)
int PMPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_info *hints = NULL;
    int color = MPI_UNDEFINED;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(newcomm, "the place for the communicator");
    if (rc == MPI_SUCCESS && split_type != MPI_COMM_TYPE_SHARED && split_type != MPI_UNDEFINED &&
        split_type != MPI_COMM_TYPE_HW_UNGUIDED && split_type != MPI_COMM_TYPE_HW_GUIDED &&
        split_type != MPI_COMM_TYPE_RESOURCE_GUIDED)
        rc = nof_error(MPI_ERR_ARG, "split type %d is not known", split_type);
    if (rc == MPI_SUCCESS)
        rc = nof_info_check_optional(info, &hints);
    if (rc == MPI_SUCCESS)
        rc = type_color(split_type, hints, c, &color);
    if (rc == MPI_SUCCESS)
        rc = split(c, color, key, hints, newcomm);
    if (rc == MPI_SUCCESS && split_type == MPI_COMM_TYPE_HW_UNGUIDED && hints != NULL &&
        color != MPI_UNDEFINED)
        rc = nof_info_set(hints, "mpi_hw_resource_type", "mpi_shared_memory");
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_create)
int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_group *g = NULL;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(newcomm, "the place for the communicator");
    if (rc == MPI_SUCCESS)
        rc = nof_group_check(group, &g);
    if (rc == MPI_SUCCESS)
        rc = nof_group_check_session(g, c->session);
    for (int i = 0; rc == MPI_SUCCESS && i < g->size; i++)
        if (nof_group_rank_of(c->group, nof_group_world_rank(g, i)) == MPI_UNDEFINED)
            rc = nof_error(MPI_ERR_GROUP, "rank %d of the group is not in the communicator", i);
    if (rc == MPI_SUCCESS) {
        /* Parts of one intra-communicator may differ: the color is the part's first member. */
        int color = g->rank == MPI_UNDEFINED ? MPI_UNDEFINED
                    : c->remote != NULL      ? 0
                                             : nof_group_rank_of(c->group, nof_group_world_rank(g, 0));
        rc = split(c, color, g->rank, NULL, newcomm);
    }
    return nof_lib_leave(c, rc, __func__);
}

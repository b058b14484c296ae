/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "coll.h"
#include "comm.h"
#include "launch.h"
#include "type.h"

NOF_MPI(Comm_size)
int PMPI_Comm_size(MPI_Comm comm, int *size)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        *size = nof_comm_size(c);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_rank)
int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        *rank = c->rank;
    return nof_lib_leave(c, rc, __func__);
}

static int group_handle(struct nof_group *g, MPI_Group *group)
{
    uint64_t handle = nof_handle_add(&nof_lib.groups, g);
    if (handle == 0)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a group handle");
    nof_group_hold(g);
    *group = nof_lib_handle(handle);
    return MPI_SUCCESS;
}

NOF_MPI(Comm_group)
int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = group_handle(c->group, group);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_remote_size)
int PMPI_Comm_remote_size(MPI_Comm comm, int *size)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check_inter(comm, &c);
    if (rc == MPI_SUCCESS)
        *size = c->remote->size;
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_remote_group)
int PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check_inter(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = group_handle(c->remote, group);
    return nof_lib_leave(c, rc, __func__);
}

static int compare(struct nof_comm *a, struct nof_comm *b)
{
    if (a == b)
        return MPI_IDENT;
    if ((a->remote == NULL) != (b->remote == NULL))
        return MPI_UNEQUAL;
    int local = nof_group_compare(a->group, b->group);
    int remote = a->remote == NULL ? MPI_IDENT : nof_group_compare(a->remote, b->remote);
    if (local == MPI_UNEQUAL || remote == MPI_UNEQUAL)
        return MPI_UNEQUAL;
    return local == MPI_IDENT && remote == MPI_IDENT ? MPI_CONGRUENT : MPI_SIMILAR;
}

NOF_MPI(Comm_compare)
int PMPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
    nof_lib_enter(__func__);
    struct nof_comm *a, *b = NULL;
    int rc = nof_comm_check(comm1, &a);
    if (rc == MPI_SUCCESS)
        rc = nof_comm_check(comm2, &b);
    if (rc == MPI_SUCCESS)
        *result = compare(a, b);
    return nof_lib_leave(a, rc, __func__);
}

NOF_MPI(Comm_dup)
int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c, *copy;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS) {
        uint32_t ctx = c->rank == 0 ? nof_comm_draw_ctx() : 0;
        rc = nof_coll_bcast(c, &ctx, sizeof(ctx), nof_type_byte(), 0);
        if (rc == MPI_SUCCESS) {
            nof_group_hold(c->group);
            rc = nof_comm_new(c->group, ctx, c, &copy);
        }
        if (rc == MPI_SUCCESS)
            *newcomm = copy->handle;
    }
    return nof_lib_leave(c, rc, __func__);
}

/* What every process tells every other in a split. */
struct split_card {
    int color;
    int key;
    int rank;
    uint32_t ctx; /* drawn in case that this process leads its part */
};

static int compare_cards(const void *a, const void *b)
{
    const struct split_card *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The communicator of all cards with my color, ordered by key, then rank. `cards` is reordered. */
static int build_part(struct nof_comm *c, struct split_card *cards, int color, struct nof_comm **part_out)
{
    int count = 0;
    for (int i = 0; i < nof_comm_size(c); i++)
        if (cards[i].color == color)
            cards[count++] = cards[i];
    qsort(cards, (size_t)count, sizeof(*cards), compare_cards);
    int *members = malloc((size_t)count * sizeof(*members));
    if (members == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for %d ranks", count);
    for (int i = 0; i < count; i++)
        members[i] = nof_group_world_rank(c->group, cards[i].rank);
    struct nof_group *group = nof_group_new(count, members);
    if (group == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a group of %d ranks", count);
    return nof_comm_new(group, cards[0].ctx, c, part_out);
}

static int split(struct nof_comm *c, int color, int key, MPI_Comm *newcomm)
{
    size_t size = (size_t)nof_comm_size(c);
    struct split_card *cards = calloc(size, sizeof(*cards));
    if (cards == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory to split %zu ranks", size);
    cards[c->rank] =
        (struct split_card){.color = color, .key = key, .rank = c->rank, .ctx = nof_comm_draw_ctx()};
    int rc = nof_coll_allgather_bytes(c, cards, sizeof(*cards));
    struct nof_comm *part = NULL;
    if (rc == MPI_SUCCESS && color != MPI_UNDEFINED)
        rc = build_part(c, cards, color, &part);
    if (rc == MPI_SUCCESS)
        *newcomm = part == NULL ? MPI_COMM_NULL : part->handle;
    free(cards);
    return rc;
}

NOF_MPI(Comm_split)
int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS && color < 0 && color != MPI_UNDEFINED)
        rc = nof_error(MPI_ERR_ARG, "the color is %d: must be >= 0 or MPI_UNDEFINED", color);
    if (rc == MPI_SUCCESS)
        rc = split(c, color, key, newcomm);
    return nof_lib_leave(c, rc, __func__);
}

/* The color of "ranks that share memory": the lowest rank of the same (simulated) host. */
static int host_color(struct nof_comm *c, int *color_out)
{
    size_t size = (size_t)nof_comm_size(c);
    uint64_t *hosts = calloc(size, sizeof(*hosts));
    if (hosts == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for %zu host numbers", size);
    hosts[c->rank] = nof_launch_host_id();
    int rc = nof_coll_allgather_bytes(c, hosts, sizeof(*hosts));
    for (size_t i = 0; rc == MPI_SUCCESS; i++) {
        if (hosts[i] == hosts[c->rank]) {
            *color_out = (int)i;
            break;
        }
    }
    free(hosts);
    return rc;
}

NOF_MPI(Comm_split_type)
int PMPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    nof_lib_enter(__func__);
    (void)info;
    struct nof_comm *c;
    int color = MPI_UNDEFINED;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS && split_type != MPI_COMM_TYPE_SHARED && split_type != MPI_UNDEFINED &&
        split_type != MPI_COMM_TYPE_HW_UNGUIDED && split_type != MPI_COMM_TYPE_HW_GUIDED &&
        split_type != MPI_COMM_TYPE_RESOURCE_GUIDED)
        rc = nof_error(MPI_ERR_ARG, "split type %d is not known", split_type);
    if (rc == MPI_SUCCESS) {
        int host = MPI_UNDEFINED;
        rc = host_color(c, &host);
        /* The guided kinds ask for parts below a host, of which this library knows none. */
        if (split_type == MPI_COMM_TYPE_SHARED)
            color = host;
    }
    if (rc == MPI_SUCCESS)
        rc = split(c, color, key, newcomm);
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
        rc = nof_group_check(group, &g);
    for (int i = 0; rc == MPI_SUCCESS && i < g->size; i++)
        if (nof_group_rank_of(c->group, nof_group_world_rank(g, i)) == MPI_UNDEFINED)
            rc = nof_error(MPI_ERR_GROUP, "rank %d of the group is not in the communicator", i);
    if (rc == MPI_SUCCESS) {
        /* Parts of one MPI_Comm_create may differ: the color is the part's first member. */
        int color = g->rank == MPI_UNDEFINED ? MPI_UNDEFINED
                                             : nof_group_rank_of(c->group, nof_group_world_rank(g, 0));
        rc = split(c, color, g->rank, newcomm);
    }
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_free)
int PMPI_Comm_free(MPI_Comm *comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(*comm, &c);
    if (rc == MPI_SUCCESS && c->predefined)
        rc = nof_error(MPI_ERR_COMM, "%s cannot be freed", c->name);
    if (rc == MPI_SUCCESS) {
        nof_comm_drop(c);
        c = NULL;
        *comm = MPI_COMM_NULL;
    }
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_test_inter)
int PMPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        *flag = c->remote != NULL;
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_set_name)
int PMPI_Comm_set_name(MPI_Comm comm, const char *comm_name)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS && comm_name == NULL)
        rc = nof_error(MPI_ERR_ARG, "the name is NULL");
    if (rc == MPI_SUCCESS)
        snprintf(c->name, sizeof(c->name), "%s", comm_name);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_get_name)
int PMPI_Comm_get_name(MPI_Comm comm, char *comm_name, int *resultlen)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS) {
        memcpy(comm_name, c->name, sizeof(c->name));
        *resultlen = (int)strlen(c->name);
    }
    return nof_lib_leave(c, rc, __func__);
}

/* The predefined attributes of every communicator. */
NOF_MPI(Comm_get_attr)
int PMPI_Comm_get_attr(MPI_Comm comm, int comm_keyval, void *attribute_val, int *flag)
{
    static int tag_ub = INT32_MAX, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE, wtime_global = 0;
    static int appnum, universe, last_used;

    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    int *value = NULL;
    if (rc == MPI_SUCCESS) {
        *flag = 1;
        appnum = nof_lib.appnum;
        universe = nof_lib.world_size;
        last_used = nof_error_last_used();
        switch (comm_keyval) {
        case MPI_TAG_UB:
            value = &tag_ub;
            break;
        case MPI_HOST:
            value = &host;
            break;
        case MPI_IO:
            value = &io;
            break;
        case MPI_WTIME_IS_GLOBAL:
            value = &wtime_global;
            break;
        case MPI_UNIVERSE_SIZE:
            value = &universe;
            break;
        case MPI_LASTUSEDCODE:
            value = &last_used;
            break;
        case MPI_APPNUM:
            *flag = nof_lib.appnum >= 0;
            value = &appnum;
            break;
        default:
            *flag = 0;
            rc = nof_error(MPI_ERR_KEYVAL, "%d is no attribute key", comm_keyval);
        }
    }
    if (rc == MPI_SUCCESS && *flag)
        memcpy(attribute_val, &value, sizeof(value));
    return nof_lib_leave(c, rc, __func__);
}

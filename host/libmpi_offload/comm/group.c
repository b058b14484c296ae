/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/group.h"

#include <stdlib.h>

#include "base/error.h"

static struct nof_group empty_group = {.refs = 1, .size = 0, .rank = MPI_UNDEFINED};

static int find_self(const struct nof_group *group)
{
    if (group->world == NULL)
        return nof_lib.world_rank < group->size ? nof_lib.world_rank : MPI_UNDEFINED;
    for (int i = 0; i < group->size; i++)
        if (group->world[i] == nof_lib.world_rank)
            return i;
    return MPI_UNDEFINED;
}

struct nof_group *nof_group_new(int size, int *world)
{
    struct nof_group *group = calloc(1, sizeof(*group));
    if (group == NULL) {
        free(world);
        return NULL;
    }
    group->refs = 1;
    group->size = size;
    group->world = world;
    group->rank = find_self(group);
    return group;
}

void nof_group_hold(struct nof_group *group)
{
    group->refs++;
}

void nof_group_release(struct nof_group *group)
{
    if (--group->refs > 0)
        return;
    free(group->world);
    free(group->back);
    free(group);
}

struct nof_group *nof_group_empty(void)
{
    return &empty_group;
}

int nof_group_check(MPI_Group handle, struct nof_group **group_out)
{
    struct nof_group *group =
        handle == MPI_GROUP_EMPTY ? &empty_group : nof_handle_get(&nof_lib.groups, nof_lib_bits(handle));
    if (group == NULL)
        return nof_error(MPI_ERR_GROUP, "%s",
                         handle == MPI_GROUP_NULL ? "the group is MPI_GROUP_NULL"
                                                  : "the handle names no group (freed?)");
    *group_out = group;
    return MPI_SUCCESS;
}

int nof_group_check_session(const struct nof_group *group, MPI_Session other)
{
    if (group->session == NULL || other == NULL || group->session == other)
        return MPI_SUCCESS;
    return nof_error(MPI_ERR_GROUP, "the group is of another session than what it is used with");
}

static int *copy_of(const struct nof_group *group)
{
    int *world = malloc((size_t)group->size * sizeof(*world));
    for (int i = 0; world != NULL && i < group->size; i++)
        world[i] = nof_group_world_rank(group, i);
    return world;
}

struct nof_group *nof_group_in_session(struct nof_group *group, MPI_Session session)
{
    if (group->session == session || session == NULL) {
        nof_group_hold(group);
        return group;
    }
    int *world = group->world == NULL ? NULL : copy_of(group);
    if (group->world != NULL && world == NULL)
        return NULL;
    struct nof_group *copy = nof_group_new(group->size, world);
    if (copy != NULL)
        copy->session = session;
    return copy;
}

int nof_group_publish(struct nof_group *group, MPI_Group *handle_out)
{
    uint64_t handle = nof_handle_add(&nof_lib.groups, group);
    if (handle == 0)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a group handle");
    nof_group_hold(group);
    *handle_out = nof_lib_handle(handle);
    return MPI_SUCCESS;
}

int nof_group_rank_of(struct nof_group *group, int world_rank)
{
    if (world_rank < 0 || world_rank >= nof_lib.world_size)
        return MPI_UNDEFINED;
    if (group->world == NULL)
        return world_rank < group->size ? world_rank : MPI_UNDEFINED;
    if (group->back == NULL) {
        int *back = malloc((size_t)nof_lib.world_size * sizeof(*back));
        if (back == NULL) {
            for (int i = 0; i < group->size; i++)
                if (group->world[i] == world_rank)
                    return i;
            return MPI_UNDEFINED;
        }
        for (int i = 0; i < nof_lib.world_size; i++)
            back[i] = MPI_UNDEFINED;
        for (int i = 0; i < group->size; i++)
            back[group->world[i]] = i;
        group->back = back;
    }
    return group->back[world_rank];
}

int nof_group_compare(struct nof_group *a, struct nof_group *b)
{
    if (a == b)
        return MPI_IDENT;
    if (a->size != b->size)
        return MPI_UNEQUAL;
    int result = MPI_IDENT;
    for (int i = 0; i < a->size; i++) {
        int world_rank = nof_group_world_rank(a, i);
        if (nof_group_world_rank(b, i) == world_rank)
            continue;
        if (nof_group_rank_of(b, world_rank) == MPI_UNDEFINED)
            return MPI_UNEQUAL;
        result = MPI_SIMILAR;
    }
    return result;
}

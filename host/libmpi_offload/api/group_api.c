/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "comm/entry.h"
#include "base/error.h"
#include "comm/group.h"

/* Give a new group its handle; an empty one is MPI_GROUP_EMPTY. Takes over `world`. */
static int publish(int size, int *world, MPI_Session session, MPI_Group *newgroup)
{
    if (size == 0) {
        free(world);
        *newgroup = MPI_GROUP_EMPTY;
        return MPI_SUCCESS;
    }
    struct nof_group *group = nof_group_new(size, world);
    if (group != NULL)
        group->session = session;
    uint64_t handle = group == NULL ? 0 : nof_handle_add(&nof_lib.groups, group);
    if (handle == 0) {
        if (group != NULL)
            nof_group_release(group);
        return nof_error(MPI_ERR_NO_MEM, "no memory for a group of %d processes", size);
    }
    *newgroup = nof_lib_handle(handle);
    return MPI_SUCCESS;
}

static int new_list(int size, int **list_out)
{
    *list_out = malloc((size_t)(size > 0 ? size : 1) * sizeof(**list_out));
    return *list_out == NULL ? nof_error(MPI_ERR_NO_MEM, "no memory for %d ranks", size) : MPI_SUCCESS;
}

NOF_MPI(Group_size)
int PMPI_Group_size(MPI_Group group, int *size)
{
    nof_lib_enter(__func__);
    struct nof_group *g;
    int rc = nof_group_check(group, &g);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(size, "the place for the size");
    if (rc == MPI_SUCCESS)
        *size = g->size;
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Group_rank)
int PMPI_Group_rank(MPI_Group group, int *rank)
{
    nof_lib_enter(__func__);
    struct nof_group *g;
    int rc = nof_group_check(group, &g);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(rank, "the place for the rank");
    if (rc == MPI_SUCCESS)
        *rank = g->rank;
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Group_translate_ranks)
int PMPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[])
{
    nof_lib_enter(__func__);
    struct nof_group *a, *b;
    int rc = nof_group_check(group1, &a);
    if (rc == MPI_SUCCESS)
        rc = nof_group_check(group2, &b);
    if (rc == MPI_SUCCESS && n < 0)
        rc = nof_error(MPI_ERR_ARG, "the number of ranks is %d", n);
    if (rc == MPI_SUCCESS && n > 0)
        rc = nof_error_if_null(ranks1, "the list of ranks");
    if (rc == MPI_SUCCESS && n > 0)
        rc = nof_error_if_null(ranks2, "the place for the ranks");
    for (int i = 0; rc == MPI_SUCCESS && i < n; i++) {
        if (ranks1[i] == MPI_PROC_NULL)
            ranks2[i] = MPI_PROC_NULL;
        else if (ranks1[i] < 0 || ranks1[i] >= a->size)
            rc = nof_error(MPI_ERR_RANK, "rank %d is not in a group of %d", ranks1[i], a->size);
        else
            ranks2[i] = nof_group_rank_of(b, nof_group_world_rank(a, ranks1[i]));
    }
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Group_compare)
int PMPI_Group_compare(MPI_Group group1, MPI_Group group2, int *result)
{
    nof_lib_enter(__func__);
    struct nof_group *a, *b;
    int rc = nof_group_check(group1, &a);
    if (rc == MPI_SUCCESS)
        rc = nof_group_check(group2, &b);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(result, "the place for the result");
    if (rc == MPI_SUCCESS)
        *result = nof_group_compare(a, b);
    return nof_lib_leave(NULL, rc, __func__);
}

/* Members of `a` that are (keep = true) or are not in `b`, appended to list[*count]. */
static void pick(struct nof_group *a, struct nof_group *b, bool keep, int *list, int *count)
{
    for (int i = 0; i < a->size; i++) {
        int world_rank = nof_group_world_rank(a, i);
        if ((nof_group_rank_of(b, world_rank) != MPI_UNDEFINED) == keep)
            list[(*count)++] = world_rank;
    }
}

enum set_op { SET_UNION, SET_INTERSECTION, SET_DIFFERENCE };

static int combine(enum set_op op, MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    struct nof_group *a, *b;
    int *list, count = 0;
    int rc = nof_group_check(group1, &a);
    if (rc == MPI_SUCCESS)
        rc = nof_group_check(group2, &b);
    if (rc == MPI_SUCCESS)
        rc = nof_group_check_session(a, b->session);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(newgroup, "the place for the group");
    if (rc == MPI_SUCCESS)
        rc = new_list(a->size + b->size, &list);
    if (rc != MPI_SUCCESS)
        return rc;
    if (op == SET_UNION) {
        for (int i = 0; i < a->size; i++)
            list[count++] = nof_group_world_rank(a, i);
        pick(b, a, false, list, &count);
    } else {
        pick(a, b, op == SET_INTERSECTION, list, &count);
    }
    return publish(count, list, a->session != NULL ? a->session : b->session, newgroup);
}

NOF_MPI(Group_union)
int PMPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, combine(SET_UNION, group1, group2, newgroup), __func__);
}

NOF_MPI(Group_intersection)
int PMPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, combine(SET_INTERSECTION, group1, group2, newgroup), __func__);
}

NOF_MPI(Group_difference)
int PMPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, combine(SET_DIFFERENCE, group1, group2, newgroup), __func__);
}

/* The new group of `n` distinct ranks of g in this order (keep), or of all others in g's order. */
static int select_ranks(struct nof_group *g, int n, const int ranks[], bool keep, MPI_Group *newgroup)
{
    if (n < 0)
        return nof_error(MPI_ERR_ARG, "the number of ranks is %d", n);
    bool *chosen = calloc((size_t)g->size + 1, sizeof(*chosen));
    int *list, count = 0;
    int rc = new_list(g->size, &list);
    if (chosen == NULL || rc != MPI_SUCCESS) {
        free(chosen);
        return nof_error(MPI_ERR_NO_MEM, "no memory for %d ranks", g->size);
    }
    for (int i = 0; rc == MPI_SUCCESS && i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= g->size)
            rc = nof_error(MPI_ERR_RANK, "rank %d is not in a group of %d", ranks[i], g->size);
        else if (chosen[ranks[i]])
            rc = nof_error(MPI_ERR_RANK, "rank %d is listed twice", ranks[i]);
        else {
            chosen[ranks[i]] = true;
            if (keep)
                list[count++] = nof_group_world_rank(g, ranks[i]);
        }
    }
    for (int i = 0; !keep && i < g->size; i++)
        if (!chosen[i])
            list[count++] = nof_group_world_rank(g, i);
    free(chosen);
    if (rc != MPI_SUCCESS) {
        free(list);
        return rc;
    }
    return publish(count, list, g->session, newgroup);
}

static int select_of(MPI_Group group, int n, const int ranks[], bool keep, MPI_Group *newgroup)
{
    struct nof_group *g;
    int rc = nof_group_check(group, &g);
    if (rc == MPI_SUCCESS && n > 0)
        rc = nof_error_if_null(ranks, "the list of ranks");
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(newgroup, "the place for the group");
    return rc == MPI_SUCCESS ? select_ranks(g, n, ranks, keep, newgroup) : rc;
}

NOF_MPI(Group_incl)
int PMPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, select_of(group, n, ranks, true, newgroup), __func__);
}

NOF_MPI(Group_excl)
int PMPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, select_of(group, n, ranks, false, newgroup), __func__);
}

/* Ranks of (first, last, stride) triplets; more of them than the group has are an error anyway. */
static int expand(const struct nof_group *g, int n, int ranges[][3], int *list, int *count)
{
    for (int i = 0; i < n; i++) {
        int first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
        if (stride == 0)
            return nof_error(MPI_ERR_ARG, "the stride of range %d is 0", i);
        for (long r = first; stride > 0 ? r <= last : r >= last; r += stride) {
            if (r < 0 || r >= g->size)
                return nof_error(MPI_ERR_RANK, "range %d holds rank %ld, the group has %d", i, r, g->size);
            if (*count == g->size)
                return nof_error(MPI_ERR_RANK, "range %d names a rank twice", i);
            list[(*count)++] = (int)r;
        }
    }
    return MPI_SUCCESS;
}

static int select_ranges(MPI_Group group, int n, int ranges[][3], bool keep, MPI_Group *newgroup)
{
    struct nof_group *g;
    int *list, count = 0;
    int rc = nof_group_check(group, &g);
    if (rc == MPI_SUCCESS && n < 0)
        rc = nof_error(MPI_ERR_ARG, "the number of ranges is %d", n);
    if (rc == MPI_SUCCESS && n > 0)
        rc = nof_error_if_null(ranges, "the list of ranges");
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(newgroup, "the place for the group");
    if (rc == MPI_SUCCESS)
        rc = new_list(g->size, &list);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = expand(g, n, ranges, list, &count);
    if (rc == MPI_SUCCESS)
        rc = select_ranks(g, count, list, keep, newgroup);
    free(list);
    return rc;
}

NOF_MPI(Group_range_incl)
int PMPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, select_ranges(group, n, ranges, true, newgroup), __func__);
}

NOF_MPI(Group_range_excl)
int PMPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, select_ranges(group, n, ranges, false, newgroup), __func__);
}

NOF_MPI(Group_free)
int PMPI_Group_free(MPI_Group *group)
{
    nof_lib_enter(__func__);
    struct nof_group *g;
    int rc = nof_error_if_null(group, "the place of the handle");
    if (rc == MPI_SUCCESS)
        rc = nof_group_check(*group, &g);
    if (rc == MPI_SUCCESS) {
        if (g != nof_group_empty()) {
            nof_handle_remove(&nof_lib.groups, nof_lib_bits(*group));
            nof_group_release(g);
        }
        *group = MPI_GROUP_NULL;
    }
    return nof_lib_leave(NULL, rc, __func__);
}

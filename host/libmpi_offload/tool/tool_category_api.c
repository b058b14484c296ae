/* SPDX-License-Identifier: BSD-3-Clause */
/* Categories: 0 is the library, 1 the NIC with its features, and the NIC's parts follow, one per first part of the
 * counters' names in the order of the table. */
#include <stdio.h>
#include <string.h>

#include "comm/entry.h"
#include "tool/tool.h"

enum { LIBRARY, NIC, PARTS };
enum { NAME_BYTES = 32 };

/* Length of the first part of a counter's name: "port" of "port.tx_frames". */
static size_t part_len(int counter)
{
    return strcspn(nof_tool_pvar(NOF_TOOL_OWN + counter).name, ".");
}

static bool same_part(int a, int b)
{
    size_t len = part_len(a);
    return len == part_len(b) &&
           memcmp(nof_tool_pvar(NOF_TOOL_OWN + a).name, nof_tool_pvar(NOF_TOOL_OWN + b).name, len) == 0;
}

static bool begins_part(int counter)
{
    for (int i = 0; i < counter; i++)
        if (same_part(i, counter))
            return false;
    return true;
}

/* The counter with which part `part` begins; -1 beyond the last. */
static int first_of(int part)
{
    for (int i = 0; i < NOF_COUNTER_COUNT; i++)
        if (begins_part(i) && part-- == 0)
            return i;
    return -1;
}

static int categories(void)
{
    int count = PARTS;
    while (first_of(count - PARTS) >= 0)
        count++;
    return count;
}

static void name_of(int category, char *name)
{
    int first = category < PARTS ? 0 : first_of(category - PARTS);
    if (category == LIBRARY)
        snprintf(name, NAME_BYTES, "library");
    else if (category == NIC)
        snprintf(name, NAME_BYTES, "nic");
    else
        snprintf(name, NAME_BYTES, "nic.%.*s", (int)part_len(first),
                 nof_tool_pvar(NOF_TOOL_OWN + first).name);
}

/* The at-th member; -1 beyond the last. */
static int cvar_of(int category, int at)
{
    if (category == LIBRARY && at < NOF_TOOL_SETTINGS)
        return at;
    return category == NIC && at < NOF_FEATURE_COUNT ? NOF_TOOL_SETTINGS + at : -1;
}

static int pvar_of(int category, int at)
{
    if (category == LIBRARY && at < NOF_TOOL_OWN)
        return at;
    if (category < PARTS)
        return -1;
    int first = first_of(category - PARTS);
    for (int i = first; i < NOF_COUNTER_COUNT; i++)
        if (same_part(first, i) && at-- == 0)
            return NOF_TOOL_OWN + i;
    return -1;
}

static int category_of(int category, int at)
{
    return category == NIC && at < categories() - PARTS ? PARTS + at : -1;
}

static int count(int (*member)(int category, int at), int category)
{
    int n = 0;
    while (member(category, n) >= 0)
        n++;
    return n;
}

static int list(int category, int (*member)(int category, int at), int len, int *indices)
{
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && (category < 0 || category >= categories()))
        rc = MPI_T_ERR_INVALID_INDEX;
    if (rc == MPI_SUCCESS && (len < 0 || (len > 0 && indices == NULL)))
        rc = MPI_T_ERR_INVALID;
    for (int i = 0; rc == MPI_SUCCESS && i < len && member(category, i) >= 0; i++)
        indices[i] = member(category, i);
    return nof_tool_leave(rc);
}

NOF_MPI(T_category_get_num)
int PMPI_T_category_get_num(int *num_cat)
{
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && num_cat == NULL)
        rc = MPI_T_ERR_INVALID;
    if (rc == MPI_SUCCESS)
        *num_cat = categories();
    return nof_tool_leave(rc);
}

NOF_MPI(T_category_get_info)
int PMPI_T_category_get_info(int cat_index, char *name, int *name_len, char *desc, int *desc_len,
                             int *num_cvars, int *num_pvars, int *num_categories)
{
    static const char *const texts[] = {"the MPI library of this process",
                                        "the NIC of this process: its features, and its parts below",
                                        "counters of this part of the NIC, for this process"};
    char own[NAME_BYTES];
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && (cat_index < 0 || cat_index >= categories()))
        rc = MPI_T_ERR_INVALID_INDEX;
    if (rc == MPI_SUCCESS) {
        name_of(cat_index, own);
        nof_tool_text(own, name, name_len);
        nof_tool_text(texts[cat_index < PARTS ? cat_index : PARTS], desc, desc_len);
        if (num_cvars != NULL)
            *num_cvars = count(cvar_of, cat_index);
        if (num_pvars != NULL)
            *num_pvars = count(pvar_of, cat_index);
        if (num_categories != NULL)
            *num_categories = count(category_of, cat_index);
    }
    return nof_tool_leave(rc);
}

NOF_MPI(T_category_get_index)
int PMPI_T_category_get_index(const char *name, int *cat_index)
{
    char own[NAME_BYTES];
    int at = 0, found = -1, rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && (name == NULL || cat_index == NULL))
        rc = MPI_T_ERR_INVALID;
    for (int n = categories(); rc == MPI_SUCCESS && found < 0 && at < n; at++) {
        name_of(at, own);
        found = strcmp(own, name) == 0 ? at : -1;
    }
    if (rc == MPI_SUCCESS && found < 0)
        rc = MPI_T_ERR_INVALID_NAME;
    if (rc == MPI_SUCCESS)
        *cat_index = found;
    return nof_tool_leave(rc);
}

NOF_MPI(T_category_get_cvars)
int PMPI_T_category_get_cvars(int cat_index, int len, int indices[])
{
    return list(cat_index, cvar_of, len, indices);
}

NOF_MPI(T_category_get_pvars)
int PMPI_T_category_get_pvars(int cat_index, int len, int indices[])
{
    return list(cat_index, pvar_of, len, indices);
}

NOF_MPI(T_category_get_categories)
int PMPI_T_category_get_categories(int cat_index, int len, int indices[])
{
    return list(cat_index, category_of, len, indices);
}

static int no_event(int category, int at)
{
    (void)category, (void)at;
    return -1;
}

NOF_MPI(T_category_get_events)
int PMPI_T_category_get_events(int cat_index, int len, int indices[])
{
    return list(cat_index, no_event, len, indices);
}

NOF_MPI(T_category_get_num_events)
int PMPI_T_category_get_num_events(int cat_index, int *num_events)
{
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && (cat_index < 0 || cat_index >= categories()))
        rc = MPI_T_ERR_INVALID_INDEX;
    if (rc == MPI_SUCCESS && num_events == NULL)
        rc = MPI_T_ERR_INVALID;
    if (rc == MPI_SUCCESS)
        *num_events = 0;
    return nof_tool_leave(rc);
}

NOF_MPI(T_category_changed)
int PMPI_T_category_changed(int *update_number)
{
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && update_number == NULL)
        rc = MPI_T_ERR_INVALID;
    if (rc == MPI_SUCCESS)
        *update_number = 0; /* nothing ever changes */
    return nof_tool_leave(rc);
}

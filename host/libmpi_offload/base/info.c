/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/info.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static struct nof_info_entry *find(const struct nof_info *info, const char *key)
{
    for (int i = 0; i < info->count; i++)
        if (strcmp(info->entries[i].key, key) == 0)
            return &info->entries[i];
    return NULL;
}

const char *nof_info_get(const struct nof_info *info, const char *key)
{
    const struct nof_info_entry *entry = info == NULL ? NULL : find(info, key);
    return entry == NULL ? NULL : entry->value;
}

static bool reserve(struct nof_info *info)
{
    if (info->count < info->capacity)
        return true;
    int capacity = info->capacity == 0 ? 8 : info->capacity * 2;
    struct nof_info_entry *more = realloc(info->entries, (size_t)capacity * sizeof(*more));
    if (more == NULL)
        return false;
    info->entries = more;
    info->capacity = capacity;
    return true;
}

int nof_info_check_key(const char *key)
{
    size_t len = key == NULL ? 0 : strlen(key);
    if (len > 0 && len < MPI_MAX_INFO_KEY)
        return MPI_SUCCESS;
    return nof_error(MPI_ERR_INFO_KEY, "a key has 1 to %d characters, this one %zu", MPI_MAX_INFO_KEY - 1,
                     len);
}

int nof_info_set(struct nof_info *info, const char *key, const char *value)
{
    int rc = nof_info_check_key(key);
    if (rc != MPI_SUCCESS)
        return rc;
    if (value == NULL || strlen(value) >= MPI_MAX_INFO_VAL)
        return nof_error(MPI_ERR_INFO_VALUE, "a value has at most %d characters, that of \"%s\" %zu",
                         MPI_MAX_INFO_VAL - 1, key, value == NULL ? 0 : strlen(value));
    char *copy = strdup(value);
    struct nof_info_entry *entry = find(info, key);
    if (copy != NULL && entry != NULL) {
        free(entry->value);
        entry->value = copy;
        return MPI_SUCCESS;
    }
    char *own_key = strdup(key);
    if (copy == NULL || own_key == NULL || !reserve(info)) {
        free(copy);
        free(own_key);
        return nof_error(MPI_ERR_NO_MEM, "no memory for an info key");
    }
    info->entries[info->count++] = (struct nof_info_entry){own_key, copy};
    return MPI_SUCCESS;
}

int nof_info_copy(const struct nof_info *from, struct nof_info *to)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; rc == MPI_SUCCESS && i < from->count; i++)
        rc = nof_info_set(to, from->entries[i].key, from->entries[i].value);
    return rc;
}

static void drop_entry(struct nof_info *info, int at)
{
    free(info->entries[at].key);
    free(info->entries[at].value);
    info->count--;
    memmove(&info->entries[at], &info->entries[at + 1],
            (size_t)(info->count - at) * sizeof(info->entries[0]));
}

bool nof_info_remove(struct nof_info *info, const char *key)
{
    const struct nof_info_entry *entry = find(info, key);
    if (entry != NULL)
        drop_entry(info, (int)(entry - info->entries));
    return entry != NULL;
}

void nof_info_clear(struct nof_info *info)
{
    while (info->count > 0)
        drop_entry(info, info->count - 1);
    free(info->entries);
}

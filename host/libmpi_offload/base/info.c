/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/info.h"

#include <stdlib.h>
#include <string.h>

#include "comm/entry.h"
#include "base/error.h"

static struct nof_info environment;
static bool environment_filled;

static struct nof_info *env(void)
{
    /* What MPI_Init finds out is part of it: complete from then on. */
    if (!environment_filled && nof_lib.phase != NOF_LIB_BEFORE_INIT) {
        environment_filled = true;
        (void)nof_info_fill_env(&environment, -1, NULL);
        (void)nof_info_fill_job(&environment);
    }
    return &environment;
}

int nof_info_check(MPI_Info handle, struct nof_info **info_out)
{
    *info_out = handle == MPI_INFO_ENV ? env() : nof_handle_get(&nof_lib.infos, nof_lib_bits(handle));
    if (*info_out == NULL)
        return nof_error(MPI_ERR_INFO, "%s",
                         handle == MPI_INFO_NULL ? "the info object is MPI_INFO_NULL"
                                                 : "the handle names no info object (freed?)");
    return MPI_SUCCESS;
}

int nof_info_check_optional(MPI_Info handle, struct nof_info **info_out)
{
    *info_out = NULL;
    return handle == MPI_INFO_NULL ? MPI_SUCCESS : nof_info_check(handle, info_out);
}

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

static int check_key(const char *key)
{
    size_t len = key == NULL ? 0 : strlen(key);
    if (len > 0 && len < MPI_MAX_INFO_KEY)
        return MPI_SUCCESS;
    return nof_error(MPI_ERR_INFO_KEY, "a key has 1 to %d characters, this one %zu", MPI_MAX_INFO_KEY - 1,
                     len);
}

int nof_info_set(struct nof_info *info, const char *key, const char *value)
{
    int rc = check_key(key);
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

int nof_info_new(MPI_Info *handle_out, struct nof_info **info_out)
{
    struct nof_info *info = calloc(1, sizeof(*info));
    uint64_t handle = info == NULL ? 0 : nof_handle_add(&nof_lib.infos, info);
    if (handle == 0) {
        free(info);
        return nof_error(MPI_ERR_NO_MEM, "no memory for an info object");
    }
    *handle_out = nof_lib_handle(handle);
    if (info_out != NULL)
        *info_out = info;
    return MPI_SUCCESS;
}

static void drop_entry(struct nof_info *info, int at)
{
    free(info->entries[at].key);
    free(info->entries[at].value);
    info->count--;
    memmove(&info->entries[at], &info->entries[at + 1],
            (size_t)(info->count - at) * sizeof(info->entries[0]));
}

void nof_info_drop(MPI_Info handle)
{
    struct nof_info *info = nof_handle_get(&nof_lib.infos, nof_lib_bits(handle));
    nof_handle_remove(&nof_lib.infos, nof_lib_bits(handle));
    while (info->count > 0)
        drop_entry(info, info->count - 1);
    free(info->entries);
    free(info);
}

static int check_changeable(MPI_Info handle, struct nof_info **info_out)
{
    return handle == MPI_INFO_ENV ? nof_error(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed or freed")
                                  : nof_info_check(handle, info_out);
}

NOF_MPI(Info_create)
int PMPI_Info_create(MPI_Info *info)
{
    nof_lib_lock();
    int rc =
        info == NULL ? nof_error(MPI_ERR_ARG, "the place for the handle is NULL") : nof_info_new(info, NULL);
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Info_dup)
int PMPI_Info_dup(MPI_Info info, MPI_Info *newinfo)
{
    nof_lib_lock();
    struct nof_info *from, *to = NULL;
    int rc = nof_info_check(info, &from);
    if (rc == MPI_SUCCESS && newinfo == NULL)
        rc = nof_error(MPI_ERR_ARG, "the place for the handle is NULL");
    if (rc == MPI_SUCCESS)
        rc = nof_info_new(newinfo, &to);
    if (rc == MPI_SUCCESS && (rc = nof_info_copy(from, to)) != MPI_SUCCESS) {
        nof_info_drop(*newinfo);
        *newinfo = MPI_INFO_NULL;
    }
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Info_create_env)
int PMPI_Info_create_env(int argc, char *argv[], MPI_Info *info)
{
    nof_lib_lock();
    struct nof_info *made = NULL;
    int rc =
        info == NULL ? nof_error(MPI_ERR_ARG, "the place for the handle is NULL") : nof_info_new(info, &made);
    /* C programs may pass 0 and NULL (MPI 4.1, 10): then the process's own are as good. */
    if (rc == MPI_SUCCESS && (rc = nof_info_fill_env(made, argv == NULL ? -1 : argc, argv)) != MPI_SUCCESS) {
        nof_info_drop(*info);
        *info = MPI_INFO_NULL;
    }
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Info_free)
int PMPI_Info_free(MPI_Info *info)
{
    nof_lib_lock();
    struct nof_info *object;
    int rc = info == NULL ? nof_error(MPI_ERR_ARG, "the place of the handle is NULL")
                          : check_changeable(*info, &object);
    if (rc == MPI_SUCCESS) {
        nof_info_drop(*info);
        *info = MPI_INFO_NULL;
    }
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Info_set)
int PMPI_Info_set(MPI_Info info, const char *key, const char *value)
{
    nof_lib_lock();
    struct nof_info *object;
    int rc = check_changeable(info, &object);
    if (rc == MPI_SUCCESS)
        rc = nof_info_set(object, key, value);
    return nof_lib_leave_anytime(rc, __func__);
}

/* Arguments that all of the following share. */
static int check_look_up(MPI_Info info, const char *key, struct nof_info **object_out)
{
    int rc = nof_info_check(info, object_out);
    return rc == MPI_SUCCESS ? check_key(key) : rc;
}

NOF_MPI(Info_delete)
int PMPI_Info_delete(MPI_Info info, const char *key)
{
    nof_lib_lock();
    struct nof_info *object;
    int rc = check_look_up(info, key, &object);
    if (rc == MPI_SUCCESS)
        rc = check_changeable(info, &object);
    if (rc == MPI_SUCCESS) {
        const struct nof_info_entry *entry = find(object, key);
        if (entry == NULL)
            rc = nof_error(MPI_ERR_INFO_NOKEY, "the key \"%s\" is not set", key);
        else
            drop_entry(object, (int)(entry - object->entries));
    }
    return nof_lib_leave_anytime(rc, __func__);
}

/* At most room - 1 characters of text and a zero. */
static void copy_text(char *to, size_t room, const char *text)
{
    size_t len = strnlen(text, room - 1);
    memcpy(to, text, len);
    to[len] = '\0';
}

NOF_MPI(Info_get)
int PMPI_Info_get(MPI_Info info, const char *key, int valuelen, char *value, int *flag)
{
    nof_lib_lock();
    struct nof_info *object;
    int rc = check_look_up(info, key, &object);
    if (rc == MPI_SUCCESS && (valuelen < 0 || value == NULL || flag == NULL))
        rc = nof_error(MPI_ERR_ARG, "the length %d is negative, or value or flag is NULL", valuelen);
    if (rc == MPI_SUCCESS) {
        const char *text = nof_info_get(object, key);
        *flag = text != NULL;
        if (text != NULL)
            copy_text(value, (size_t)valuelen + 1, text);
    }
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Info_get_string)
int PMPI_Info_get_string(MPI_Info info, const char *key, int *buflen, char *value, int *flag)
{
    nof_lib_lock();
    struct nof_info *object;
    int rc = check_look_up(info, key, &object);
    if (rc == MPI_SUCCESS &&
        (buflen == NULL || *buflen < 0 || flag == NULL || (*buflen > 0 && value == NULL)))
        rc = nof_error(MPI_ERR_ARG, "the length is negative or NULL, or value or flag is NULL");
    if (rc == MPI_SUCCESS) {
        const char *text = nof_info_get(object, key);
        *flag = text != NULL;
        if (text != NULL && *buflen > 0)
            copy_text(value, (size_t)*buflen, text);
        if (text != NULL)
            *buflen = (int)strlen(text) + 1;
    }
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Info_get_valuelen)
int PMPI_Info_get_valuelen(MPI_Info info, const char *key, int *valuelen, int *flag)
{
    nof_lib_lock();
    struct nof_info *object;
    int rc = check_look_up(info, key, &object);
    if (rc == MPI_SUCCESS && (valuelen == NULL || flag == NULL))
        rc = nof_error(MPI_ERR_ARG, "the place for the length or the flag is NULL");
    if (rc == MPI_SUCCESS) {
        const char *text = nof_info_get(object, key);
        *flag = text != NULL;
        if (text != NULL)
            *valuelen = (int)strlen(text);
    }
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Info_get_nkeys)
int PMPI_Info_get_nkeys(MPI_Info info, int *nkeys)
{
    nof_lib_lock();
    struct nof_info *object;
    int rc = nof_info_check(info, &object);
    if (rc == MPI_SUCCESS && nkeys == NULL)
        rc = nof_error(MPI_ERR_ARG, "the place for the number is NULL");
    if (rc == MPI_SUCCESS)
        *nkeys = object->count;
    return nof_lib_leave_anytime(rc, __func__);
}

NOF_MPI(Info_get_nthkey)
int PMPI_Info_get_nthkey(MPI_Info info, int n, char *key)
{
    nof_lib_lock();
    struct nof_info *object;
    int rc = nof_info_check(info, &object);
    if (rc == MPI_SUCCESS && (n < 0 || n >= object->count || key == NULL))
        rc = nof_error(MPI_ERR_ARG, "key %d of %d is asked for, or key is NULL", n, object->count);
    if (rc == MPI_SUCCESS)
        copy_text(key, MPI_MAX_INFO_KEY, object->entries[n].key);
    return nof_lib_leave_anytime(rc, __func__);
}

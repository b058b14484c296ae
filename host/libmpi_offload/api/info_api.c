/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "comm/entry.h"
#include "base/info.h"

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
    return rc == MPI_SUCCESS ? nof_info_check_key(key) : rc;
}

NOF_MPI(Info_delete)
int PMPI_Info_delete(MPI_Info info, const char *key)
{
    nof_lib_lock();
    struct nof_info *object;
    int rc = check_look_up(info, key, &object);
    if (rc == MPI_SUCCESS)
        rc = check_changeable(info, &object);
    if (rc == MPI_SUCCESS && !nof_info_remove(object, key))
        rc = nof_error(MPI_ERR_INFO_NOKEY, "the key \"%s\" is not set", key);
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of communicators, with MPI-1's names for the same. */
#include <string.h>

#include "base/attr.h"
#include "comm/comm.h"
#include "comm/entry.h"
#include "base/error.h"

static struct nof_attr_owner owner_of(struct nof_comm *comm)
{
    return (struct nof_attr_owner){.on = NOF_ATTR_ON_COMM, .handle = comm->handle, .list = &comm->attrs};
}

int nof_attr_copy_comm(struct nof_comm *from, struct nof_comm *to)
{
    struct nof_attr_owner old = owner_of(from), copy = owner_of(to);
    return nof_attr_copy_all(&old, &copy);
}

int nof_attr_delete_comm(struct nof_comm *comm)
{
    struct nof_attr_owner owner = owner_of(comm);
    return nof_attr_delete_all(&owner);
}

static int create(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *remove, int *keyval,
                  void *extra_state, const char *func)
{
    nof_lib_enter(func);
    struct nof_keyval pattern = {.on = NOF_ATTR_ON_COMM,
                                 .language = nof_attr_caller(),
                                 .copy = (nof_attr_fn)copy,
                                 .remove = (nof_attr_fn)remove,
                                 .extra = extra_state};
    return nof_lib_leave(NULL, nof_keyval_new(&pattern, keyval), func);
}

static bool predefined(int keyval)
{
    return keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE;
}

static int free_keyval(int *keyval, const char *func)
{
    nof_lib_enter(func);
    int rc = keyval != NULL && predefined(*keyval)
                 ? nof_error(MPI_ERR_KEYVAL, "key %d is predefined and cannot be freed", *keyval)
                 : nof_keyval_free(NOF_ATTR_ON_COMM, keyval);
    return nof_lib_leave(NULL, rc, func);
}

static int check_changeable(int keyval)
{
    return predefined(keyval)
               ? nof_error(MPI_ERR_KEYVAL, "the attribute of key %d is predefined and cannot be changed",
                           keyval)
               : MPI_SUCCESS;
}

static int set(MPI_Comm comm, int keyval, void *value, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c;
    struct nof_attr_value v = nof_attr_value_of(nof_attr_caller(), value);
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = check_changeable(keyval);
    if (rc == MPI_SUCCESS) {
        struct nof_attr_owner owner = owner_of(c);
        rc = nof_attr_set(&owner, keyval, &v);
    }
    return nof_lib_leave(c, rc, func);
}

static int remove_attr(MPI_Comm comm, int keyval, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = check_changeable(keyval);
    if (rc == MPI_SUCCESS) {
        struct nof_attr_owner owner = owner_of(c);
        rc = nof_attr_delete(&owner, keyval);
    }
    return nof_lib_leave(c, rc, func);
}

/* A predefined attribute; NULL when the key is not set. */
static int *get_predefined(int keyval)
{
    static int tag_ub = INT32_MAX, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE, wtime_global = 0;
    static int appnum, universe, last_used;

    switch (keyval) {
    case MPI_TAG_UB:
        return &tag_ub;
    case MPI_HOST:
        return &host;
    case MPI_IO:
        return &io;
    case MPI_WTIME_IS_GLOBAL:
        return &wtime_global;
    case MPI_UNIVERSE_SIZE:
        universe = nof_lib.world_size;
        return &universe;
    case MPI_LASTUSEDCODE:
        last_used = nof_error_last_used();
        return &last_used;
    case MPI_APPNUM:
        appnum = nof_lib.appnum;
        return appnum < 0 ? NULL : &appnum;
    default:
        return NULL;
    }
}

static int get(MPI_Comm comm, int keyval, void *value_out, int *flag, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c;
    void *value = NULL;
    enum nof_attr_language language = nof_attr_caller();
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS && (value_out == NULL || flag == NULL))
        rc = nof_error(MPI_ERR_ARG, "the place for the value or the flag is NULL");
    if (rc == MPI_SUCCESS && predefined(keyval)) {
        int *number = get_predefined(keyval);
        *flag = number != NULL;
        value = number == NULL || language == NOF_ATTR_C ? (void *)number : nof_lib_handle((uint64_t)*number);
    } else if (rc == MPI_SUCCESS) {
        struct nof_attr_owner owner = owner_of(c);
        struct nof_attr_value *v = NULL;
        rc = nof_attr_get(&owner, keyval, &v);
        *flag = v != NULL;
        value = v == NULL ? NULL : nof_attr_word_for(language, v);
    }
    if (rc == MPI_SUCCESS && *flag)
        memcpy(value_out, &value, sizeof(value));
    return nof_lib_leave(c, rc, func);
}

NOF_MPI(Comm_create_keyval)
int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *comm_copy_attr_fn,
                            MPI_Comm_delete_attr_function *comm_delete_attr_fn, int *comm_keyval,
                            void *extra_state)
{
    return create(comm_copy_attr_fn, comm_delete_attr_fn, comm_keyval, extra_state, __func__);
}

NOF_MPI(Comm_free_keyval)
int PMPI_Comm_free_keyval(int *comm_keyval)
{
    return free_keyval(comm_keyval, __func__);
}

NOF_MPI(Comm_set_attr)
int PMPI_Comm_set_attr(MPI_Comm comm, int comm_keyval, void *attribute_val)
{
    return set(comm, comm_keyval, attribute_val, __func__);
}

NOF_MPI(Comm_get_attr)
int PMPI_Comm_get_attr(MPI_Comm comm, int comm_keyval, void *attribute_val, int *flag)
{
    return get(comm, comm_keyval, attribute_val, flag, __func__);
}

NOF_MPI(Comm_delete_attr)
int PMPI_Comm_delete_attr(MPI_Comm comm, int comm_keyval)
{
    return remove_attr(comm, comm_keyval, __func__);
}

NOF_MPI(Keyval_create)
int PMPI_Keyval_create(MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn, int *keyval,
                       void *extra_state)
{
    return create(copy_fn, delete_fn, keyval, extra_state, __func__);
}

NOF_MPI(Keyval_free)
int PMPI_Keyval_free(int *keyval)
{
    return free_keyval(keyval, __func__);
}

NOF_MPI(Attr_put)
int PMPI_Attr_put(MPI_Comm comm, int keyval, void *attribute_val)
{
    return set(comm, keyval, attribute_val, __func__);
}

NOF_MPI(Attr_get)
int PMPI_Attr_get(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    return get(comm, keyval, attribute_val, flag, __func__);
}

NOF_MPI(Attr_delete)
int PMPI_Attr_delete(MPI_Comm comm, int keyval)
{
    return remove_attr(comm, keyval, __func__);
}

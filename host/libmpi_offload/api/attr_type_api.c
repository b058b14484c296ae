/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of datatypes, and the keys of windows' attributes. */
#include <string.h>

#include "base/attr.h"
#include "comm/entry.h"
#include "base/error.h"
#include "type/type.h"

static struct nof_attr_owner owner_of(struct nof_type *type)
{
    return (struct nof_attr_owner){.on = NOF_ATTR_ON_TYPE, .handle = type->handle, .list = &type->attrs};
}

int nof_attr_copy_type(struct nof_type *from, struct nof_type *to)
{
    struct nof_attr_owner old = owner_of(from), copy = owner_of(to);
    return nof_attr_copy_all(&old, &copy);
}

int nof_attr_delete_type(struct nof_type *type)
{
    struct nof_attr_owner owner = owner_of(type);
    return nof_attr_delete_all(&owner);
}

NOF_MPI(Type_create_keyval)
int PMPI_Type_create_keyval(MPI_Type_copy_attr_function *type_copy_attr_fn,
                            MPI_Type_delete_attr_function *type_delete_attr_fn, int *type_keyval,
                            void *extra_state)
{
    nof_lib_enter(__func__);
    struct nof_keyval pattern = {.on = NOF_ATTR_ON_TYPE,
                                 .language = nof_attr_caller(),
                                 .copy = (nof_attr_fn)type_copy_attr_fn,
                                 .remove = (nof_attr_fn)type_delete_attr_fn,
                                 .extra = extra_state};
    return nof_lib_leave(NULL, nof_keyval_new(&pattern, type_keyval), __func__);
}

NOF_MPI(Type_free_keyval)
int PMPI_Type_free_keyval(int *type_keyval)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, nof_keyval_free(NOF_ATTR_ON_TYPE, type_keyval), __func__);
}

NOF_MPI(Type_set_attr)
int PMPI_Type_set_attr(MPI_Datatype datatype, int type_keyval, void *attribute_val)
{
    nof_lib_enter(__func__);
    struct nof_type *type;
    struct nof_attr_value value = nof_attr_value_of(nof_attr_caller(), attribute_val);
    int rc = nof_type_check(datatype, false, &type);
    if (rc == MPI_SUCCESS) {
        struct nof_attr_owner owner = owner_of(type);
        rc = nof_attr_set(&owner, type_keyval, &value);
    }
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Type_get_attr)
int PMPI_Type_get_attr(MPI_Datatype datatype, int type_keyval, void *attribute_val, int *flag)
{
    nof_lib_enter(__func__);
    struct nof_type *type;
    struct nof_attr_value *value = NULL;
    enum nof_attr_language language = nof_attr_caller();
    int rc = nof_type_check(datatype, false, &type);
    if (rc == MPI_SUCCESS && (attribute_val == NULL || flag == NULL))
        rc = nof_error(MPI_ERR_ARG, "the place for the value or the flag is NULL");
    if (rc == MPI_SUCCESS) {
        struct nof_attr_owner owner = owner_of(type);
        rc = nof_attr_get(&owner, type_keyval, &value);
    }
    if (rc == MPI_SUCCESS)
        *flag = value != NULL;
    if (value != NULL) {
        void *word = nof_attr_word_for(language, value);
        memcpy(attribute_val, &word, sizeof(word));
    }
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Type_delete_attr)
int PMPI_Type_delete_attr(MPI_Datatype datatype, int type_keyval)
{
    nof_lib_enter(__func__);
    struct nof_type *type;
    int rc = nof_type_check(datatype, false, &type);
    if (rc == MPI_SUCCESS) {
        struct nof_attr_owner owner = owner_of(type);
        rc = nof_attr_delete(&owner, type_keyval);
    }
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Win_create_keyval)
int PMPI_Win_create_keyval(MPI_Win_copy_attr_function *win_copy_attr_fn,
                           MPI_Win_delete_attr_function *win_delete_attr_fn, int *win_keyval,
                           void *extra_state)
{
    nof_lib_enter(__func__);
    struct nof_keyval pattern = {.on = NOF_ATTR_ON_WIN,
                                 .language = nof_attr_caller(),
                                 .copy = (nof_attr_fn)win_copy_attr_fn,
                                 .remove = (nof_attr_fn)win_delete_attr_fn,
                                 .extra = extra_state};
    return nof_lib_leave(NULL, nof_keyval_new(&pattern, win_keyval), __func__);
}

NOF_MPI(Win_free_keyval)
int PMPI_Win_free_keyval(int *win_keyval)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, nof_keyval_free(NOF_ATTR_ON_WIN, win_keyval), __func__);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/attr.h"

#include <stdlib.h>

#include "base/error.h"

static const char *const on_text[] = {
    [NOF_ATTR_ON_COMM] = "communicators",
    [NOF_ATTR_ON_TYPE] = "datatypes",
    [NOF_ATTR_ON_WIN] = "windows",
};

static int check(enum nof_attr_on on, int number, struct nof_keyval **keyval_out)
{
    *keyval_out = nof_handle_get(&nof_lib.keyvals, nof_handle_from_int(&nof_lib.keyvals, number));
    if (*keyval_out == NULL)
        return nof_error(MPI_ERR_KEYVAL, "%d is no attribute key that was created here", number);
    if ((*keyval_out)->on != on)
        return nof_error(MPI_ERR_KEYVAL, "key %d is for attributes of %s, not of %s", number,
                         on_text[(*keyval_out)->on], on_text[on]);
    return MPI_SUCCESS;
}

int nof_keyval_new(const struct nof_keyval *pattern, int *keyval_out)
{
    if (keyval_out == NULL)
        return nof_error(MPI_ERR_ARG, "the place for the key is NULL");
    struct nof_keyval *keyval = malloc(sizeof(*keyval));
    if (keyval == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for an attribute key");
    *keyval = *pattern;
    keyval->refs = 1;
    uint64_t handle = nof_handle_add(&nof_lib.keyvals, keyval);
    if (handle == 0) {
        free(keyval);
        return nof_error(MPI_ERR_NO_MEM, "no memory for an attribute key");
    }
    keyval->number = nof_handle_to_int(handle);
    *keyval_out = keyval->number;
    return MPI_SUCCESS;
}

static void release(struct nof_keyval *keyval)
{
    if (--keyval->refs > 0)
        return;
    nof_handle_remove(&nof_lib.keyvals, nof_handle_from_int(&nof_lib.keyvals, keyval->number));
    free(keyval);
}

int nof_keyval_free(enum nof_attr_on on, int *number)
{
    struct nof_keyval *keyval = NULL;
    int rc =
        number == NULL ? nof_error(MPI_ERR_ARG, "the place of the key is NULL") : check(on, *number, &keyval);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!keyval->freed) {
        keyval->freed = true;
        release(keyval);
    }
    *number = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

/* Where the attribute's link is: in the list's head or in the attribute before it. */
static struct nof_attr **find(struct nof_attr **list, const struct nof_keyval *keyval)
{
    while (*list != NULL && (*list)->keyval != keyval)
        list = &(*list)->next;
    return list;
}

/* Take *link out and call its delete callback without the lock; put it back if that fails. */
static int delete_at(const struct nof_attr_owner *owner, struct nof_attr **link)
{
    struct nof_attr *attr = *link;
    *link = attr->next;
    nof_lib_unlock();
    int rc = nof_attr_call_delete(attr->keyval, owner->handle, &attr->value);
    nof_lib_lock();
    if (rc != MPI_SUCCESS) {
        attr->next = *owner->list;
        *owner->list = attr;
        return rc;
    }
    release(attr->keyval);
    free(attr);
    return MPI_SUCCESS;
}

static int set(const struct nof_attr_owner *owner, struct nof_keyval *keyval,
               const struct nof_attr_value *value)
{
    struct nof_attr *attr = malloc(sizeof(*attr));
    if (attr == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for an attribute");
    keyval->refs++; /* before the callback, which may free the key */
    struct nof_attr **old = find(owner->list, keyval);
    int rc = *old == NULL ? MPI_SUCCESS : delete_at(owner, old);
    if (rc != MPI_SUCCESS) {
        release(keyval);
        free(attr);
        return rc;
    }
    *attr = (struct nof_attr){.next = *owner->list, .keyval = keyval, .value = *value};
    *owner->list = attr;
    return MPI_SUCCESS;
}

int nof_attr_set(const struct nof_attr_owner *owner, int number, const struct nof_attr_value *value)
{
    struct nof_keyval *keyval;
    int rc = check(owner->on, number, &keyval);
    return rc == MPI_SUCCESS ? set(owner, keyval, value) : rc;
}

int nof_attr_get(const struct nof_attr_owner *owner, int number, struct nof_attr_value **value_out)
{
    struct nof_keyval *keyval;
    int rc = check(owner->on, number, &keyval);
    if (rc != MPI_SUCCESS)
        return rc;
    struct nof_attr *attr = *find(owner->list, keyval);
    *value_out = attr == NULL ? NULL : &attr->value;
    return MPI_SUCCESS;
}

int nof_attr_delete(const struct nof_attr_owner *owner, int number)
{
    struct nof_keyval *keyval;
    int rc = check(owner->on, number, &keyval);
    if (rc != MPI_SUCCESS)
        return rc;
    struct nof_attr **link = find(owner->list, keyval);
    /* Nothing to delete is no error: the standard names none, and programs (libsc) count on it. */
    return *link == NULL ? MPI_SUCCESS : delete_at(owner, link);
}

/* Copies of a list, because callbacks may change it. The one set first comes first. */
static size_t snapshot(struct nof_attr *list, struct nof_attr **copies_out)
{
    size_t count = 0;
    for (const struct nof_attr *a = list; a != NULL; a = a->next)
        count++;
    struct nof_attr *copies = malloc((count == 0 ? 1 : count) * sizeof(*copies));
    *copies_out = copies;
    if (copies == NULL)
        return 0;
    size_t at = count;
    for (struct nof_attr *a = list; a != NULL; a = a->next) {
        copies[--at] = *a;
        a->keyval->refs++;
    }
    return count;
}

int nof_attr_copy_all(const struct nof_attr_owner *from, const struct nof_attr_owner *to)
{
    struct nof_attr *attrs;
    size_t count = snapshot(*from->list, &attrs);
    int rc = attrs == NULL ? nof_error(MPI_ERR_NO_MEM, "no memory to copy attributes") : MPI_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        struct nof_attr_value out = {0};
        bool wanted = false;
        if (rc == MPI_SUCCESS) {
            nof_lib_unlock();
            rc = nof_attr_call_copy(attrs[i].keyval, from->handle, &attrs[i].value, &out, &wanted);
            nof_lib_lock();
        }
        if (rc == MPI_SUCCESS && wanted)
            rc = set(to, attrs[i].keyval, &out);
        release(attrs[i].keyval);
    }
    free(attrs);
    return rc;
}

int nof_attr_delete_all(const struct nof_attr_owner *owner)
{
    int rc = MPI_SUCCESS;
    while (rc == MPI_SUCCESS && *owner->list != NULL)
        rc = delete_at(owner, owner->list);
    return rc;
}

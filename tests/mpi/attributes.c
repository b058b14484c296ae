/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of communicators and datatypes: callbacks at set, duplicate and free, a callback that fails
 * fails the call, a freed key lives on with its attributes, and MPI_COMM_SELF's go first in MPI_Finalize, in the
 * reverse order of setting. */
#include "mpitest.h"

static int extra_word, copies, deletes, refuse;
static int finalize_order[3], finalized;

static int copy_comm(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    int size;
    CHECK(extra == &extra_word && key != MPI_KEYVAL_INVALID);
    OK(MPI_Comm_size(comm, &size));
    copies++;
    *(void **)out = (char *)in + 1;
    *flag = refuse != 1;
    return refuse == 2 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int delete_comm(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value;
    CHECK(extra == &extra_word);
    deletes++;
    return refuse == 3 ? MPI_ERR_ACCESS : MPI_SUCCESS;
}

static int delete_self(MPI_Comm comm, int key, void *value, void *extra)
{
    int flag;
    (void)key, (void)extra;
    CHECK(comm == MPI_COMM_SELF && finalized < 3);
    OK(MPI_Finalized(&flag));
    CHECK(flag == 0);
    finalize_order[finalized++] = *(int *)value;
    if (finalized == 3)
        CHECK(finalize_order[0] == 2 && finalize_order[1] == 1 && finalize_order[2] == 0);
    return MPI_SUCCESS;
}

static void communicators(void)
{
    static char base[4];
    int key, kept, flag, other;
    void *value;
    MPI_Comm comm, copy;
    OK(MPI_Comm_create_keyval(copy_comm, delete_comm, &key, &extra_word));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_get_attr(comm, key, &value, &flag));
    CHECK(!flag);
    OK(MPI_Comm_set_attr(comm, key, base));
    OK(MPI_Comm_set_attr(comm, key, base + 1)); /* deletes the old one */
    CHECK(deletes == 1);
    OK(MPI_Comm_dup(comm, &copy));
    OK(MPI_Comm_get_attr(copy, key, &value, &flag));
    CHECK(flag && value == base + 2 && copies == 1);
    OK(MPI_Comm_free(&copy));
    CHECK(deletes == 2);

    refuse = 1; /* no attribute for the copy */
    OK(MPI_Comm_dup(comm, &copy));
    OK(MPI_Comm_get_attr(copy, key, &value, &flag));
    CHECK(!flag);
    OK(MPI_Comm_free(&copy));
    refuse = 2;
    FAILS(MPI_Comm_dup(comm, &copy), MPI_ERR_OTHER);
    CHECK(copy == MPI_COMM_NULL);
    refuse = 3;
    FAILS(MPI_Comm_delete_attr(comm, key), MPI_ERR_ACCESS);
    FAILS(MPI_Comm_free(&comm), MPI_ERR_ACCESS);
    refuse = 0;

    kept = key;
    OK(MPI_Comm_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID);
    OK(MPI_Comm_get_attr(comm, kept, &value, &flag));
    CHECK(flag && value == base + 1);
    OK(MPI_Comm_free(&comm));
    FAILS(MPI_Comm_get_attr(MPI_COMM_WORLD, kept, &value, &flag), MPI_ERR_KEYVAL);

    FAILS(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, base), MPI_ERR_KEYVAL);
    FAILS(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_TAG_UB), MPI_ERR_KEYVAL);
    other = MPI_TAG_UB;
    FAILS(MPI_Comm_free_keyval(&other), MPI_ERR_KEYVAL);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *(int *)value >= 32767);
}

static void datatypes(void)
{
    static int word;
    int key, flag;
    void *value;
    MPI_Datatype copy;
    OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Type_set_attr(MPI_INT, key, &word));
    OK(MPI_Type_dup(MPI_INT, &copy));
    OK(MPI_Type_get_attr(copy, key, &value, &flag));
    CHECK(flag && value == &word);
    OK(MPI_Type_delete_attr(copy, key));
    OK(MPI_Type_get_attr(copy, key, &value, &flag));
    CHECK(!flag);
    OK(MPI_Type_delete_attr(copy, key)); /* again: there is nothing, and that is no error */
    FAILS(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &word), MPI_ERR_KEYVAL);
    OK(MPI_Type_delete_attr(MPI_INT, key));
    OK(MPI_Type_free(&copy));
    OK(MPI_Type_free_keyval(&key));
}

static int delete_with_key(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)value;
    if (extra != NULL && *(int *)extra != MPI_KEYVAL_INVALID) {
        CHECK(key == *(int *)extra);
        OK(MPI_Comm_free_keyval((int *)extra));
    }
    deletes++;
    return MPI_SUCCESS;
}

/* A callback frees the key whose attribute is being replaced: the new one has the key until it goes. */
static void key_freed_by_callback(void)
{
    int key, word = 7;
    MPI_Comm comm;
    deletes = 0;
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_with_key, &key, &key));
    OK(MPI_Comm_set_attr(comm, key, &word));
    OK(MPI_Comm_set_attr(comm, key, &word));
    CHECK(deletes == 1 && key == MPI_KEYVAL_INVALID);
    OK(MPI_Comm_free(&comm));
    CHECK(deletes == 2);
}

int main(int argc, char **argv)
{
    static int order[3] = {0, 1, 2};
    int keys[3];
    t_begin(&argc, &argv, 1);
    t_errors_return();
    communicators();
    datatypes();
    key_freed_by_callback();
    for (int i = 0; i < 3; i++) {
        OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_self, &keys[i], NULL));
        OK(MPI_Comm_set_attr(MPI_COMM_SELF, keys[i], &order[i]));
        OK(MPI_Comm_free_keyval(&keys[i]));
    }
    int rc = t_end();
    return finalized == 3 ? rc : 1;
}

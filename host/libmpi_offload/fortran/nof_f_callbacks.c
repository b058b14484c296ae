/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of a Fortran program that the library calls: those that get an extra state come through a C function
 * here. (Reduction functions and error handlers get nothing but addresses, of C handles whose first word is
 * Fortran's: the library calls them as they are.) */
#include "nof_f.h"

#include <pthread.h>
#include <string.h>

#define UNUSED __attribute__((unused))

/* ---- attributes ---- */

typedef void copy_function(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *extra_state, MPI_Aint *in,
                           MPI_Aint *out, MPI_Fint *flag, MPI_Fint *ierror);
typedef void delete_function(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *value, MPI_Aint *extra_state,
                             MPI_Fint *ierror);
/* Those of MPI-1, whose values are INTEGERs. */
typedef void old_copy_function(MPI_Fint *object, MPI_Fint *keyval, MPI_Fint *extra_state, MPI_Fint *in,
                               MPI_Fint *out, MPI_Fint *flag, MPI_Fint *ierror);
typedef void old_delete_function(MPI_Fint *object, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *extra_state,
                                 MPI_Fint *ierror);

/* What a keyval made here carries as its extra state. Kept for ever and shared by equal ones, because a keyval
 * lives on in the objects that have it: a program has few different ones. */
struct keyval_functions {
    struct keyval_functions *next;
    nof_f_function *copy;
    nof_f_function *delete;
    MPI_Aint extra_state;
    bool old;
};

static struct keyval_functions *all_functions;
static pthread_mutex_t all_functions_lock = PTHREAD_MUTEX_INITIALIZER;

static struct keyval_functions *keyval_functions(nof_f_function *copy, nof_f_function *delete,
                                                 MPI_Aint extra_state, bool old)
{
    pthread_mutex_lock(&all_functions_lock);
    struct keyval_functions *f = all_functions;
    while (f != NULL &&
           (f->copy != copy || f->delete != delete || f->extra_state != extra_state || f->old != old))
        f = f->next;
    if (f == NULL && (f = malloc(sizeof(*f))) != NULL) {
        *f = (struct keyval_functions){all_functions, copy, delete, extra_state, old};
        all_functions = f;
    }
    pthread_mutex_unlock(&all_functions_lock);
    return f;
}

static int call_copy(MPI_Fint object, int keyval, void *extra_state, void *in, void *out, int *flag)
{
    const struct keyval_functions *f = extra_state;
    MPI_Fint ierror = MPI_SUCCESS;
    if (f->old) {
        MPI_Fint state = (MPI_Fint)f->extra_state, from = (MPI_Fint)(intptr_t)in, to = 0;
        ((old_copy_function *)f->copy)(&object, &keyval, &state, &from, &to, flag, &ierror);
        *(MPI_Aint *)out = to;
    } else {
        MPI_Aint state = f->extra_state, from = (MPI_Aint)in, to = 0;
        ((copy_function *)f->copy)(&object, &keyval, &state, &from, &to, flag, &ierror);
        *(MPI_Aint *)out = to;
    }
    return ierror;
}

static int call_delete(MPI_Fint object, int keyval, void *value, void *extra_state)
{
    const struct keyval_functions *f = extra_state;
    MPI_Fint ierror = MPI_SUCCESS;
    if (f->old) {
        MPI_Fint state = (MPI_Fint)f->extra_state, old_value = (MPI_Fint)(intptr_t)value;
        ((old_delete_function *)f->delete)(&object, &keyval, &old_value, &state, &ierror);
    } else {
        MPI_Aint state = f->extra_state, new_value = (MPI_Aint)value;
        ((delete_function *)f->delete)(&object, &keyval, &new_value, &state, &ierror);
    }
    return ierror;
}

#define KEYVAL(Name, name, handle) \
    static int name##_copy(handle object, int keyval, void *extra_state, void *in, void *out, int *flag) \
    { \
        return call_copy(MPI_##Name##_c2f(object), keyval, extra_state, in, out, flag); \
    } \
    static int name##_delete(handle object, int keyval, void *value, void *extra_state) \
    { \
        return call_delete(MPI_##Name##_c2f(object), keyval, value, extra_state); \
    } \
    static int name##_create_keyval(struct keyval_functions *f, int *keyval) \
    { \
        if (f == NULL) \
            return MPI_ERR_NO_MEM; \
        return MPI_##Name##_create_keyval(name##_copy, name##_delete, keyval, f); \
    }
KEYVAL(Comm, comm, MPI_Comm)
KEYVAL(Type, type, MPI_Datatype)
KEYVAL(Win, win, MPI_Win)

#define CREATE_KEYVAL(Name, name) \
    NOF_F(name##_create_keyval, void, \
          (nof_f_function * copy, nof_f_function * delete, MPI_Fint * keyval, MPI_Aint * extra_state, \
           MPI_Fint * ierror)) \
    void pmpi_##name##_create_keyval_(nof_f_function *copy, nof_f_function *delete, MPI_Fint *keyval, \
                                      MPI_Aint *extra_state, MPI_Fint *ierror) \
    { \
        nof_f_ierror(ierror, \
                     name##_create_keyval(keyval_functions(copy, delete, *extra_state, false), keyval)); \
    }
CREATE_KEYVAL(Comm, comm)
CREATE_KEYVAL(Type, type)
CREATE_KEYVAL(Win, win)

NOF_F(keyval_create, void,
      (nof_f_function * copy, nof_f_function *delete, MPI_Fint *keyval, MPI_Fint *extra_state,
       MPI_Fint *ierror))
void pmpi_keyval_create_(nof_f_function *copy, nof_f_function *delete, MPI_Fint *keyval,
                         MPI_Fint *extra_state, MPI_Fint *ierror)
{
    nof_f_ierror(ierror, comm_create_keyval(keyval_functions(copy, delete, *extra_state, true), keyval));
}

/* ---- values ---- */

/* The keys that the library has by itself: C gets the address of an int. */
static bool is_predefined_int(int keyval)
{
    return keyval >= MPI_TAG_UB && keyval <= MPI_LASTUSEDCODE;
}

#define ATTRIBUTE(Name, name, handle) \
    NOF_F(name##_set_attr, void, \
          (MPI_Fint * object, MPI_Fint * keyval, MPI_Aint * value, MPI_Fint * ierror)) \
    void pmpi_##name##_set_attr_(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *value, MPI_Fint *ierror) \
    { \
        nof_f_ierror(ierror, MPI_##Name##_set_attr(MPI_##Name##_f2c(*object), *keyval, (void *)*value)); \
    } \
    static int name##_get_attr(MPI_Fint object, int keyval, MPI_Aint *value, MPI_Fint *flag) \
    { \
        void *word = NULL; \
        int rc = MPI_##Name##_get_attr(MPI_##Name##_f2c(object), keyval, &word, flag); \
        if (rc == MPI_SUCCESS && *flag) \
            *value = is_predefined_int(keyval) ? *(int *)word : (MPI_Aint)word; \
        return rc; \
    } \
    NOF_F(name##_get_attr, void, \
          (MPI_Fint * object, MPI_Fint * keyval, MPI_Aint * value, MPI_Fint * flag, MPI_Fint * ierror)) \
    void pmpi_##name##_get_attr_(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *value, MPI_Fint *flag, \
                                 MPI_Fint *ierror) \
    { \
        nof_f_ierror(ierror, name##_get_attr(*object, *keyval, value, flag)); \
    }
ATTRIBUTE(Comm, comm, MPI_Comm)
ATTRIBUTE(Type, type, MPI_Datatype)
ATTRIBUTE(Win, win, MPI_Win)

NOF_F(attr_put, void, (MPI_Fint * object, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *ierror))
void pmpi_attr_put_(MPI_Fint *object, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *ierror)
{
    nof_f_ierror(ierror, MPI_Comm_set_attr(MPI_Comm_f2c(*object), *keyval, (void *)(MPI_Aint)*value));
}

NOF_F(attr_get, void,
      (MPI_Fint * object, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *flag, MPI_Fint *ierror))
void pmpi_attr_get_(MPI_Fint *object, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *flag, MPI_Fint *ierror)
{
    MPI_Aint wide = 0;
    int rc = comm_get_attr(*object, *keyval, &wide, flag);
    if (rc == MPI_SUCCESS && *flag)
        *value = (MPI_Fint)wide;
    nof_f_ierror(ierror, rc);
}

/* ---- the standard's own functions ---- */

#define PREDEFINED(prefix) \
    __attribute__((visibility("default"))) copy_function mpi_##prefix##null_copy_fn_, mpi_##prefix##dup_fn_; \
    __attribute__((visibility("default"))) delete_function mpi_##prefix##null_delete_fn_; \
    void mpi_##prefix##null_copy_fn_(MPI_Fint *object UNUSED, MPI_Fint *keyval UNUSED, \
                                     MPI_Aint *extra_state UNUSED, MPI_Aint *in UNUSED, \
                                     MPI_Aint *out UNUSED, MPI_Fint *flag, MPI_Fint *ierror) \
    { \
        *flag = 0; \
        *ierror = MPI_SUCCESS; \
    } \
    void mpi_##prefix##dup_fn_(MPI_Fint *object UNUSED, MPI_Fint *keyval UNUSED, \
                               MPI_Aint *extra_state UNUSED, MPI_Aint *in, MPI_Aint *out, MPI_Fint *flag, \
                               MPI_Fint *ierror) \
    { \
        *out = *in; \
        *flag = 1; \
        *ierror = MPI_SUCCESS; \
    } \
    void mpi_##prefix##null_delete_fn_(MPI_Fint *object UNUSED, MPI_Fint *keyval UNUSED, \
                                       MPI_Aint *value UNUSED, MPI_Aint *extra_state UNUSED, \
                                       MPI_Fint *ierror) \
    { \
        *ierror = MPI_SUCCESS; \
    }
PREDEFINED(comm_)
PREDEFINED(type_)
PREDEFINED(win_)

__attribute__((visibility("default"))) old_copy_function mpi_null_copy_fn_, mpi_dup_fn_;
__attribute__((visibility("default"))) old_delete_function mpi_null_delete_fn_;

void mpi_null_copy_fn_(MPI_Fint *object UNUSED, MPI_Fint *keyval UNUSED, MPI_Fint *extra_state UNUSED,
                       MPI_Fint *in UNUSED, MPI_Fint *out UNUSED, MPI_Fint *flag, MPI_Fint *ierror)
{
    *flag = 0;
    *ierror = MPI_SUCCESS;
}

void mpi_dup_fn_(MPI_Fint *object UNUSED, MPI_Fint *keyval UNUSED, MPI_Fint *extra_state UNUSED, MPI_Fint *in,
                 MPI_Fint *out, MPI_Fint *flag, MPI_Fint *ierror)
{
    *out = *in;
    *flag = 1;
    *ierror = MPI_SUCCESS;
}

void mpi_null_delete_fn_(MPI_Fint *object UNUSED, MPI_Fint *keyval UNUSED, MPI_Fint *value UNUSED,
                         MPI_Fint *extra_state UNUSED, MPI_Fint *ierror)
{
    *ierror = MPI_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The callbacks of attributes, in the forms of the languages and objects (MPI 4.1, 7.7.2 to 7.7.4, 19.3.7). */
#include "base/attr.h"

typedef void fortran_copy(const MPI_Fint *object, const MPI_Fint *keyval, const MPI_Aint *extra,
                          const MPI_Aint *in, MPI_Aint *out, MPI_Fint *flag, MPI_Fint *error);
typedef void fortran_delete(const MPI_Fint *object, const MPI_Fint *keyval, const MPI_Aint *value,
                            const MPI_Aint *extra, MPI_Fint *error);
typedef void fortran_old_copy(const MPI_Fint *object, const MPI_Fint *keyval, const MPI_Fint *extra,
                              const MPI_Fint *in, MPI_Fint *out, MPI_Fint *flag, MPI_Fint *error);
typedef void fortran_old_delete(const MPI_Fint *object, const MPI_Fint *keyval, const MPI_Fint *value,
                                const MPI_Fint *extra, MPI_Fint *error);

static int copy_c(const struct nof_keyval *k, void *handle, struct nof_attr_value *in,
                  struct nof_attr_value *out, bool *flag_out)
{
    void *value = nof_attr_as_c(in), *copy = NULL;
    int flag = 0, rc = MPI_SUCCESS;
    switch (k->on) {
    case NOF_ATTR_ON_COMM:
        rc = ((MPI_Comm_copy_attr_function *)k->copy)(handle, k->number, k->extra, value, &copy, &flag);
        break;
    case NOF_ATTR_ON_TYPE:
        rc = ((MPI_Type_copy_attr_function *)k->copy)(handle, k->number, k->extra, value, &copy, &flag);
        break;
    case NOF_ATTR_ON_WIN:
        rc = ((MPI_Win_copy_attr_function *)k->copy)(handle, k->number, k->extra, value, &copy, &flag);
        break;
    }
    *out = (struct nof_attr_value){.language = NOF_ATTR_C, .word = (MPI_Aint)copy};
    *flag_out = flag != 0;
    return rc;
}

static int copy_fortran(const struct nof_keyval *k, MPI_Fint handle, const struct nof_attr_value *in,
                        struct nof_attr_value *out, bool *flag_out)
{
    MPI_Fint flag = 0, error = MPI_SUCCESS;
    MPI_Aint extra = (MPI_Aint)k->extra, value = nof_attr_as_fortran(in);
    out->language = k->language;
    if (k->language == NOF_ATTR_FORTRAN) {
        ((fortran_copy *)k->copy)(&handle, &k->number, &extra, &value, &out->word, &flag, &error);
    } else {
        MPI_Fint old_extra = (MPI_Fint)extra, old_value = (MPI_Fint)value;
        ((fortran_old_copy *)k->copy)(&handle, &k->number, &old_extra, &old_value, &out->old_word, &flag,
                                      &error);
    }
    *flag_out = flag != 0;
    return error;
}

int nof_attr_call_copy(const struct nof_keyval *k, void *handle, struct nof_attr_value *in,
                       struct nof_attr_value *out, bool *flag_out)
{
    *flag_out = false;
    if (k->copy == (nof_attr_fn)MPI_COMM_NULL_COPY_FN)
        return MPI_SUCCESS;
    if (k->copy == (nof_attr_fn)MPI_COMM_DUP_FN) {
        *out = *in;
        *flag_out = true;
        return MPI_SUCCESS;
    }
    if (k->language == NOF_ATTR_C)
        return copy_c(k, handle, in, out, flag_out);
    return copy_fortran(k, nof_handle_to_int(nof_lib_bits(handle)), in, out, flag_out);
}

static int delete_c(const struct nof_keyval *k, void *handle, void *value)
{
    switch (k->on) {
    case NOF_ATTR_ON_COMM:
        return ((MPI_Comm_delete_attr_function *)k->remove)(handle, k->number, value, k->extra);
    case NOF_ATTR_ON_TYPE:
        return ((MPI_Type_delete_attr_function *)k->remove)(handle, k->number, value, k->extra);
    case NOF_ATTR_ON_WIN:
        return ((MPI_Win_delete_attr_function *)k->remove)(handle, k->number, value, k->extra);
    }
    return MPI_ERR_INTERN;
}

int nof_attr_call_delete(const struct nof_keyval *k, void *handle, struct nof_attr_value *value)
{
    MPI_Fint object = nof_handle_to_int(nof_lib_bits(handle)), error = MPI_SUCCESS;
    MPI_Aint extra = (MPI_Aint)k->extra, word = nof_attr_as_fortran(value);
    if (k->remove == (nof_attr_fn)MPI_COMM_NULL_DELETE_FN)
        return MPI_SUCCESS;
    if (k->language == NOF_ATTR_C)
        return delete_c(k, handle, nof_attr_as_c(value));
    if (k->language == NOF_ATTR_FORTRAN) {
        ((fortran_delete *)k->remove)(&object, &k->number, &word, &extra, &error);
    } else {
        MPI_Fint old_extra = (MPI_Fint)extra, old_word = (MPI_Fint)word;
        ((fortran_old_delete *)k->remove)(&object, &k->number, &old_word, &old_extra, &error);
    }
    return error;
}

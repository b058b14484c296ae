/* SPDX-License-Identifier: BSD-3-Clause */
/* The constructors without arrays. */
#include "base/attr.h"
#include "chan/chan.h"
#include "comm/entry.h"
#include "type/type_args.h"

static int make_contiguous(MPI_Count count, MPI_Datatype oldtype, bool large, MPI_Datatype *newtype)
{
    struct nof_type *old;
    int rc = nof_type_check(oldtype, false, &old);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_blocks(count);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!nof_type_vector_fits(1, (size_t)count, 0, old))
        return nof_type_too_large();
    struct nof_type_contents *c = nof_type_contents_new(MPI_COMBINER_CONTIGUOUS, large, 0, 1, 0, 1);
    nof_type_contents_number(c, count);
    nof_type_contents_type(c, old);
    return nof_type_publish(nof_type_vector(1, (size_t)count, 0, old), c, newtype);
}

NOF_MPI(Type_contiguous)
int PMPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, make_contiguous(count, oldtype, false, newtype), __func__);
}

NOF_MPI(Type_contiguous_c)
int PMPI_Type_contiguous_c(MPI_Count count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, make_contiguous(count, oldtype, true, newtype), __func__);
}

struct vector {
    MPI_Count count;
    MPI_Count blocklength;
    MPI_Count stride;
    bool in_bytes;
    bool large;
    MPI_Datatype oldtype;
};

static struct nof_type_contents *vector_contents(const struct vector *in, struct nof_type *old)
{
    struct nof_type_contents *c =
        nof_type_contents_new(in->in_bytes ? MPI_COMBINER_HVECTOR : MPI_COMBINER_VECTOR, in->large, 0,
                              in->in_bytes ? 2 : 3, in->in_bytes ? 1 : 0, 1);
    nof_type_contents_number(c, in->count);
    nof_type_contents_number(c, in->blocklength);
    if (in->in_bytes)
        nof_type_contents_addr(c, in->stride);
    else
        nof_type_contents_number(c, in->stride);
    nof_type_contents_type(c, old);
    return c;
}

static int make_vector(const struct vector *in, MPI_Datatype *newtype)
{
    struct nof_type *old;
    int rc = nof_type_check(in->oldtype, false, &old);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_blocks(in->count);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_length(in->blocklength);
    if (rc != MPI_SUCCESS)
        return rc;
    ptrdiff_t stride = in->stride;
    if ((!in->in_bytes && __builtin_mul_overflow(stride, nof_type_extent(old), &stride)) ||
        !nof_type_vector_fits((size_t)in->count, (size_t)in->blocklength, stride, old))
        return nof_type_too_large();
    return nof_type_publish(nof_type_vector((size_t)in->count, (size_t)in->blocklength, stride, old),
                            vector_contents(in, old), newtype);
}

NOF_MPI(Type_vector)
int PMPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct vector in = {count, blocklength, stride, false, false, oldtype};
    return nof_lib_leave(NULL, make_vector(&in, newtype), __func__);
}

NOF_MPI(Type_vector_c)
int PMPI_Type_vector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                       MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct vector in = {count, blocklength, stride, false, true, oldtype};
    return nof_lib_leave(NULL, make_vector(&in, newtype), __func__);
}

NOF_MPI(Type_create_hvector)
int PMPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                             MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct vector in = {count, blocklength, stride, true, false, oldtype};
    return nof_lib_leave(NULL, make_vector(&in, newtype), __func__);
}

NOF_MPI(Type_create_hvector_c)
int PMPI_Type_create_hvector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                               MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct vector in = {count, blocklength, stride, true, true, oldtype};
    return nof_lib_leave(NULL, make_vector(&in, newtype), __func__);
}

static int make_resized(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent, bool large,
                        MPI_Datatype *newtype)
{
    struct nof_type *old;
    int rc = nof_type_check(oldtype, false, &old);
    MPI_Aint ub;
    if (rc == MPI_SUCCESS && __builtin_add_overflow(lb, extent, &ub))
        rc = nof_type_too_large();
    if (rc != MPI_SUCCESS)
        return rc;
    struct nof_type_contents *c = nof_type_contents_new(MPI_COMBINER_RESIZED, large, 0, 0, 2, 1);
    nof_type_contents_addr(c, lb);
    nof_type_contents_addr(c, extent);
    nof_type_contents_type(c, old);
    return nof_type_publish(nof_type_resized(old, lb, extent), c, newtype);
}

NOF_MPI(Type_create_resized)
int PMPI_Type_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, make_resized(oldtype, lb, extent, false, newtype), __func__);
}

NOF_MPI(Type_create_resized_c)
int PMPI_Type_create_resized_c(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, make_resized(oldtype, lb, extent, true, newtype), __func__);
}

NOF_MPI(Type_dup)
int PMPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct nof_type *old;
    int rc = nof_type_check(oldtype, false, &old);
    if (rc == MPI_SUCCESS) {
        struct nof_type *copy = nof_type_alias(old);
        struct nof_type_contents *c = nof_type_contents_new(MPI_COMBINER_DUP, false, 0, 0, 0, 1);
        nof_type_contents_type(c, old);
        if (copy != NULL)
            copy->committed = old->committed;
        rc = nof_type_publish(copy, c, newtype);
        if (rc == MPI_SUCCESS && (rc = nof_attr_copy_type(old, copy)) != MPI_SUCCESS) {
            (void)nof_attr_delete_type(copy);
            nof_handle_remove(&nof_lib.types, nof_lib_bits(*newtype));
            nof_type_release(copy);
            *newtype = MPI_DATATYPE_NULL;
        }
        if (rc == MPI_SUCCESS && copy->committed)
            nof_chan_commit(copy);
    }
    return nof_lib_leave(NULL, rc, __func__);
}

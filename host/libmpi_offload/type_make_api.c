/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "attr.h"
#include "error.h"
#include "type.h"

static int check_count(int count)
{
    return count < 0 ? nof_error(MPI_ERR_COUNT, "the count is %d", count) : MPI_SUCCESS;
}

static int check_length(int length)
{
    return length < 0 ? nof_error(MPI_ERR_ARG, "a block length is %d", length) : MPI_SUCCESS;
}

static int too_large(void)
{
    return nof_error(MPI_ERR_COUNT, "the datatype would be larger than an MPI_Aint can say");
}

NOF_MPI(Type_contiguous)
int PMPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct nof_type *old;
    int rc = nof_type_check(oldtype, false, &old);
    if (rc == MPI_SUCCESS)
        rc = check_count(count);
    if (rc == MPI_SUCCESS && !nof_type_vector_fits(1, (size_t)count, 0, old))
        rc = too_large();
    if (rc == MPI_SUCCESS)
        rc = nof_type_publish(nof_type_vector(1, (size_t)count, 0, old), newtype);
    return nof_lib_leave(NULL, rc, __func__);
}

static int make_vector(int count, int blocklength, ptrdiff_t stride, bool in_extents, MPI_Datatype oldtype,
                       MPI_Datatype *newtype)
{
    struct nof_type *old;
    int rc = nof_type_check(oldtype, false, &old);
    if (rc == MPI_SUCCESS)
        rc = check_count(count);
    if (rc == MPI_SUCCESS)
        rc = check_length(blocklength);
    if (rc != MPI_SUCCESS)
        return rc;
    if ((in_extents && __builtin_mul_overflow(stride, nof_type_extent(old), &stride)) ||
        !nof_type_vector_fits((size_t)count, (size_t)blocklength, stride, old))
        return too_large();
    return nof_type_publish(nof_type_vector((size_t)count, (size_t)blocklength, stride, old), newtype);
}

NOF_MPI(Type_vector)
int PMPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, make_vector(count, blocklength, stride, true, oldtype, newtype), __func__);
}

NOF_MPI(Type_create_hvector)
int PMPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                             MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, make_vector(count, blocklength, stride, false, oldtype, newtype), __func__);
}

/* The indexed family in one: lengths NULL means `length` for all; displacements are ints counted in
 * extents or bytes; types NULL means `oldtype` for all. */
struct indexed {
    int count;
    const int *lengths;
    int length;
    const int *displs_extents;
    const MPI_Aint *displs_bytes;
    const MPI_Datatype *types;
    MPI_Datatype oldtype;
};

static int fill_block(const struct indexed *in, int i, struct nof_type_block *block)
{
    int length = in->lengths == NULL ? in->length : in->lengths[i];
    int rc = check_length(length);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check(in->types == NULL ? in->oldtype : in->types[i], false, &block->type);
    if (rc != MPI_SUCCESS)
        return rc;
    block->count = (size_t)length;
    if (in->displs_bytes != NULL)
        block->disp = in->displs_bytes[i];
    else if (__builtin_mul_overflow(in->displs_extents[i], nof_type_extent(block->type), &block->disp))
        return too_large();
    return MPI_SUCCESS;
}

static int make_indexed(const struct indexed *in, MPI_Datatype *newtype)
{
    struct nof_type *old;
    int rc = check_count(in->count);
    if (rc == MPI_SUCCESS && in->types == NULL)
        rc = nof_type_check(in->oldtype, false, &old);
    if (rc != MPI_SUCCESS)
        return rc;
    if (in->count > 0 && in->displs_bytes == NULL && in->displs_extents == NULL)
        return nof_error(MPI_ERR_ARG, "the displacements are NULL");
    struct nof_type_block *blocks = calloc((size_t)in->count + 1, sizeof(*blocks));
    if (blocks == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for %d blocks", in->count);
    for (int i = 0; rc == MPI_SUCCESS && i < in->count; i++)
        rc = fill_block(in, i, &blocks[i]);
    if (rc == MPI_SUCCESS && !nof_type_blocks_fit((size_t)in->count, blocks))
        rc = too_large();
    if (rc == MPI_SUCCESS)
        rc = nof_type_publish(nof_type_blocks((size_t)in->count, blocks), newtype);
    free(blocks);
    return rc;
}

NOF_MPI(Type_indexed)
int PMPI_Type_indexed(int count, const int array_of_blocklengths[], const int array_of_displacements[],
                      MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct indexed in = {.count = count,
                         .lengths = array_of_blocklengths,
                         .displs_extents = array_of_displacements,
                         .oldtype = oldtype};
    return nof_lib_leave(NULL, make_indexed(&in, newtype), __func__);
}

NOF_MPI(Type_create_hindexed)
int PMPI_Type_create_hindexed(int count, const int array_of_blocklengths[],
                              const MPI_Aint array_of_displacements[], MPI_Datatype oldtype,
                              MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct indexed in = {.count = count,
                         .lengths = array_of_blocklengths,
                         .displs_bytes = array_of_displacements,
                         .oldtype = oldtype};
    return nof_lib_leave(NULL, make_indexed(&in, newtype), __func__);
}

NOF_MPI(Type_create_indexed_block)
int PMPI_Type_create_indexed_block(int count, int blocklength, const int array_of_displacements[],
                                   MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct indexed in = {
        .count = count, .length = blocklength, .displs_extents = array_of_displacements, .oldtype = oldtype};
    return nof_lib_leave(NULL, make_indexed(&in, newtype), __func__);
}

NOF_MPI(Type_create_hindexed_block)
int PMPI_Type_create_hindexed_block(int count, int blocklength, const MPI_Aint array_of_displacements[],
                                    MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct indexed in = {
        .count = count, .length = blocklength, .displs_bytes = array_of_displacements, .oldtype = oldtype};
    return nof_lib_leave(NULL, make_indexed(&in, newtype), __func__);
}

NOF_MPI(Type_create_struct)
int PMPI_Type_create_struct(int count, const int array_of_blocklengths[],
                            const MPI_Aint array_of_displacements[], const MPI_Datatype array_of_types[],
                            MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct indexed in = {.count = count,
                         .lengths = array_of_blocklengths,
                         .displs_bytes = array_of_displacements,
                         .types = array_of_types,
                         .oldtype = MPI_BYTE};
    return nof_lib_leave(NULL, make_indexed(&in, newtype), __func__);
}

NOF_MPI(Type_create_resized)
int PMPI_Type_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct nof_type *old;
    int rc = nof_type_check(oldtype, false, &old);
    MPI_Aint ub;
    if (rc == MPI_SUCCESS && __builtin_add_overflow(lb, extent, &ub))
        rc = too_large();
    if (rc == MPI_SUCCESS)
        rc = nof_type_publish(nof_type_resized(old, lb, extent), newtype);
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Type_dup)
int PMPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct nof_type *old;
    int rc = nof_type_check(oldtype, false, &old);
    if (rc == MPI_SUCCESS) {
        struct nof_type *copy = nof_type_resized(old, old->lb, nof_type_extent(old));
        if (copy != NULL) {
            copy->committed = old->committed;
            copy->contiguous = old->contiguous;
        }
        rc = nof_type_publish(copy, newtype);
        if (rc == MPI_SUCCESS && (rc = nof_attr_copy_type(old, copy)) != MPI_SUCCESS) {
            (void)nof_attr_delete_type(copy);
            nof_handle_remove(&nof_lib.types, nof_lib_bits(*newtype));
            nof_type_release(copy);
            *newtype = MPI_DATATYPE_NULL;
        }
    }
    return nof_lib_leave(NULL, rc, __func__);
}

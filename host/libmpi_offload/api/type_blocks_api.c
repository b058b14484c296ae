/* SPDX-License-Identifier: BSD-3-Clause */
/* The constructors that take arrays of blocks: the indexed family and struct. */
#include <stdlib.h>

#include "comm/entry.h"
#include "type/type_args.h"

/* All of them in one. */
struct indexed {
    int combiner;
    bool large;
    MPI_Count count;
    MPI_Count length; /* of all, where one_length() */
    struct nof_numbers lengths;
    struct nof_numbers displs;
    MPI_Datatype oldtype; /* of all, but of a struct */
    const MPI_Datatype *types;
};

static bool one_length(const struct indexed *in)
{
    return in->combiner == MPI_COMBINER_INDEXED_BLOCK || in->combiner == MPI_COMBINER_HINDEXED_BLOCK;
}

/* Displacements are in bytes or in extents. */
static bool in_bytes(const struct indexed *in)
{
    return in->combiner != MPI_COMBINER_INDEXED && in->combiner != MPI_COMBINER_INDEXED_BLOCK;
}

static int fill_block(const struct indexed *in, MPI_Count i, struct nof_type_block *block)
{
    MPI_Count length = one_length(in) ? in->length : nof_number(&in->lengths, i);
    int rc = nof_type_check_length(length);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check(in->types == NULL ? in->oldtype : in->types[i], false, &block->type);
    if (rc != MPI_SUCCESS)
        return rc;
    block->count = (size_t)length;
    block->disp = nof_number(&in->displs, i);
    if (!in_bytes(in) && __builtin_mul_overflow(block->disp, nof_type_extent(block->type), &block->disp))
        return nof_type_too_large();
    return MPI_SUCCESS;
}

/* old: of all blocks, NULL for a struct. */
static struct nof_type_contents *contents_of(const struct indexed *in, const struct nof_type_block *blocks,
                                             struct nof_type *old)
{
    bool lengths = !one_length(in), bytes = in_bytes(in);
    size_t n = (size_t)in->count;
    struct nof_type_contents *c =
        nof_type_contents_new(in->combiner, in->large, 0, (lengths ? n + 1 : 2) + (bytes ? 0 : n),
                              bytes ? n : 0, old != NULL ? 1 : n);
    nof_type_contents_number(c, in->count);
    if (!lengths)
        nof_type_contents_number(c, in->length);
    for (MPI_Count i = 0; lengths && i < in->count; i++)
        nof_type_contents_number(c, nof_number(&in->lengths, i));
    for (MPI_Count i = 0; i < in->count; i++) {
        if (bytes)
            nof_type_contents_addr(c, nof_number(&in->displs, i));
        else
            nof_type_contents_number(c, nof_number(&in->displs, i));
    }
    if (old != NULL)
        nof_type_contents_type(c, old);
    for (MPI_Count i = 0; old == NULL && i < in->count; i++)
        nof_type_contents_type(c, blocks[i].type);
    return c;
}

static int make_blocks(const struct indexed *in, struct nof_type_block *blocks, struct nof_type *old,
                       MPI_Datatype *newtype)
{
    int rc = MPI_SUCCESS;
    for (MPI_Count i = 0; rc == MPI_SUCCESS && i < in->count; i++)
        rc = fill_block(in, i, &blocks[i]);
    if (rc == MPI_SUCCESS && !nof_type_blocks_fit((size_t)in->count, blocks))
        rc = nof_type_too_large();
    if (rc != MPI_SUCCESS)
        return rc;
    struct nof_type *type = nof_type_blocks((size_t)in->count, blocks);
    if (type != NULL && old == NULL)
        nof_type_pad(type);
    return nof_type_publish(type, contents_of(in, blocks, old), newtype);
}

static int make(const struct indexed *in, MPI_Datatype *newtype)
{
    bool is_struct = in->combiner == MPI_COMBINER_STRUCT;
    struct nof_type *old = NULL;
    int rc = nof_type_check_blocks(in->count);
    if (rc == MPI_SUCCESS && !is_struct)
        rc = nof_type_check(in->oldtype, false, &old);
    if (rc == MPI_SUCCESS && one_length(in))
        rc = nof_type_check_length(in->length);
    if (rc != MPI_SUCCESS)
        return rc;
    if (in->count > 0 && (!nof_numbers_given(&in->displs) || (is_struct && in->types == NULL) ||
                          (!one_length(in) && !nof_numbers_given(&in->lengths))))
        return nof_error(MPI_ERR_ARG, "an array of %lld blocks is NULL", (long long)in->count);
    struct nof_type_block *blocks = calloc((size_t)in->count + 1, sizeof(*blocks));
    if (blocks == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for %lld blocks", (long long)in->count);
    rc = make_blocks(in, blocks, old, newtype);
    free(blocks);
    return rc;
}

static struct nof_numbers narrow(const int *numbers)
{
    return (struct nof_numbers){.narrow = numbers};
}

static struct nof_numbers wide(const MPI_Count *numbers)
{
    return (struct nof_numbers){.wide = numbers};
}

static int create(const struct indexed *in, MPI_Datatype *newtype, const char *func)
{
    nof_lib_enter(func);
    return nof_lib_leave(NULL, make(in, newtype), func);
}

static int indexed(int combiner, bool large, MPI_Count count, struct nof_numbers lengths,
                   struct nof_numbers displs, MPI_Datatype oldtype, MPI_Datatype *newtype, const char *func)
{
    struct indexed in = {combiner, large, count, 0, lengths, displs, oldtype, NULL};
    return create(&in, newtype, func);
}

static int indexed_block(int combiner, bool large, MPI_Count count, MPI_Count length,
                         struct nof_numbers displs, MPI_Datatype oldtype, MPI_Datatype *newtype,
                         const char *func)
{
    struct indexed in = {combiner, large, count, length, {0}, displs, oldtype, NULL};
    return create(&in, newtype, func);
}

static int structure(bool large, MPI_Count count, struct nof_numbers lengths, struct nof_numbers displs,
                     const MPI_Datatype *types, MPI_Datatype *newtype, const char *func)
{
    struct indexed in = {MPI_COMBINER_STRUCT, large, count, 0, lengths, displs, NULL, types};
    return create(&in, newtype, func);
}

NOF_MPI(Type_indexed)
int PMPI_Type_indexed(int count, const int array_of_blocklengths[], const int array_of_displacements[],
                      MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return indexed(MPI_COMBINER_INDEXED, false, count, narrow(array_of_blocklengths),
                   narrow(array_of_displacements), oldtype, newtype, __func__);
}

NOF_MPI(Type_indexed_c)
int PMPI_Type_indexed_c(MPI_Count count, const MPI_Count array_of_blocklengths[],
                        const MPI_Count array_of_displacements[], MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return indexed(MPI_COMBINER_INDEXED, true, count, wide(array_of_blocklengths),
                   wide(array_of_displacements), oldtype, newtype, __func__);
}

NOF_MPI(Type_create_hindexed)
int PMPI_Type_create_hindexed(int count, const int array_of_blocklengths[],
                              const MPI_Aint array_of_displacements[], MPI_Datatype oldtype,
                              MPI_Datatype *newtype)
{
    return indexed(MPI_COMBINER_HINDEXED, false, count, narrow(array_of_blocklengths),
                   wide(array_of_displacements), oldtype, newtype, __func__);
}

NOF_MPI(Type_create_hindexed_c)
int PMPI_Type_create_hindexed_c(MPI_Count count, const MPI_Count array_of_blocklengths[],
                                const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
                                MPI_Datatype *newtype)
{
    return indexed(MPI_COMBINER_HINDEXED, true, count, wide(array_of_blocklengths),
                   wide(array_of_displacements), oldtype, newtype, __func__);
}

NOF_MPI(Type_create_indexed_block)
int PMPI_Type_create_indexed_block(int count, int blocklength, const int array_of_displacements[],
                                   MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return indexed_block(MPI_COMBINER_INDEXED_BLOCK, false, count, blocklength,
                         narrow(array_of_displacements), oldtype, newtype, __func__);
}

NOF_MPI(Type_create_indexed_block_c)
int PMPI_Type_create_indexed_block_c(MPI_Count count, MPI_Count blocklength,
                                     const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
                                     MPI_Datatype *newtype)
{
    return indexed_block(MPI_COMBINER_INDEXED_BLOCK, true, count, blocklength, wide(array_of_displacements),
                         oldtype, newtype, __func__);
}

NOF_MPI(Type_create_hindexed_block)
int PMPI_Type_create_hindexed_block(int count, int blocklength, const MPI_Aint array_of_displacements[],
                                    MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return indexed_block(MPI_COMBINER_HINDEXED_BLOCK, false, count, blocklength, wide(array_of_displacements),
                         oldtype, newtype, __func__);
}

NOF_MPI(Type_create_hindexed_block_c)
int PMPI_Type_create_hindexed_block_c(MPI_Count count, MPI_Count blocklength,
                                      const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
                                      MPI_Datatype *newtype)
{
    return indexed_block(MPI_COMBINER_HINDEXED_BLOCK, true, count, blocklength, wide(array_of_displacements),
                         oldtype, newtype, __func__);
}

NOF_MPI(Type_create_struct)
int PMPI_Type_create_struct(int count, const int array_of_blocklengths[],
                            const MPI_Aint array_of_displacements[], const MPI_Datatype array_of_types[],
                            MPI_Datatype *newtype)
{
    return structure(false, count, narrow(array_of_blocklengths), wide(array_of_displacements),
                     array_of_types, newtype, __func__);
}

NOF_MPI(Type_create_struct_c)
int PMPI_Type_create_struct_c(MPI_Count count, const MPI_Count array_of_blocklengths[],
                              const MPI_Count array_of_displacements[], const MPI_Datatype array_of_types[],
                              MPI_Datatype *newtype)
{
    return structure(true, count, wide(array_of_blocklengths), wide(array_of_displacements), array_of_types,
                     newtype, __func__);
}

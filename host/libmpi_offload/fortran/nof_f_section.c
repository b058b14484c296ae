/* SPDX-License-Identifier: BSD-3-Clause */
#include "fortran/nof_f_section.h"

#include <string.h>

/* gfortran 12 gives CLASS(*) a wrong size of the elements and this type; only the distances are right. The element of
 * the datatype is taken for the array's then: what else would a program send of an array that it knows nothing of. */
static size_t element_bytes(const CFI_cdesc_t *d, const MPI_Fint *type)
{
    MPI_Aint lb = 0, extent = 0;
    ptrdiff_t sm = d->dim[0].sm < 0 ? -d->dim[0].sm : d->dim[0].sm;
    if (d->type != CFI_type_other || sm == 0)
        return d->elem_len;
    if (type != NULL && PMPI_Type_get_extent(MPI_Type_f2c(*type), &lb, &extent) == MPI_SUCCESS &&
        extent > 0 && extent <= sm)
        return (size_t)extent;
    return (size_t)sm < d->elem_len ? (size_t)sm : d->elem_len;
}

/* Dimensions of one element do not count, those that lie one after the other are one. False: contiguous, or without
 * elements. */
static bool is_strided(const CFI_cdesc_t *d, const MPI_Fint *type, struct nof_section *s)
{
    if (d->rank == 0 || d->base_addr == NULL)
        return false;
    s->base = d->base_addr;
    s->elem_bytes = element_bytes(d, type);
    s->rank = 0;
    for (int i = 0; i < d->rank; i++) {
        CFI_index_t extent = d->dim[i].extent;
        if (extent == 0)
            return false;
        if (extent == 1)
            continue;
        /* -1: the last of an assumed-size array. What lies in front of it says whether there are gaps. */
        size_t n = extent < 0 ? SIZE_MAX : (size_t)extent;
        int last = s->rank - 1;
        if (last >= 0 && extent > 0 && d->dim[i].sm == s->stride[last] * (ptrdiff_t)s->extent[last]) {
            s->extent[last] *= n;
        } else {
            s->extent[s->rank] = n;
            s->stride[s->rank++] = d->dim[i].sm;
        }
    }
    bool is_dense = s->rank == 0 || (s->rank == 1 && s->stride[0] == (ptrdiff_t)s->elem_bytes);
    bool is_open =
        s->rank > 0 && s->extent[s->rank - 1] == SIZE_MAX; /* assumed size: of a contiguous array */
    return !is_dense && !is_open && s->elem_bytes > 0;
}

static int no_memory(void)
{
    return nof_fortran_hooks.raise(MPI_ERR_NO_MEM, "no memory for a section of an array");
}

/* Of arguments that are wrong the call itself says so. */
static int with_type(struct nof_f_data *data, const struct nof_section *s, MPI_Count count,
                     ptrdiff_t step_bytes)
{
    MPI_Datatype type = MPI_Type_f2c(data->type);
    int rc = nof_fortran_hooks.section_type(s, type, count, step_bytes, &data->made);
    if (rc == MPI_ERR_NO_MEM)
        return no_memory();
    if (rc == MPI_SUCCESS) {
        data->type = MPI_Type_c2f(data->made);
        data->count = 1;
    }
    return MPI_SUCCESS;
}

int nof_f_data_in(struct nof_f_data *data, const CFI_cdesc_t *buffer, MPI_Count count, MPI_Fint type)
{
    struct nof_section s;
    *data = (struct nof_f_data){buffer->base_addr, count, type, MPI_DATATYPE_NULL};
    return is_strided(buffer, &type, &s) ? with_type(data, &s, count, 0) : MPI_SUCCESS;
}

/* Bytes from one partition of so many elements to the next; 0 where they do not all lie alike. */
static ptrdiff_t partition_step(const struct nof_section *s, size_t partitions, size_t elements)
{
    size_t slab = 1;
    int d = 0;
    while (d < s->rank - 1 && partitions * elements > slab * s->extent[d])
        slab *= s->extent[d++];
    return elements % slab == 0 ? (ptrdiff_t)(elements / slab) * s->stride[d] : 0;
}

int nof_f_partitioned_in(struct nof_f_data *data, const CFI_cdesc_t *buffer, MPI_Fint partitions,
                         MPI_Count count, MPI_Fint type)
{
    struct nof_section s;
    MPI_Aint lb, extent;
    *data = (struct nof_f_data){buffer->base_addr, count, type, MPI_DATATYPE_NULL};
    if (!is_strided(buffer, &type, &s))
        return MPI_SUCCESS;
    if (partitions < 2 || count <= 0 || PMPI_Type_get_extent(MPI_Type_f2c(type), &lb, &extent) != MPI_SUCCESS)
        return with_type(data, &s, count, 0);
    MPI_Aint bytes;
    ptrdiff_t step = 0;
    if (!__builtin_mul_overflow(count, extent, &bytes) && bytes % (MPI_Aint)s.elem_bytes == 0)
        step = partition_step(&s, (size_t)partitions, (size_t)bytes / s.elem_bytes);
    if (step != 0)
        return with_type(data, &s, count, step);
    return nof_fortran_hooks.raise(MPI_ERR_BUFFER,
                                   "the partitions of this section of an array do not lie alike: use "
                                   "partitions of whole columns, or a contiguous array");
}

void nof_f_data_out(struct nof_f_data *data)
{
    if (data->made != MPI_DATATYPE_NULL)
        nof_fortran_hooks.free_type(data->made);
}

int nof_f_side(const CFI_cdesc_t *buffer, const MPI_Fint *type, bool is_read)
{
    struct nof_section s;
    if (is_strided(buffer, type, &s))
        nof_fortran_hooks.section(&s, is_read);
    return MPI_SUCCESS;
}

/* Between the section and one piece. */
static void copy(const struct nof_section *s, int rank, char *at, char **piece, bool is_out)
{
    for (size_t i = 0; i < s->extent[rank - 1]; i++, at += s->stride[rank - 1]) {
        if (rank > 1) {
            copy(s, rank - 1, at, piece, is_out);
            continue;
        }
        memcpy(is_out ? at : *piece, is_out ? *piece : at, s->elem_bytes);
        *piece += s->elem_bytes;
    }
}

int nof_f_linear_in(struct nof_f_linear *linear, const CFI_cdesc_t *buffer)
{
    linear->copy = buffer->base_addr;
    linear->is_copy = is_strided(buffer, NULL, &linear->section);
    if (!linear->is_copy)
        return MPI_SUCCESS;
    size_t bytes = linear->section.elem_bytes;
    for (int i = 0; i < linear->section.rank; i++)
        bytes *= linear->section.extent[i];
    char *piece = linear->copy = malloc(bytes);
    linear->is_copy = piece != NULL;
    if (piece == NULL)
        return no_memory();
    copy(&linear->section, linear->section.rank, linear->section.base, &piece, false);
    return MPI_SUCCESS;
}

void nof_f_linear_out(struct nof_f_linear *linear, bool is_read)
{
    char *piece = linear->copy;
    if (!linear->is_copy)
        return;
    if (!is_read)
        copy(&linear->section, linear->section.rank, linear->section.base, &piece, true);
    free(linear->copy);
}

int nof_f_block(const CFI_cdesc_t *buffer)
{
    struct nof_section s;
    if (!is_strided(buffer, NULL, &s))
        return MPI_SUCCESS;
    return nof_fortran_hooks.raise(MPI_ERR_BUFFER,
                                   "a section of an array that is not contiguous cannot be such a buffer");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of arrays: subarray, and the share that one process has of a distributed array. Both are built
 * from the fastest dimension outwards; each step makes a type whose extent is that of the dimension. */
#include <stdlib.h>

#include "comm/entry.h"
#include "type/type_args.h"

/* What is built so far, and the bytes from one of it to the next in the dimension that comes. */
struct build {
    struct nof_type *type;
    ptrdiff_t stride;
};

static int no_memory(void)
{
    return nof_error(MPI_ERR_NO_MEM, "no memory for the datatype of an array");
}

/* Replace the type built so far, which goes. */
static int replace(struct build *b, struct nof_type *by)
{
    nof_type_release(b->type);
    b->type = by;
    return by == NULL ? no_memory() : MPI_SUCCESS;
}

/* One more dimension of `size`, of which the elements of these (at most two) blocks are taken: block i is
 * `count` times `length` elements, `step` elements apart, from element `start` on. */
struct piece {
    MPI_Count start, count, length, step;
};

static int add_dimension(struct build *b, MPI_Count size, const struct piece *pieces, size_t n)
{
    ptrdiff_t whole;
    struct nof_type_block blocks[2];
    size_t made = 0;
    if (__builtin_mul_overflow(b->stride, size, &whole))
        return nof_type_too_large();
    struct nof_type *element = nof_type_resized(b->type, 0, b->stride);
    if (element == NULL)
        return no_memory();
    bool fits = true;
    for (size_t i = 0; i < n && made == i && fits; i++) {
        size_t count = (size_t)pieces[i].count, length = (size_t)pieces[i].length;
        ptrdiff_t step = b->stride * (ptrdiff_t)pieces[i].step;
        fits = nof_type_vector_fits(count, length, step, element);
        struct nof_type *part = fits ? nof_type_vector(count, length, step, element) : NULL;
        if (part != NULL)
            blocks[made++] = (struct nof_type_block){b->stride * (ptrdiff_t)pieces[i].start, 1, part};
    }
    fits = fits && nof_type_blocks_fit(made, blocks);
    struct nof_type *type = made == n && fits ? nof_type_blocks(n, blocks) : NULL;
    for (size_t i = 0; i < made; i++)
        nof_type_release(blocks[i].type);
    nof_type_release(element);
    b->stride = whole;
    return fits ? replace(b, type) : nof_type_too_large();
}

/* The last step: the extent is the whole array's. */
static int finish(struct build *b, int rc, struct nof_type_contents *contents, MPI_Datatype *newtype)
{
    if (rc == MPI_SUCCESS)
        rc = replace(b, nof_type_resized(b->type, 0, b->stride));
    if (rc == MPI_SUCCESS)
        return nof_type_publish(b->type, contents, newtype);
    if (b->type != NULL)
        nof_type_release(b->type);
    if (contents != NULL)
        nof_type_contents_release(contents);
    return rc;
}

static struct build begin(struct nof_type *old)
{
    nof_type_hold(old);
    return (struct build){old, nof_type_extent(old)};
}

/* Dimension that comes k-th when the fastest is the first. */
static int dimension(int k, int ndims, int order)
{
    return order == MPI_ORDER_C ? ndims - 1 - k : k;
}

static int check_array(int ndims, int order, MPI_Datatype oldtype, struct nof_type **old)
{
    int rc = nof_type_check(oldtype, false, old);
    if (rc == MPI_SUCCESS && ndims < 1)
        rc = nof_error(MPI_ERR_DIMS, "the number of dimensions is %d", ndims);
    if (rc == MPI_SUCCESS && order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
        rc = nof_error(MPI_ERR_ARG, "the order is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN");
    return rc;
}

static void add_numbers(struct nof_type_contents *c, const struct nof_numbers *n, int count)
{
    for (int i = 0; i < count; i++)
        nof_type_contents_number(c, nof_number(n, i));
}

static void add_ints(struct nof_type_contents *c, const int *n, int count)
{
    for (int i = 0; i < count; i++)
        nof_type_contents_int(c, n[i]);
}

struct subarray {
    int ndims;
    struct nof_numbers sizes, subsizes, starts;
    int order;
    bool large;
    MPI_Datatype oldtype;
};

static int check_subarray(const struct subarray *in, struct nof_type **old)
{
    int rc = check_array(in->ndims, in->order, in->oldtype, old);
    if (rc == MPI_SUCCESS && (!nof_numbers_given(&in->sizes) || !nof_numbers_given(&in->subsizes) ||
                              !nof_numbers_given(&in->starts)))
        rc = nof_error(MPI_ERR_ARG, "an array of sizes or starts is NULL");
    for (int i = 0; rc == MPI_SUCCESS && i < in->ndims; i++) {
        MPI_Count size = nof_number(&in->sizes, i), part = nof_number(&in->subsizes, i);
        MPI_Count start = nof_number(&in->starts, i);
        if (size < 1 || part < 1 || part > size || start < 0 || start > size - part)
            rc = nof_error(MPI_ERR_ARG, "dimension %d: %lld elements from %lld on, of %lld", i,
                           (long long)part, (long long)start, (long long)size);
    }
    return rc;
}

static int make_subarray(const struct subarray *in, MPI_Datatype *newtype)
{
    struct nof_type *old;
    int rc = check_subarray(in, &old);
    if (rc != MPI_SUCCESS)
        return rc;
    size_t n = (size_t)in->ndims;
    struct nof_type_contents *c = nof_type_contents_new(MPI_COMBINER_SUBARRAY, in->large, 2, 3 * n, 0, 1);
    nof_type_contents_int(c, in->ndims);
    add_numbers(c, &in->sizes, in->ndims);
    add_numbers(c, &in->subsizes, in->ndims);
    add_numbers(c, &in->starts, in->ndims);
    nof_type_contents_int(c, in->order);
    nof_type_contents_type(c, old);
    struct build b = begin(old);
    for (int k = 0; rc == MPI_SUCCESS && k < in->ndims; k++) {
        int d = dimension(k, in->ndims, in->order);
        struct piece piece = {nof_number(&in->starts, d), 1, nof_number(&in->subsizes, d), 0};
        rc = add_dimension(&b, nof_number(&in->sizes, d), &piece, 1);
    }
    return finish(&b, rc, c, newtype);
}

NOF_MPI(Type_create_subarray)
int PMPI_Type_create_subarray(int ndims, const int array_of_sizes[], const int array_of_subsizes[],
                              const int array_of_starts[], int order, MPI_Datatype oldtype,
                              MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct subarray in = {.ndims = ndims,
                          .sizes.narrow = array_of_sizes,
                          .subsizes.narrow = array_of_subsizes,
                          .starts.narrow = array_of_starts,
                          .order = order,
                          .oldtype = oldtype};
    return nof_lib_leave(NULL, make_subarray(&in, newtype), __func__);
}

NOF_MPI(Type_create_subarray_c)
int PMPI_Type_create_subarray_c(int ndims, const MPI_Count array_of_sizes[],
                                const MPI_Count array_of_subsizes[], const MPI_Count array_of_starts[],
                                int order, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct subarray in = {.ndims = ndims,
                          .sizes.wide = array_of_sizes,
                          .subsizes.wide = array_of_subsizes,
                          .starts.wide = array_of_starts,
                          .order = order,
                          .large = true,
                          .oldtype = oldtype};
    return nof_lib_leave(NULL, make_subarray(&in, newtype), __func__);
}

struct darray {
    int size, rank, ndims;
    struct nof_numbers gsizes;
    const int *distribs, *dargs, *psizes;
    int order;
    bool large;
    MPI_Datatype oldtype;
};

/* Elements in a block of dimension d; 0 and *rc if the arguments do not fit. */
static MPI_Count block_of(const struct darray *in, int d, int *rc)
{
    MPI_Count gsize = nof_number(&in->gsizes, d), psize = in->psizes[d];
    int darg = in->dargs[d];
    bool deflt = darg == MPI_DISTRIBUTE_DFLT_DARG;
    if (gsize < 1 || psize < 1 || (!deflt && darg < 1 && in->distribs[d] != MPI_DISTRIBUTE_NONE)) {
        *rc = nof_error(MPI_ERR_ARG, "dimension %d: %lld elements over %lld processes, argument %d", d,
                        (long long)gsize, (long long)psize, darg);
        return 0;
    }
    switch (in->distribs[d]) {
    case MPI_DISTRIBUTE_NONE:
        if (psize == 1)
            return gsize;
        *rc = nof_error(MPI_ERR_ARG, "dimension %d is not distributed, but over %lld processes", d,
                        (long long)psize);
        return 0;
    case MPI_DISTRIBUTE_BLOCK:
        if (deflt)
            return (gsize - 1) / psize + 1;
        if (darg >= (gsize - 1) / psize + 1)
            return darg;
        *rc = nof_error(MPI_ERR_ARG, "dimension %d: %lld blocks of %d are less than %lld elements", d,
                        (long long)psize, darg, (long long)gsize);
        return 0;
    case MPI_DISTRIBUTE_CYCLIC:
        return deflt ? 1 : darg;
    default:
        *rc = nof_error(MPI_ERR_ARG, "dimension %d: unknown distribution %d", d, in->distribs[d]);
        return 0;
    }
}

static int check_darray(const struct darray *in, struct nof_type **old)
{
    MPI_Count processes = 1;
    int rc = check_array(in->ndims, in->order, in->oldtype, old);
    if (rc == MPI_SUCCESS &&
        (!nof_numbers_given(&in->gsizes) || in->distribs == NULL || in->dargs == NULL || in->psizes == NULL))
        rc = nof_error(MPI_ERR_ARG, "an array of sizes or distributions is NULL");
    if (rc == MPI_SUCCESS && (in->size < 1 || in->rank < 0 || in->rank >= in->size))
        rc = nof_error(MPI_ERR_ARG, "rank %d of %d processes", in->rank, in->size);
    for (int i = 0; rc == MPI_SUCCESS && i < in->ndims; i++) {
        (void)block_of(in, i, &rc);
        if (rc == MPI_SUCCESS && __builtin_mul_overflow(processes, (MPI_Count)in->psizes[i], &processes))
            processes = -1;
    }
    if (rc == MPI_SUCCESS && processes != in->size)
        rc = nof_error(MPI_ERR_ARG, "the grid has %lld processes, not %d", (long long)processes, in->size);
    return rc;
}

/* The place of the process in dimension d of the grid, which is row-major whatever the order. */
static MPI_Count coordinate(const struct darray *in, int d)
{
    int rest = in->rank;
    for (int i = in->ndims - 1; i > d; i--)
        rest /= in->psizes[i];
    return rest % in->psizes[d];
}

static int distribute(const struct darray *in, int d, struct build *b)
{
    int rc = MPI_SUCCESS;
    struct piece pieces[2];
    size_t n = 0;
    MPI_Count gsize = nof_number(&in->gsizes, d), block = block_of(in, d, &rc), round;
    if (__builtin_mul_overflow(block, (MPI_Count)in->psizes[d], &round))
        return nof_type_too_large();
    MPI_Count first = coordinate(in, d) * block;
    MPI_Count whole = first + block > gsize ? 0 : (gsize - first - block) / round + 1;
    MPI_Count last = first + whole * round;
    if (whole > 0)
        pieces[n++] = (struct piece){first, whole, block, round};
    if (last < gsize) /* the array ends inside a block */
        pieces[n++] = (struct piece){last, 1, gsize - last, 0};
    return add_dimension(b, gsize, pieces, n);
}

static int make_darray(const struct darray *in, MPI_Datatype *newtype)
{
    struct nof_type *old;
    int rc = check_darray(in, &old);
    if (rc != MPI_SUCCESS)
        return rc;
    size_t n = (size_t)in->ndims;
    struct nof_type_contents *c = nof_type_contents_new(MPI_COMBINER_DARRAY, in->large, 3 * n + 4, n, 0, 1);
    nof_type_contents_int(c, in->size);
    nof_type_contents_int(c, in->rank);
    nof_type_contents_int(c, in->ndims);
    add_numbers(c, &in->gsizes, in->ndims);
    add_ints(c, in->distribs, in->ndims);
    add_ints(c, in->dargs, in->ndims);
    add_ints(c, in->psizes, in->ndims);
    nof_type_contents_int(c, in->order);
    nof_type_contents_type(c, old);
    struct build b = begin(old);
    for (int k = 0; rc == MPI_SUCCESS && k < in->ndims; k++)
        rc = distribute(in, dimension(k, in->ndims, in->order), &b);
    return finish(&b, rc, c, newtype);
}

NOF_MPI(Type_create_darray)
int PMPI_Type_create_darray(int size, int rank, int ndims, const int array_of_gsizes[],
                            const int array_of_distribs[], const int array_of_dargs[],
                            const int array_of_psizes[], int order, MPI_Datatype oldtype,
                            MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct darray in = {.size = size,
                        .rank = rank,
                        .ndims = ndims,
                        .gsizes.narrow = array_of_gsizes,
                        .distribs = array_of_distribs,
                        .dargs = array_of_dargs,
                        .psizes = array_of_psizes,
                        .order = order,
                        .oldtype = oldtype};
    return nof_lib_leave(NULL, make_darray(&in, newtype), __func__);
}

NOF_MPI(Type_create_darray_c)
int PMPI_Type_create_darray_c(int size, int rank, int ndims, const MPI_Count array_of_gsizes[],
                              const int array_of_distribs[], const int array_of_dargs[],
                              const int array_of_psizes[], int order, MPI_Datatype oldtype,
                              MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    struct darray in = {.size = size,
                        .rank = rank,
                        .ndims = ndims,
                        .gsizes.wide = array_of_gsizes,
                        .distribs = array_of_distribs,
                        .dargs = array_of_dargs,
                        .psizes = array_of_psizes,
                        .order = order,
                        .large = true,
                        .oldtype = oldtype};
    return nof_lib_leave(NULL, make_darray(&in, newtype), __func__);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "type/type.h"
#include "type/type_contents.h"

/* A new type with this tree (taken over, NULL: failed before) and these bounds; of one kind with `like`. */
static struct nof_type *new_type(struct nof_tree *tree, ptrdiff_t lb, ptrdiff_t ub,
                                 const struct nof_type *like)
{
    struct nof_type *type = tree == NULL ? NULL : calloc(1, sizeof(*type));
    if (type == NULL) {
        nof_tree_release(tree);
        return NULL;
    }
    type->refs = 1;
    type->size = tree->size;
    type->lb = lb;
    type->ub = ub;
    type->tree = tree;
    type->uniform = like == NULL ? NOF_REDUCE_NONE : like->uniform;
    type->align = like == NULL ? 1 : like->align;
    type->bounded = like != NULL && like->bounded;
    type->contiguous = tree->size == 0 || (tree->dense && ub - lb == (ptrdiff_t)tree->size);
    return type;
}

/* Widen [*lb, *ub) to `count` of it, `stride` apart. False: no ptrdiff_t can say it. */
static bool spread(ptrdiff_t *lb, ptrdiff_t *ub, size_t count, ptrdiff_t stride)
{
    ptrdiff_t last, extent;
    return !__builtin_mul_overflow(stride, count - 1, &last) &&
           !__builtin_add_overflow(*lb, last < 0 ? last : 0, lb) &&
           !__builtin_add_overflow(*ub, last > 0 ? last : 0, ub) &&
           !__builtin_sub_overflow(*ub, *lb, &extent);
}

static bool shift(ptrdiff_t *lb, ptrdiff_t *ub, ptrdiff_t disp)
{
    return !__builtin_add_overflow(*lb, disp, lb) && !__builtin_add_overflow(*ub, disp, ub);
}

bool nof_type_vector_fits(size_t count, size_t blocklength, ptrdiff_t stride_bytes,
                          const struct nof_type *old)
{
    size_t elements, bytes;
    ptrdiff_t extent = nof_type_extent(old);
    /* Bounds that were set by hand may be narrower than what is touched, and the other way round. */
    ptrdiff_t lb = old->lb, ub = old->ub, low = old->tree->lb, high = old->tree->ub;
    if (count == 0 || blocklength == 0)
        return true;
    return !__builtin_mul_overflow(count, blocklength, &elements) && nof_type_bytes(old, elements, &bytes) &&
           spread(&lb, &ub, blocklength, extent) && spread(&lb, &ub, count, stride_bytes) &&
           spread(&low, &high, blocklength, extent) && spread(&low, &high, count, stride_bytes);
}

bool nof_type_blocks_fit(size_t count, const struct nof_type_block *blocks)
{
    ptrdiff_t size = 0, lowest = 0, highest = 0, extent;
    for (size_t i = 0; i < count; i++) {
        const struct nof_type *old = blocks[i].type;
        size_t bytes;
        ptrdiff_t lb = old->lb, ub = old->ub, low = old->tree->lb, high = old->tree->ub;
        if (blocks[i].count == 0)
            continue;
        if (!nof_type_bytes(old, blocks[i].count, &bytes) || __builtin_add_overflow(size, bytes, &size) ||
            !spread(&lb, &ub, blocks[i].count, nof_type_extent(old)) || !shift(&lb, &ub, blocks[i].disp) ||
            !spread(&low, &high, blocks[i].count, nof_type_extent(old)) ||
            !shift(&low, &high, blocks[i].disp))
            return false;
        lowest = lb < lowest ? lb : lowest;
        highest = ub > highest ? ub : highest;
    }
    return !__builtin_sub_overflow(highest, lowest, &extent);
}

/* Nothing is in its type map: it says nothing of bounds, wherever it lies. */
static bool is_empty(const struct nof_type *type)
{
    return type->size == 0 && !type->bounded;
}

/* What holds of all blocks together: bounds, the strictest alignment, the kind of the elements. */
static struct nof_type common(size_t count, const struct nof_type_block *blocks)
{
    struct nof_type all = {.align = 1, .uniform = count == 0 ? NOF_REDUCE_NONE : blocks[0].type->uniform};
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        const struct nof_type *old = blocks[i].type;
        if (old->uniform != all.uniform)
            all.uniform = NOF_REDUCE_NONE;
        if (blocks[i].count == 0 || is_empty(old) || (all.bounded && !old->bounded))
            continue;
        if (old->bounded && !all.bounded)
            first = true; /* those so far do not count */
        all.bounded = old->bounded;
        ptrdiff_t last = nof_type_extent(old) * (ptrdiff_t)(blocks[i].count - 1);
        ptrdiff_t low = blocks[i].disp + old->lb + (last < 0 ? last : 0);
        ptrdiff_t high = blocks[i].disp + old->ub + (last > 0 ? last : 0);
        all.lb = first || low < all.lb ? low : all.lb;
        all.ub = first || high > all.ub ? high : all.ub;
        all.align = old->align > all.align ? old->align : all.align;
        first = false;
    }
    return all;
}

struct nof_type *nof_type_blocks(size_t count, const struct nof_type_block *blocks)
{
    struct nof_type all = common(count, blocks);
    return new_type(nof_tree_list(count, blocks), all.lb, all.ub, &all);
}

struct nof_type *nof_type_vector(size_t count, size_t blocklength, ptrdiff_t stride_bytes,
                                 struct nof_type *old)
{
    if (count == 0 || blocklength == 0 || is_empty(old))
        return new_type(nof_tree_leaf(1, 0, NOF_EXT_1), 0, 0, NULL);
    struct nof_tree *block = nof_tree_loop(blocklength, nof_type_extent(old), old->tree);
    struct nof_tree *tree = block == NULL ? NULL : nof_tree_loop(count, stride_bytes, block);
    nof_tree_release(block);
    ptrdiff_t in = nof_type_extent(old) * (ptrdiff_t)(blocklength - 1);
    ptrdiff_t out = stride_bytes * (ptrdiff_t)(count - 1);
    ptrdiff_t lb = old->lb + (in < 0 ? in : 0) + (out < 0 ? out : 0);
    ptrdiff_t ub = old->ub + (in > 0 ? in : 0) + (out > 0 ? out : 0);
    return new_type(tree, lb, ub, old);
}

struct nof_type *nof_type_resized(struct nof_type *old, ptrdiff_t lb, ptrdiff_t extent)
{
    struct nof_type *type = new_type(nof_tree_hold(old->tree), lb, lb + extent, old);
    if (type != NULL)
        type->bounded = true;
    return type;
}

struct nof_type *nof_type_alias(struct nof_type *old)
{
    return new_type(nof_tree_hold(old->tree), old->lb, old->ub, old);
}

void nof_type_pad(struct nof_type *type)
{
    ptrdiff_t over = nof_type_extent(type) % (ptrdiff_t)type->align, ub, extent;
    if (type->bounded || over == 0 || __builtin_add_overflow(type->ub, type->align - over, &ub) ||
        __builtin_sub_overflow(ub, type->lb, &extent))
        return;
    type->ub = ub;
    type->contiguous = type->size == 0;
}

int nof_type_publish(struct nof_type *type, struct nof_type_contents *contents, MPI_Datatype *handle_out)
{
    int rc = nof_error_if_null(handle_out, "the place for the datatype");
    bool whole = rc == MPI_SUCCESS && type != NULL && contents != NULL && !contents->failed;
    uint64_t handle = !whole ? 0 : nof_handle_add(&nof_lib.types, type);
    if (type != NULL)
        type->contents = contents;
    else if (contents != NULL)
        nof_type_contents_release(contents);
    if (handle == 0) {
        if (type != NULL)
            nof_type_release(type);
        return rc != MPI_SUCCESS
                   ? rc
                   : nof_error(MPI_ERR_NO_MEM, "no memory for the datatype, or more than %d levels deep",
                               NOF_TREE_DEPTH_MAX);
    }
    type->handle = nof_lib_handle(handle);
    *handle_out = type->handle;
    return MPI_SUCCESS;
}

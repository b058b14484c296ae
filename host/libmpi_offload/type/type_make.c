/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "type/type.h"
#include "type/type_contents.h"

static struct nof_tree *new_tree(enum nof_tree_kind kind)
{
    struct nof_tree *tree = calloc(1, sizeof(*tree));
    if (tree != NULL) {
        tree->kind = kind;
        tree->refs = 1;
    }
    return tree;
}

static struct nof_tree *hold(struct nof_tree *tree)
{
    tree->refs++;
    return tree;
}

void nof_tree_release(struct nof_tree *tree)
{
    if (tree == NULL || --tree->refs > 0)
        return;
    switch (tree->kind) {
    case NOF_TREE_LEAF:
        break;
    case NOF_TREE_LOOP:
        nof_tree_release(tree->loop.child);
        break;
    case NOF_TREE_LIST:
        for (size_t i = 0; i < tree->list.count; i++)
            nof_tree_release(tree->list.child[i].tree);
        free(tree->list.child);
        break;
    }
    free(tree);
}

struct nof_tree *nof_tree_leaf(size_t elem_bytes, size_t count, enum nof_ext ext)
{
    struct nof_tree *tree = new_tree(NOF_TREE_LEAF);
    if (tree != NULL) {
        tree->leaf.elem_bytes = elem_bytes;
        tree->leaf.count = count;
        tree->leaf.ext = ext;
        tree->dense = true;
        tree->size = elem_bytes * count;
        tree->elements = count;
        tree->ub = (ptrdiff_t)tree->size;
    }
    return tree;
}

/* `count` times `child`, `stride` apart. Takes a reference of its own. */
static struct nof_tree *loop(size_t count, ptrdiff_t stride, struct nof_tree *child)
{
    if (count == 0 || child->size == 0)
        return nof_tree_leaf(1, 0, NOF_EXT_1);
    if (count == 1)
        return hold(child);
    if (child->kind == NOF_TREE_LEAF && stride == (ptrdiff_t)child->size)
        return nof_tree_leaf(child->leaf.elem_bytes, child->leaf.count * count, child->leaf.ext);
    if (child->kind == NOF_TREE_LOOP && stride == child->loop.stride * (ptrdiff_t)child->loop.count)
        return loop(child->loop.count * count, child->loop.stride, child->loop.child);
    if (child->depth >= NOF_TREE_DEPTH_MAX)
        return NULL;
    struct nof_tree *tree = new_tree(NOF_TREE_LOOP);
    if (tree == NULL)
        return NULL;
    ptrdiff_t last = stride * (ptrdiff_t)(count - 1);
    tree->loop.count = count;
    tree->loop.stride = stride;
    tree->loop.child = hold(child);
    tree->depth = child->depth + 1;
    tree->dense = child->dense && stride == (ptrdiff_t)child->size;
    tree->size = child->size * count;
    tree->elements = child->elements * count;
    tree->lb = child->lb + (last < 0 ? last : 0);
    tree->ub = child->ub + (last > 0 ? last : 0);
    return tree;
}

/* Append a child at disp, merging it with the one before if both are leaves that touch. Takes a
 * reference of its own; false when a merge finds no memory. */
static bool append(struct nof_tree *list, struct nof_tree *tree, ptrdiff_t disp)
{
    struct nof_tree_child *last = list->list.count == 0 ? NULL : &list->list.child[list->list.count - 1];
    if (last != NULL && tree->kind == NOF_TREE_LEAF && last->tree->kind == NOF_TREE_LEAF &&
        tree->leaf.elem_bytes == last->tree->leaf.elem_bytes && tree->leaf.ext == last->tree->leaf.ext &&
        last->disp + (ptrdiff_t)last->tree->size == disp) {
        struct nof_tree *merged =
            nof_tree_leaf(tree->leaf.elem_bytes, last->tree->leaf.count + tree->leaf.count, tree->leaf.ext);
        if (merged == NULL)
            return false;
        nof_tree_release(last->tree);
        last->tree = merged;
    } else {
        list->list.child[list->list.count++] =
            (struct nof_tree_child){.disp = disp, .start = list->size, .tree = hold(tree)};
    }
    ptrdiff_t lb = disp + tree->lb, ub = disp + tree->ub;
    list->dense = tree->dense && (list->size == 0 || (list->dense && lb == list->lb + (ptrdiff_t)list->size));
    list->lb = list->size == 0 || lb < list->lb ? lb : list->lb;
    list->ub = list->size == 0 || ub > list->ub ? ub : list->ub;
    list->size += tree->size;
    list->elements += tree->elements;
    list->depth = tree->depth + 1 > list->depth ? tree->depth + 1 : list->depth;
    return true;
}

static struct nof_tree *list_of(size_t count, const struct nof_type_block *blocks)
{
    struct nof_tree *list = new_tree(NOF_TREE_LIST);
    if (list == NULL)
        return NULL;
    list->list.child = calloc(count == 0 ? 1 : count, sizeof(*list->list.child));
    bool ok = list->list.child != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        if (blocks[i].count == 0 || blocks[i].type->size == 0)
            continue;
        struct nof_tree *tree = loop(blocks[i].count, nof_type_extent(blocks[i].type), blocks[i].type->tree);
        ok = tree != NULL && append(list, tree, blocks[i].disp);
        nof_tree_release(tree);
    }
    if (!ok || list->depth > NOF_TREE_DEPTH_MAX) {
        nof_tree_release(list);
        return NULL;
    }
    struct nof_tree *simple = NULL;
    if (list->list.count == 0)
        simple = nof_tree_leaf(1, 0, NOF_EXT_1);
    else if (list->list.count == 1 && list->list.child[0].disp == 0)
        simple = hold(list->list.child[0].tree);
    if (simple == NULL)
        return list;
    nof_tree_release(list);
    return simple;
}

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
    type->uniform = like == NULL ? NOF_BASIC_NONE : like->uniform;
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

/* What holds of all blocks together: bounds, the strictest alignment, the kind of the elements. */
static struct nof_type common(size_t count, const struct nof_type_block *blocks)
{
    struct nof_type all = {.align = 1, .uniform = count == 0 ? NOF_BASIC_NONE : blocks[0].type->uniform};
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        const struct nof_type *old = blocks[i].type;
        if (old->uniform != all.uniform)
            all.uniform = NOF_BASIC_NONE;
        if (blocks[i].count == 0 || (all.bounded && !old->bounded))
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
    return new_type(list_of(count, blocks), all.lb, all.ub, &all);
}

struct nof_type *nof_type_vector(size_t count, size_t blocklength, ptrdiff_t stride_bytes,
                                 struct nof_type *old)
{
    if (count == 0 || blocklength == 0)
        return new_type(nof_tree_leaf(1, 0, NOF_EXT_1), 0, 0, NULL);
    struct nof_tree *block = loop(blocklength, nof_type_extent(old), old->tree);
    struct nof_tree *tree = block == NULL ? NULL : loop(count, stride_bytes, block);
    nof_tree_release(block);
    ptrdiff_t in = nof_type_extent(old) * (ptrdiff_t)(blocklength - 1);
    ptrdiff_t out = stride_bytes * (ptrdiff_t)(count - 1);
    ptrdiff_t lb = old->lb + (in < 0 ? in : 0) + (out < 0 ? out : 0);
    ptrdiff_t ub = old->ub + (in > 0 ? in : 0) + (out > 0 ? out : 0);
    return new_type(tree, lb, ub, old);
}

struct nof_type *nof_type_resized(struct nof_type *old, ptrdiff_t lb, ptrdiff_t extent)
{
    struct nof_type *type = new_type(hold(old->tree), lb, lb + extent, old);
    if (type != NULL)
        type->bounded = true;
    return type;
}

struct nof_type *nof_type_alias(struct nof_type *old)
{
    return new_type(hold(old->tree), old->lb, old->ub, old);
}

void nof_type_pad(struct nof_type *type)
{
    ptrdiff_t over = nof_type_extent(type) % (ptrdiff_t)type->align;
    if (type->bounded || over == 0 || __builtin_add_overflow(type->ub, type->align - over, &type->ub))
        return;
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

/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "type/type.h"

static struct nof_tree *new_tree(enum nof_tree_kind kind)
{
    struct nof_tree *tree = calloc(1, sizeof(*tree));
    if (tree != NULL) {
        tree->kind = kind;
        tree->refs = 1;
    }
    return tree;
}

struct nof_tree *nof_tree_hold(struct nof_tree *tree)
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

struct nof_tree *nof_tree_loop(size_t count, ptrdiff_t stride, struct nof_tree *child)
{
    if (count == 0 || child->size == 0)
        return nof_tree_leaf(1, 0, NOF_EXT_1);
    if (count == 1)
        return nof_tree_hold(child);
    if (child->kind == NOF_TREE_LEAF && stride == (ptrdiff_t)child->size)
        return nof_tree_leaf(child->leaf.elem_bytes, child->leaf.count * count, child->leaf.ext);
    if (child->kind == NOF_TREE_LOOP && stride == child->loop.stride * (ptrdiff_t)child->loop.count)
        return nof_tree_loop(child->loop.count * count, child->loop.stride, child->loop.child);
    if (child->depth >= NOF_TREE_DEPTH_MAX)
        return NULL;
    struct nof_tree *tree = new_tree(NOF_TREE_LOOP);
    if (tree == NULL)
        return NULL;
    ptrdiff_t last = stride * (ptrdiff_t)(count - 1);
    tree->loop.count = count;
    tree->loop.stride = stride;
    tree->loop.child = nof_tree_hold(child);
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
            (struct nof_tree_child){.disp = disp, .start = list->size, .tree = nof_tree_hold(tree)};
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

struct nof_tree *nof_tree_list(size_t count, const struct nof_type_block *blocks)
{
    struct nof_tree *list = new_tree(NOF_TREE_LIST);
    if (list == NULL)
        return NULL;
    list->list.child = calloc(count == 0 ? 1 : count, sizeof(*list->list.child));
    bool ok = list->list.child != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        if (blocks[i].count == 0 || blocks[i].type->size == 0)
            continue;
        struct nof_tree *tree =
            nof_tree_loop(blocks[i].count, nof_type_extent(blocks[i].type), blocks[i].type->tree);
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
        simple = nof_tree_hold(list->list.child[0].tree);
    if (simple == NULL)
        return list;
    nof_tree_release(list);
    return simple;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing and unpacking. Hot for non-contiguous messages: no allocation, no lock, one memcpy per
 * contiguous run, a fixed-size copy for runs of one 4, 8 or 16 byte element. */
#include <stdlib.h>
#include <string.h>

#include "type/type.h"

struct walk {
    char *packed; /* moves along */
    bool unpack;
};

static inline void move(struct walk *w, void *user, size_t len)
{
    if (w->unpack)
        memcpy(user, w->packed, len);
    else
        memcpy(w->packed, user, len);
    w->packed += len;
}

/* A loop whose child is one small block: the common strided column or face. */
static void move_strided(struct walk *w, char *user, size_t count, ptrdiff_t stride, size_t len)
{
#define RUN(bytes) \
    case bytes: \
        for (size_t i = 0; i < count; i++, user += stride) \
            move(w, user, bytes); \
        return
    switch (len) {
        RUN(4);
        RUN(8);
        RUN(16);
    default:
        for (size_t i = 0; i < count; i++, user += stride)
            move(w, user, len);
    }
#undef RUN
}

static void walk_tree(struct walk *w, const struct nof_tree *tree, char *user, size_t from, size_t to);

static void walk_loop(struct walk *w, const struct nof_tree *tree, char *user, size_t from, size_t to)
{
    const struct nof_tree *child = tree->loop.child;
    size_t first = from / child->size, skip = from % child->size;
    user += (ptrdiff_t)first * tree->loop.stride;
    size_t at = first * child->size;
    if (skip != 0) {
        size_t end = to - at < child->size ? to - at : child->size;
        walk_tree(w, child, user, skip, end);
        at += child->size;
        user += tree->loop.stride;
    }
    if (at >= to)
        return;
    size_t whole = (to - at) / child->size;
    if (child->dense) {
        move_strided(w, user + child->lb, whole, tree->loop.stride, child->size);
        user += (ptrdiff_t)whole * tree->loop.stride;
    } else {
        for (size_t i = 0; i < whole; i++, user += tree->loop.stride)
            walk_tree(w, child, user, 0, child->size);
    }
    at += whole * child->size;
    if (at < to)
        walk_tree(w, child, user, 0, to - at);
}

static void walk_list(struct walk *w, const struct nof_tree *tree, char *user, size_t from, size_t to)
{
    size_t low = 0, high = tree->list.count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (tree->list.child[middle].start <= from)
            low = middle;
        else
            high = middle;
    }
    for (size_t i = low; i < tree->list.count && from < to; i++) {
        const struct nof_tree_child *child = &tree->list.child[i];
        size_t end = child->start + child->tree->size;
        if (end > to)
            end = to;
        walk_tree(w, child->tree, user + child->disp, from - child->start, end - child->start);
        from = end;
    }
}

/* Packed bytes [from, to) of one run of the tree, which lies at `user`. */
static void walk_tree(struct walk *w, const struct nof_tree *tree, char *user, size_t from, size_t to)
{
    if (tree->dense) {
        move(w, user + tree->lb + from, to - from);
        return;
    }
    switch (tree->kind) {
    case NOF_TREE_LEAF: /* dense */
        break;
    case NOF_TREE_LOOP:
        walk_loop(w, tree, user, from, to);
        break;
    case NOF_TREE_LIST:
        walk_list(w, tree, user, from, to);
        break;
    }
}

static void walk_type(struct walk *w, const struct nof_type *type, void *buf, size_t count, size_t from,
                      size_t len)
{
    if (len == 0 || type->size == 0)
        return;
    if (type->contiguous) {
        move(w, nof_lib_at(buf, type->tree->lb + (ptrdiff_t)from), len);
        return;
    }
    /* The elements of the buffer are one more loop around the tree. */
    struct nof_tree around = {.kind = NOF_TREE_LOOP, .size = type->size * count};
    around.loop.count = count;
    around.loop.stride = nof_type_extent(type);
    around.loop.child = type->tree;
    walk_loop(w, &around, buf, from, from + len);
}

void nof_type_pack(const struct nof_type *type, const void *buf, size_t count, size_t from, size_t len,
                   void *out)
{
    struct walk w = {.packed = out, .unpack = false};
    walk_type(&w, type, nof_lib_unconst(buf), count, from, len);
}

void nof_type_unpack(const struct nof_type *type, void *buf, size_t count, size_t from, size_t len,
                     const void *in)
{
    struct walk w = {.packed = nof_lib_unconst(in), .unpack = true};
    walk_type(&w, type, buf, count, from, len);
}

/* Elements in the first `bytes` of a tree; SIZE_MAX if they end inside one. */
static size_t tree_elements(const struct nof_tree *tree, size_t bytes)
{
    if (bytes == 0)
        return 0;
    if (bytes == tree->size)
        return tree->elements;
    size_t whole, rest = SIZE_MAX;
    switch (tree->kind) {
    case NOF_TREE_LEAF:
        return bytes % tree->leaf.elem_bytes == 0 ? bytes / tree->leaf.elem_bytes : SIZE_MAX;
    case NOF_TREE_LOOP:
        whole = bytes / tree->loop.child->size;
        rest = tree_elements(tree->loop.child, bytes % tree->loop.child->size);
        return rest == SIZE_MAX ? SIZE_MAX : whole * tree->loop.child->elements + rest;
    case NOF_TREE_LIST:
        whole = 0;
        for (size_t i = 0; i < tree->list.count; i++) {
            const struct nof_tree_child *child = &tree->list.child[i];
            if (bytes < child->start + child->tree->size) {
                rest = tree_elements(child->tree, bytes - child->start);
                break;
            }
            whole += child->tree->elements;
        }
        return rest == SIZE_MAX ? SIZE_MAX : whole + rest;
    }
    return SIZE_MAX;
}

size_t nof_type_elements(const struct nof_type *type, size_t bytes)
{
    if (type->size == 0)
        return 0;
    size_t rest = tree_elements(type->tree, bytes % type->size);
    return rest == SIZE_MAX ? SIZE_MAX : bytes / type->size * type->tree->elements + rest;
}

/* Packed bytes that the first `n` elements of a tree take. */
static size_t tree_bytes_of(const struct nof_tree *tree, size_t n)
{
    if (n >= tree->elements)
        return tree->size;
    const struct nof_tree *child = tree->kind == NOF_TREE_LOOP ? tree->loop.child : NULL;
    switch (tree->kind) {
    case NOF_TREE_LEAF:
        return n * tree->leaf.elem_bytes;
    case NOF_TREE_LOOP:
        return n / child->elements * child->size + tree_bytes_of(child, n % child->elements);
    case NOF_TREE_LIST:
        for (size_t i = 0; i < tree->list.count; i++) {
            const struct nof_tree_child *at = &tree->list.child[i];
            if (n < at->tree->elements)
                return at->start + tree_bytes_of(at->tree, n);
            n -= at->tree->elements;
        }
        break;
    }
    return tree->size;
}

size_t nof_type_bytes_of(const struct nof_type *type, size_t elements)
{
    size_t each = type->tree->elements;
    if (each == 0)
        return 0;
    return elements / each * type->size + tree_bytes_of(type->tree, elements % each);
}

size_t nof_type_copy(const struct nof_type *from_type, const void *from, size_t from_count,
                     const struct nof_type *to_type, void *to, size_t to_count)
{
    enum { BLOCK_BYTES = 64 * 1024 };
    size_t len = from_type->size * from_count;
    if (len > to_type->size * to_count)
        len = to_type->size * to_count;
    if (len == 0)
        return 0;
    if (from_type->contiguous) {
        nof_type_unpack(to_type, to, to_count, 0, len, nof_lib_at(from, from_type->tree->lb));
    } else if (to_type->contiguous) {
        nof_type_pack(from_type, from, from_count, 0, len, nof_lib_at(to, to_type->tree->lb));
    } else {
        size_t block = len < BLOCK_BYTES ? len : BLOCK_BYTES;
        void *middle = malloc(block);
        if (middle == NULL)
            return SIZE_MAX;
        for (size_t at = 0; at < len; at += block) {
            size_t n = len - at < block ? len - at : block;
            nof_type_pack(from_type, from, from_count, at, n, middle);
            nof_type_unpack(to_type, to, to_count, at, n, middle);
        }
        free(middle);
    }
    return len;
}

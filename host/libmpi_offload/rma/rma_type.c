/* SPDX-License-Identifier: BSD-3-Clause */
/* A datatype as 64-bit words: size, bounds, flags, then its tree in prefix order. */
#include <stdlib.h>
#include <string.h>

#include "rma/rma.h"

struct words {
    int64_t *word;
    size_t count;
    size_t capacity;
    bool failed;
};

static void put(struct words *w, int64_t value)
{
    if (w->count == w->capacity) {
        size_t capacity = w->capacity == 0 ? 32 : w->capacity * 2;
        int64_t *more = realloc(w->word, capacity * sizeof(*more));
        if (more == NULL) {
            w->failed = true;
            return;
        }
        w->word = more;
        w->capacity = capacity;
    }
    w->word[w->count++] = value;
}

static void put_tree(struct words *w, const struct nof_tree *tree)
{
    put(w, tree->kind);
    switch (tree->kind) {
    case NOF_TREE_LEAF:
        put(w, (int64_t)tree->leaf.elem_bytes);
        put(w, (int64_t)tree->leaf.count);
        break;
    case NOF_TREE_LOOP:
        put(w, (int64_t)tree->loop.count);
        put(w, tree->loop.stride);
        put_tree(w, tree->loop.child);
        break;
    case NOF_TREE_LIST:
        put(w, (int64_t)tree->list.count);
        for (size_t i = 0; i < tree->list.count && !w->failed; i++) {
            put(w, tree->list.child[i].disp);
            put_tree(w, tree->list.child[i].tree);
        }
        break;
    }
}

void *nof_rma_describe(const struct nof_type *type, size_t *bytes_out)
{
    struct words w = {0};
    put(&w, type->lb);
    put(&w, type->ub);
    put(&w, type->contiguous);
    put_tree(&w, type->tree);
    if (w.failed) {
        free(w.word);
        return NULL;
    }
    *bytes_out = w.count * sizeof(*w.word);
    return w.word;
}

/* Reading a description: peers of a job are not hostile, but a broken message must not be followed. */

struct reader {
    const int64_t *word;
    size_t left;
    bool failed;
};

static int64_t get(struct reader *r)
{
    if (r->left == 0) {
        r->failed = true;
        return 0;
    }
    r->left--;
    return *r->word++;
}

static struct nof_tree *get_tree(struct reader *r, uint32_t depth);

static void get_loop(struct reader *r, struct nof_tree *tree, uint32_t depth)
{
    tree->loop.count = (size_t)get(r);
    tree->loop.stride = get(r);
    struct nof_tree *child = tree->loop.child = get_tree(r, depth + 1);
    if (child == NULL || tree->loop.count == 0) {
        r->failed = true;
        return;
    }
    ptrdiff_t last = tree->loop.stride * (ptrdiff_t)(tree->loop.count - 1);
    tree->depth = child->depth + 1;
    tree->size = child->size * tree->loop.count;
    tree->elements = child->elements * tree->loop.count;
    tree->lb = child->lb + (last < 0 ? last : 0);
    tree->ub = child->ub + (last > 0 ? last : 0);
}

static void get_list(struct reader *r, struct nof_tree *tree, uint32_t depth)
{
    size_t count = (size_t)get(r);
    if (count == 0 || count > r->left ||
        (tree->list.child = calloc(count, sizeof(*tree->list.child))) == NULL) {
        r->failed = true;
        return;
    }
    for (size_t i = 0; i < count && !r->failed; i++) {
        struct nof_tree_child *at = &tree->list.child[i];
        at->disp = get(r);
        at->start = tree->size;
        at->tree = get_tree(r, depth + 1);
        if (at->tree == NULL)
            break;
        tree->list.count = i + 1;
        ptrdiff_t lb = at->disp + at->tree->lb, ub = at->disp + at->tree->ub;
        tree->lb = i == 0 || lb < tree->lb ? lb : tree->lb;
        tree->ub = i == 0 || ub > tree->ub ? ub : tree->ub;
        tree->size += at->tree->size;
        tree->elements += at->tree->elements;
        tree->depth = at->tree->depth >= tree->depth ? at->tree->depth + 1 : tree->depth;
    }
}

static struct nof_tree *get_tree(struct reader *r, uint32_t depth)
{
    int64_t kind = get(r);
    if (r->failed || depth > NOF_TREE_DEPTH_MAX)
        return NULL;
    size_t elem_bytes = 0, count = 0;
    if (kind == NOF_TREE_LEAF) {
        elem_bytes = (size_t)get(r);
        count = (size_t)get(r);
    }
    struct nof_tree *tree = nof_tree_leaf(elem_bytes, count, NOF_EXT_1);
    if (tree == NULL || kind == NOF_TREE_LEAF)
        return tree;
    struct nof_tree plain = {.kind = (enum nof_tree_kind)kind, .refs = 1};
    *tree = plain;
    if (kind == NOF_TREE_LOOP)
        get_loop(r, tree, depth);
    else if (kind == NOF_TREE_LIST)
        get_list(r, tree, depth);
    else
        r->failed = true;
    if (!r->failed)
        return tree;
    if (kind != NOF_TREE_LOOP && kind != NOF_TREE_LIST)
        tree->kind = NOF_TREE_LEAF;
    nof_tree_release(tree);
    return NULL;
}

struct nof_type *nof_rma_described(const void *words, size_t bytes)
{
    struct reader r = {words, bytes / sizeof(int64_t), false};
    struct nof_type *type = calloc(1, sizeof(*type));
    if (type == NULL)
        return NULL;
    type->refs = 1;
    type->committed = true;
    type->lb = get(&r);
    type->ub = get(&r);
    type->contiguous = get(&r) != 0;
    type->handle = MPI_DATATYPE_NULL;
    type->tree = get_tree(&r, 0);
    if (type->tree == NULL) {
        free(type);
        return NULL;
    }
    type->size = type->tree->size;
    return type;
}

enum { ABI_TYPES_FIRST = 0x200, ABI_TYPES_END = 0x300 }; /* handles that the ABI gave out */

uint32_t nof_rma_predefined_number(const struct nof_type *type)
{
    uint64_t bits = nof_lib_bits(type->handle);
    return bits >= ABI_TYPES_FIRST && bits < ABI_TYPES_END ? (uint32_t)bits : 0;
}

struct nof_type *nof_rma_predefined(uint32_t number)
{
    struct nof_type *type;
    if (number < ABI_TYPES_FIRST || number >= ABI_TYPES_END)
        return NULL;
    return nof_type_check(nof_lib_handle(number), true, &type) == MPI_SUCCESS ? type : NULL;
}

struct nof_type *nof_rma_basic(const struct nof_type *type)
{
    static struct nof_type *by_basic[NOF_REDUCE_TYPES];
    enum nof_reduce_type basic = type->basic != NOF_REDUCE_NONE ? type->basic : type->uniform;
    if (basic == NOF_REDUCE_NONE)
        return NULL;
    for (uint32_t number = ABI_TYPES_FIRST; by_basic[basic] == NULL && number < ABI_TYPES_END; number++) {
        struct nof_type *candidate = nof_rma_predefined(number);
        if (candidate != NULL && candidate->basic == basic)
            by_basic[basic] = candidate;
    }
    return by_basic[basic];
}

void nof_rma_span(const struct nof_type *type, uint64_t count, int64_t *low_out, int64_t *high_out)
{
    *low_out = *high_out = 0;
    if (count == 0 || type->size == 0)
        return;
    int64_t last;
    if (__builtin_mul_overflow(nof_type_extent(type), count - 1, &last) ||
        __builtin_add_overflow(type->tree->lb, last < 0 ? last : 0, low_out) ||
        __builtin_add_overflow(type->tree->ub, last > 0 ? last : 0, high_out)) {
        *low_out = INT64_MIN;
        *high_out = INT64_MAX;
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "type/section.h"

#include <stdlib.h>
#include <string.h>

/* Elements one after the other: loops, whatever the section's size. */

/* The first n elements of the lowest `rank` dimensions, each of which is one `elem`. */
static struct nof_type *elements(const struct nof_section *s, int rank, size_t n, struct nof_type *elem)
{
    if (rank == 0 || n == 0)
        return nof_type_vector(1, n, 0, elem);
    size_t slab = 1;
    for (int i = 0; i < rank - 1; i++)
        slab *= s->extent[i];
    size_t rest = n % slab;
    struct nof_type *whole = n < slab ? NULL : elements(s, rank - 1, slab, elem);
    struct nof_type *end = rest == 0 ? NULL : elements(s, rank - 1, rest, elem);
    struct nof_type *loop = NULL, *all = NULL;
    if (whole != NULL && nof_type_vector_fits(n / slab, 1, s->stride[rank - 1], whole))
        loop = nof_type_vector(n / slab, 1, s->stride[rank - 1], whole);
    struct nof_type_block blocks[2] = {{0, 1, loop}, {s->stride[rank - 1] * (ptrdiff_t)(n / slab), 1, end}};
    if ((n >= slab && loop == NULL) || (rest > 0 && end == NULL))
        all = NULL;
    else if (loop != NULL && end != NULL)
        all = nof_type_blocks_fit(2, blocks) ? nof_type_blocks(2, blocks) : NULL;
    else
        all = nof_type_alias(loop != NULL ? loop : end);
    if (whole != NULL)
        nof_type_release(whole);
    if (end != NULL)
        nof_type_release(end);
    if (loop != NULL)
        nof_type_release(loop);
    return all;
}

/* Where element i lies, from the base. */
static ptrdiff_t element_at(const struct nof_section *s, size_t i)
{
    ptrdiff_t at = 0;
    for (int d = 0; d < s->rank; d++) {
        /* More elements than there are go on in the last dimension: of an assumed-size array nobody knows the end. */
        size_t index = d == s->rank - 1 ? i : i % s->extent[d];
        at += (ptrdiff_t)index * s->stride[d];
        i /= s->extent[d];
    }
    return at;
}

/* `each` elements of type in an element of the section, the last of which may be partly filled. */
static struct nof_type *by_elements(const struct nof_section *s, struct nof_type *type, size_t count,
                                    size_t each)
{
    size_t full = count / each, rest = count % each;
    struct nof_type *elem = nof_type_vector(1, each, 0, type);
    struct nof_type *whole = elem == NULL ? NULL : elements(s, s->rank, full, elem);
    struct nof_type *made = NULL;
    if (whole != NULL && rest == 0)
        made = nof_type_alias(whole);
    else if (whole != NULL && full == 0)
        made = nof_type_vector(1, rest, 0, type);
    else if (whole != NULL) {
        struct nof_type_block blocks[2] = {{0, 1, whole}, {element_at(s, full), rest, type}};
        made = nof_type_blocks_fit(2, blocks) ? nof_type_blocks(2, blocks) : NULL;
    }
    if (elem != NULL)
        nof_type_release(elem);
    if (whole != NULL)
        nof_type_release(whole);
    return made;
}

/* Any type: a list of what lies together in both. */

struct list {
    const struct nof_section *section;
    struct nof_type *unit; /* of `unit_bytes`, of which runs are multiples where they can be */
    size_t unit_bytes;
    struct nof_type_block *blocks;
    size_t count, capacity;
    bool failed;
};

static void add_block(struct list *l, ptrdiff_t disp, size_t len)
{
    bool in_units = len % l->unit_bytes == 0;
    struct nof_type_block block = {disp, in_units ? len / l->unit_bytes : len,
                                   in_units ? l->unit : nof_type_byte()};
    if (l->count == l->capacity) {
        size_t capacity = l->capacity == 0 ? 64 : l->capacity * 2;
        struct nof_type_block *more = realloc(l->blocks, capacity * sizeof(*more));
        if (more == NULL) {
            l->failed = true;
            return;
        }
        l->blocks = more;
        l->capacity = capacity;
    }
    l->blocks[l->count++] = block;
}

/* Bytes [at, at + len) of the elements strung together. */
static void add_run(struct list *l, ptrdiff_t at, size_t len)
{
    const struct nof_section *s = l->section;
    if (at < 0) {
        l->failed = true; /* in front of the buffer: of a section nobody knows where that is */
        return;
    }
    while (len > 0 && !l->failed) {
        size_t i = (size_t)at / s->elem_bytes, in = (size_t)at % s->elem_bytes;
        size_t here = s->elem_bytes - in;
        if (s->stride[0] == (ptrdiff_t)s->elem_bytes)
            here += (s->extent[0] - 1 - i % s->extent[0]) * s->elem_bytes;
        here = here < len ? here : len;
        add_block(l, element_at(s, i) + (ptrdiff_t)in, here);
        at += (ptrdiff_t)here;
        len -= here;
    }
}

static void add_tree(struct list *l, const struct nof_tree *tree, ptrdiff_t at)
{
    if (tree->dense) {
        add_run(l, at + tree->lb, tree->size);
        return;
    }
    if (tree->kind == NOF_TREE_LOOP)
        for (size_t i = 0; i < tree->loop.count && !l->failed; i++)
            add_tree(l, tree->loop.child, at + (ptrdiff_t)i * tree->loop.stride);
    if (tree->kind == NOF_TREE_LIST)
        for (size_t i = 0; i < tree->list.count && !l->failed; i++)
            add_tree(l, tree->list.child[i].tree, at + tree->list.child[i].disp);
}

static struct nof_type *by_runs(const struct nof_section *s, struct nof_type *type, size_t count,
                                struct nof_type *unit)
{
    struct list l = {.section = s, .unit = unit, .unit_bytes = unit->size};
    for (size_t i = 0; i < count && !l.failed; i++)
        add_tree(&l, type->tree, (ptrdiff_t)i * nof_type_extent(type));
    struct nof_type *made = NULL;
    if (!l.failed && nof_type_blocks_fit(l.count, l.blocks))
        made = nof_type_blocks(l.count, l.blocks);
    free(l.blocks);
    return made;
}

struct nof_type *nof_section_type(const struct nof_section *s, struct nof_type *type, size_t count)
{
    struct nof_type *unit = nof_type_of_basic(type->uniform);
    /* Elements of one kind without holes: so many of that kind. */
    if (unit != NULL && type->contiguous && type->tree->lb == 0) {
        count *= type->size / unit->size;
        type = unit;
    }
    ptrdiff_t extent = nof_type_extent(type);
    bool inside = type->lb == 0 && type->tree->lb >= 0 && type->tree->ub <= extent;
    if (inside && extent > 0 && s->elem_bytes % (size_t)extent == 0)
        return by_elements(s, type, count, s->elem_bytes / (size_t)extent);
    return by_runs(s, type, count, unit == NULL ? nof_type_byte() : unit);
}

bool nof_section_bytes(const struct nof_section *s, size_t *bytes_out)
{
    ptrdiff_t bytes = (ptrdiff_t)s->elem_bytes;
    for (int i = 0; i < s->rank; i++)
        if (__builtin_mul_overflow(bytes, s->extent[i], &bytes))
            return false;
    *bytes_out = (size_t)bytes;
    return true;
}

void nof_section_update(const struct nof_section *s, const void *bytes, const void *before)
{
    const char *now = bytes, *old = before;
    size_t n = 1;
    for (int i = 0; i < s->rank; i++)
        n *= s->extent[i];
    for (size_t i = 0; i < n; i++, now += s->elem_bytes, old += s->elem_bytes)
        if (memcmp(now, old, s->elem_bytes) != 0)
            memcpy(nof_lib_at(s->base, element_at(s, i)), now, s->elem_bytes);
}

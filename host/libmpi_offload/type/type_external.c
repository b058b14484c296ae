/* SPDX-License-Identifier: BSD-3-Clause */
/* The representation external32 (MPI 4.1, 14.5.2): big-endian, the standard's sizes, no padding.
 * Integers that are shorter there keep their low bytes. */
#include <string.h>

#include "type/type.h"

#pragma GCC diagnostic ignored "-Wpedantic" /* __float128 is the binary128 of external32 */

static const struct {
    size_t here, there; /* bytes of a unit */
} unit[] = {
    [NOF_EXT_1] = {1, 1},
    [NOF_EXT_2] = {2, 2},
    [NOF_EXT_4] = {4, 4},
    [NOF_EXT_8] = {8, 8},
    [NOF_EXT_16] = {16, 16},
    [NOF_EXT_LONG] = {8, 4},
    [NOF_EXT_UNSIGNED_LONG] = {8, 4},
    [NOF_EXT_WCHAR] = {4, 2},
    [NOF_EXT_LONG_DOUBLE] = {16, 16},
};

static size_t leaf_bytes(const struct nof_tree *leaf)
{
    return leaf->size / unit[leaf->leaf.ext].here * unit[leaf->leaf.ext].there;
}

/* No unit is longer there, so no sum overflows that did not when the type was made. */
static size_t tree_bytes(const struct nof_tree *tree)
{
    size_t bytes = 0;
    switch (tree->kind) {
    case NOF_TREE_LEAF:
        return leaf_bytes(tree);
    case NOF_TREE_LOOP:
        return tree->loop.count * tree_bytes(tree->loop.child);
    case NOF_TREE_LIST:
        for (size_t i = 0; i < tree->list.count; i++)
            bytes += tree_bytes(tree->list.child[i].tree);
        return bytes;
    }
    return 0;
}

bool nof_type_external_bytes(const struct nof_type *type, size_t count, size_t *bytes_out)
{
    ptrdiff_t bytes;
    if (__builtin_mul_overflow(tree_bytes(type->tree), count, &bytes))
        return false;
    *bytes_out = (size_t)bytes;
    return true;
}

struct walk {
    unsigned char *out; /* external bytes; moves along */
    bool unpack;
};

static void reversed(unsigned char *to, const unsigned char *from, size_t len)
{
    for (size_t i = 0; i < len; i++)
        to[i] = from[len - 1 - i];
}

static void one_long_double(struct walk *w, unsigned char *user)
{
    __float128 there;
    long double here;
    if (w->unpack) {
        reversed((unsigned char *)&there, w->out, sizeof(there));
        here = (long double)there;
        memset(user, 0, sizeof(here)); /* padding too */
        memcpy(user, &here, 10);
    } else {
        memcpy(&here, user, sizeof(here));
        there = here;
        reversed(w->out, (const unsigned char *)&there, sizeof(there));
    }
}

/* An integer whose low bytes travel. */
static void one_shorter(struct walk *w, unsigned char *user, size_t here, size_t there, bool is_signed)
{
    if (!w->unpack) {
        reversed(w->out, user, there);
        return;
    }
    reversed(user, w->out, there);
    memset(user + there, is_signed && (user[there - 1] & 0x80u) != 0 ? 0xff : 0, here - there);
}

static void walk_leaf(struct walk *w, const struct nof_tree *leaf, unsigned char *user)
{
    enum nof_ext ext = leaf->leaf.ext;
    size_t here = unit[ext].here, there = unit[ext].there;
    if (ext == NOF_EXT_1) {
        if (w->unpack)
            memcpy(user, w->out, leaf->size);
        else
            memcpy(w->out, user, leaf->size);
        w->out += leaf->size;
        return;
    }
    for (size_t n = leaf->size / here; n > 0; n--, user += here, w->out += there) {
        if (ext == NOF_EXT_LONG_DOUBLE)
            one_long_double(w, user);
        else if (here != there)
            one_shorter(w, user, here, there, ext == NOF_EXT_LONG);
        else if (w->unpack)
            reversed(user, w->out, here);
        else
            reversed(w->out, user, here);
    }
}

static void walk_tree(struct walk *w, const struct nof_tree *tree, unsigned char *user)
{
    switch (tree->kind) {
    case NOF_TREE_LEAF:
        walk_leaf(w, tree, user);
        break;
    case NOF_TREE_LOOP:
        for (size_t i = 0; i < tree->loop.count; i++, user += tree->loop.stride)
            walk_tree(w, tree->loop.child, user);
        break;
    case NOF_TREE_LIST:
        for (size_t i = 0; i < tree->list.count; i++)
            walk_tree(w, tree->list.child[i].tree, user + tree->list.child[i].disp);
        break;
    }
}

static void walk_type(struct walk *w, const struct nof_type *type, void *buf, size_t count)
{
    for (size_t i = 0; type->size > 0 && i < count; i++)
        walk_tree(w, type->tree, nof_lib_at(buf, (ptrdiff_t)i * nof_type_extent(type)));
}

void nof_type_external_pack(const struct nof_type *type, const void *buf, size_t count, void *out)
{
    struct walk w = {.out = out, .unpack = false};
    walk_type(&w, type, nof_lib_unconst(buf), count);
}

void nof_type_external_unpack(const struct nof_type *type, void *buf, size_t count, const void *in)
{
    struct walk w = {.out = nof_lib_unconst(in), .unpack = true};
    walk_type(&w, type, buf, count);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A datatype as a program for the NIC (nof/layout.h): dense parts become blocks, a loop of a dense part
 * becomes one strided block, other loops become loops. */
#include "type/type_layout.h"

#include <string.h>

#include "nof/desc.h"

struct writer {
    struct nof_layout_op *op;
    uint32_t nops;
    uint32_t room;
};

/* The next op, or NULL when there is no room. */
static struct nof_layout_op *add(struct writer *w, uint32_t opcode, size_t count, ptrdiff_t offset,
                                 ptrdiff_t stride)
{
    if (w->nops == w->room)
        return NULL;
    struct nof_layout_op *op = &w->op[w->nops++];
    *op = (struct nof_layout_op){.opcode = opcode, .count = count, .offset = offset, .stride = stride};
    return op;
}

static bool add_block(struct writer *w, size_t bytes, size_t count, ptrdiff_t offset, ptrdiff_t stride)
{
    struct nof_layout_op *op = add(w, NOF_LAYOUT_BLOCK, count, offset, stride);
    if (op != NULL)
        op->block = bytes;
    return op != NULL;
}

/* The ops of a tree that lies at `offset`, inside `depth` loops. */
static bool compile(struct writer *w, const struct nof_tree *tree, ptrdiff_t offset, unsigned depth)
{
    if (tree->dense)
        return add_block(w, tree->size, 1, offset + tree->lb, 0);
    if (tree->kind == NOF_TREE_LIST) {
        bool ok = true;
        for (size_t i = 0; ok && i < tree->list.count; i++)
            ok = compile(w, tree->list.child[i].tree, offset + tree->list.child[i].disp, depth);
        return ok;
    }
    const struct nof_tree *child = tree->loop.child;
    if (child->dense)
        return add_block(w, child->size, tree->loop.count, offset + child->lb, tree->loop.stride);
    if (depth + 1 == NOF_LAYOUT_DEPTH_MAX)
        return false;
    uint32_t at = w->nops;
    struct nof_layout_op *op = add(w, NOF_LAYOUT_LOOP, tree->loop.count, offset, tree->loop.stride);
    if (op == NULL || !compile(w, child, 0, depth + 1))
        return false;
    op->block = w->nops - at - 1;
    return true;
}

size_t nof_type_layout(const struct nof_type *type, void *out, size_t room_bytes)
{
    struct nof_layout_head head = {
        .magic = NOF_LAYOUT_MAGIC, .size = type->size, .extent = nof_type_extent(type)};
    if (type->size == 0 || room_bytes < sizeof(head))
        return 0;
    size_t room = (room_bytes - sizeof(head)) / sizeof(struct nof_layout_op);
    struct writer w = {.op = (struct nof_layout_op *)nof_lib_at(out, sizeof(head)),
                       .room = room < NOF_LAYOUT_OPS_MAX ? (uint32_t)room : NOF_LAYOUT_OPS_MAX};
    if (!compile(&w, type->tree, 0, 0))
        return 0;
    head.nops = w.nops;
    memcpy(out, &head, sizeof(head));
    return sizeof(head) + w.nops * sizeof(struct nof_layout_op);
}

/* Pieces that one element falls into; capped, so that it cannot overflow. */
static size_t pieces(const struct nof_tree *tree)
{
    enum { MANY = 1 << 30 };
    size_t n = 0;
    if (tree->dense)
        return 1;
    if (tree->kind == NOF_TREE_LOOP) {
        n = pieces(tree->loop.child);
        return tree->loop.count > MANY / n ? MANY : n * tree->loop.count;
    }
    for (size_t i = 0; i < tree->list.count && n < MANY; i++)
        n += pieces(tree->list.child[i].tree);
    return n;
}

size_t nof_type_piece_bytes(const struct nof_type *type)
{
    return type->size == 0 ? 0 : type->size / pieces(type->tree);
}

uint8_t nof_type_elem(const struct nof_type *type)
{
    static const uint8_t elem[NOF_REDUCE_TYPES] = {
        [NOF_REDUCE_F64] = NOF_ELEM_F64, [NOF_REDUCE_F32] = NOF_ELEM_F32, [NOF_REDUCE_I64] = NOF_ELEM_I64,
        [NOF_REDUCE_U64] = NOF_ELEM_I64, [NOF_REDUCE_I32] = NOF_ELEM_I32, [NOF_REDUCE_U32] = NOF_ELEM_I32,
        [NOF_REDUCE_C64] = NOF_ELEM_C64, [NOF_REDUCE_C32] = NOF_ELEM_C32,
    };
    return elem[type->uniform];
}

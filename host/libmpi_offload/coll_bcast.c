/* SPDX-License-Identifier: BSD-3-Clause */
/* Barrier by dissemination; broadcast by a binomial tree, and for large messages by scattering
 * pieces down the tree and passing them round a ring, which sends every byte about twice whatever
 * the number of ranks. */
#include "coll.h"

#define TREE_MAX_BYTES (128u * 1024u)
#define RING_MIN_RANKS 4

void nof_coll_build_barrier(struct nof_sched *s)
{
    for (int distance = 1; distance < s->size; distance *= 2) {
        nof_sched_send(s, NULL, 0, nof_type_byte(), (s->rank + distance) % s->size);
        nof_sched_recv(s, NULL, 0, nof_type_byte(), (s->rank - distance + s->size) % s->size);
        nof_sched_fence(s);
    }
}

static int from_root(const struct nof_sched *s, int relative, int root)
{
    return (relative + root) % s->size;
}

static void build_tree(struct nof_sched *s, const struct nof_data *data, int root)
{
    int relative = (s->rank - root + s->size) % s->size;
    int mask = 1;
    while (mask < s->size && (relative & mask) == 0)
        mask *= 2;
    if (relative != 0) {
        nof_sched_recv(s, data->buf, data->count, data->type, from_root(s, relative - mask, root));
        nof_sched_fence(s);
    }
    for (mask /= 2; mask > 0; mask /= 2)
        if (relative + mask < s->size)
            nof_sched_send(s, data->buf, data->count, data->type, from_root(s, relative + mask, root));
}

/* Bytes of pieces [first, last) when `bytes` are cut into pieces of `piece` bytes. */
static size_t span(size_t bytes, size_t piece, int first, int last)
{
    size_t from = (size_t)first * piece, to = (size_t)last * piece;
    from = from < bytes ? from : bytes;
    to = to < bytes ? to : bytes;
    return to - from;
}

static void build_pieces(struct nof_sched *s, char *buf, size_t bytes, int root)
{
    struct nof_type *byte = nof_type_byte();
    size_t piece = (bytes + (size_t)s->size - 1) / (size_t)s->size;
    int relative = (s->rank - root + s->size) % s->size;

    /* Scatter: a subtree's root gets the pieces of the whole subtree. */
    int mask = 1;
    while (mask < s->size && (relative & mask) == 0)
        mask *= 2;
    if (relative != 0) {
        int end = relative + mask < s->size ? relative + mask : s->size;
        nof_sched_recv(s, buf + span(bytes, piece, 0, relative), span(bytes, piece, relative, end), byte,
                       from_root(s, relative - mask, root));
        nof_sched_fence(s);
    }
    for (mask /= 2; mask > 0; mask /= 2) {
        int child = relative + mask, end = child + mask < s->size ? child + mask : s->size;
        if (child < s->size)
            nof_sched_send(s, buf + span(bytes, piece, 0, child), span(bytes, piece, child, end), byte,
                           from_root(s, child, root));
    }
    nof_sched_fence(s);

    /* Ring: in round k the piece k places behind mine goes on. */
    int right = (s->rank + 1) % s->size, left = (s->rank - 1 + s->size) % s->size;
    for (int k = 0; k < s->size - 1; k++) {
        int out = (relative - k + s->size) % s->size, in = (out - 1 + s->size) % s->size;
        nof_sched_recv(s, buf + span(bytes, piece, 0, in), span(bytes, piece, in, in + 1), byte, left);
        nof_sched_send(s, buf + span(bytes, piece, 0, out), span(bytes, piece, out, out + 1), byte, right);
        nof_sched_fence(s);
    }
}

void nof_coll_build_bcast(struct nof_sched *s, const struct nof_data *data, int root)
{
    size_t bytes = nof_data_bytes(data);
    if (s->size == 1 || bytes == 0)
        return;
    if (bytes <= TREE_MAX_BYTES || s->size < RING_MIN_RANKS) {
        build_tree(s, data, root);
        return;
    }
    if (data->type->contiguous) {
        build_pieces(s, nof_lib_at(data->buf, data->type->tree->lb), bytes, root);
        return;
    }
    struct nof_type *byte = nof_type_byte();
    char *packed = nof_sched_temporary(s, bytes, byte);
    if (s->rank == root)
        nof_sched_copy(s, data->buf, data->count, data->type, packed, bytes, byte);
    build_pieces(s, packed, bytes, root);
    if (s->rank != root)
        nof_sched_copy(s, packed, bytes, byte, data->buf, data->count, data->type);
}

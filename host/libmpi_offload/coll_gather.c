/* SPDX-License-Identifier: BSD-3-Clause */
/* Gather and scatter: a binomial tree on packed bytes while messages are small, straight between
 * root and leaves when they are not (a tree would move most bytes several times). */
#include "coll.h"

#define TREE_MAX_BYTES 2048u
#define TREE_MIN_RANKS 4

static int from_root(const struct nof_sched *s, int relative, int root)
{
    return (relative + root) % s->size;
}

static bool use_tree(const struct nof_sched *s, const struct nof_data *data)
{
    return s->size >= TREE_MIN_RANKS && nof_data_bytes(data) <= TREE_MAX_BYTES && nof_data_bytes(data) > 0;
}

/* Ranks of the subtree whose root is `relative`; *mask_out: distance to the parent. */
static int subtree(const struct nof_sched *s, int relative, int *mask_out)
{
    int mask = 1;
    while (mask < s->size && (relative & mask) == 0)
        mask *= 2;
    *mask_out = mask;
    return relative + mask < s->size ? mask : s->size - relative;
}

static void build_gather_tree(struct nof_sched *s, const struct nof_data *send, const struct nof_data *recv,
                              int root)
{
    struct nof_type *byte = nof_type_byte();
    size_t each = nof_data_bytes(send != NULL ? send : recv);
    int relative = (s->rank - root + s->size) % s->size, mask;
    int ranks = subtree(s, relative, &mask);
    char *packed = nof_sched_temporary(s, each * (size_t)ranks, byte);
    if (send != NULL)
        nof_sched_copy(s, send->buf, send->count, send->type, packed, each, byte);
    for (int child = 1; child < mask && relative + child < s->size; child *= 2) {
        int child_mask, child_ranks = subtree(s, relative + child, &child_mask);
        nof_sched_recv(s, packed + each * (size_t)child, each * (size_t)child_ranks, byte,
                       from_root(s, relative + child, root));
    }
    nof_sched_fence(s);
    if (relative != 0) {
        nof_sched_send(s, packed, each * (size_t)ranks, byte, from_root(s, relative - mask, root));
        return;
    }
    for (int i = send == NULL ? 1 : 0; i < s->size; i++)
        nof_sched_copy(s, packed + each * (size_t)i, each, byte,
                       nof_data_at(recv, (size_t)from_root(s, i, root)), recv->count, recv->type);
}

void nof_coll_build_gather(struct nof_sched *s, const struct nof_data *send, const struct nof_data *recv,
                           int root)
{
    if (use_tree(s, s->rank == root ? recv : send)) {
        build_gather_tree(s, send, recv, root);
        return;
    }
    if (s->rank != root) {
        nof_sched_send(s, send->buf, send->count, send->type, root);
        return;
    }
    for (int i = 0; i < s->size; i++)
        if (i != root)
            nof_sched_recv(s, nof_data_at(recv, (size_t)i), recv->count, recv->type, i);
    if (send != NULL)
        nof_sched_copy(s, send->buf, send->count, send->type, nof_data_at(recv, (size_t)root), recv->count,
                       recv->type);
}

void nof_coll_build_gatherv(struct nof_sched *s, const struct nof_data *send, const struct nof_blocks *recv,
                            int root)
{
    if (s->rank != root) {
        if (nof_data_bytes(send) > 0)
            nof_sched_send(s, send->buf, send->count, send->type, root);
        return;
    }
    for (int i = 0; i < s->size; i++)
        if (i != root && (size_t)recv->counts[i] * recv->type->size > 0)
            nof_sched_recv(s, nof_block_at(recv, i), (size_t)recv->counts[i], recv->type, i);
    if (send != NULL)
        nof_sched_copy(s, send->buf, send->count, send->type, nof_block_at(recv, root),
                       (size_t)recv->counts[root], recv->type);
}

static void build_scatter_tree(struct nof_sched *s, const struct nof_data *send, const struct nof_data *recv,
                               int root)
{
    struct nof_type *byte = nof_type_byte();
    size_t each = nof_data_bytes(recv != NULL ? recv : send);
    int relative = (s->rank - root + s->size) % s->size, mask;
    int ranks = subtree(s, relative, &mask);
    char *packed = nof_sched_temporary(s, each * (size_t)ranks, byte);
    if (relative == 0) {
        for (int i = 0; i < s->size; i++)
            nof_sched_copy(s, nof_data_at(send, (size_t)from_root(s, i, root)), send->count, send->type,
                           packed + each * (size_t)i, each, byte);
    } else {
        nof_sched_recv(s, packed, each * (size_t)ranks, byte, from_root(s, relative - mask, root));
        nof_sched_fence(s);
    }
    for (int child = mask / 2; child > 0; child /= 2) {
        int child_mask;
        if (relative + child < s->size)
            nof_sched_send(s, packed + each * (size_t)child,
                           each * (size_t)subtree(s, relative + child, &child_mask), byte,
                           from_root(s, relative + child, root));
    }
    if (recv != NULL)
        nof_sched_copy(s, packed, each, byte, recv->buf, recv->count, recv->type);
}

void nof_coll_build_scatter(struct nof_sched *s, const struct nof_data *send, const struct nof_data *recv,
                            int root)
{
    if (use_tree(s, s->rank == root ? send : recv)) {
        build_scatter_tree(s, send, recv, root);
        return;
    }
    if (s->rank != root) {
        nof_sched_recv(s, recv->buf, recv->count, recv->type, root);
        return;
    }
    for (int i = 0; i < s->size; i++)
        if (i != root)
            nof_sched_send(s, nof_data_at(send, (size_t)i), send->count, send->type, i);
    if (recv != NULL)
        nof_sched_copy(s, nof_data_at(send, (size_t)root), send->count, send->type, recv->buf, recv->count,
                       recv->type);
}

void nof_coll_build_scatterv(struct nof_sched *s, const struct nof_blocks *send, const struct nof_data *recv,
                             int root)
{
    if (s->rank != root) {
        if (nof_data_bytes(recv) > 0)
            nof_sched_recv(s, recv->buf, recv->count, recv->type, root);
        return;
    }
    for (int i = 0; i < s->size; i++)
        if (i != root && (size_t)send->counts[i] * send->type->size > 0)
            nof_sched_send(s, nof_block_at(send, i), (size_t)send->counts[i], send->type, i);
    if (recv != NULL)
        nof_sched_copy(s, nof_block_at(send, root), (size_t)send->counts[root], send->type, recv->buf,
                       recv->count, recv->type);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Gather and scatter: a binomial tree on packed bytes while messages are small, straight between
 * root and leaves when they are not (a tree would move most bytes several times). */
#include "coll/coll.h"
#include "coll/nics/nics.h"
#include "coll/select.h"

#define TOGETHER_MAX 128 /* transfers that the root has under way */
#define MEET_LEAST_BYTES (28u * 1024u) /* any buffer of a switch holds these */
#define SHORT_BYTES 2048u /* these would not be there later than their announcements */
#define LONG_BYTES (1ull << 32) /* these are announced in any case */

static int from_root(const struct nof_sched *s, int relative, int root)
{
    return (relative + root) % s->size;
}

/* Bytes of one block, from the side of the call that is significant here. */
static size_t each_bytes(const struct nof_sched *s, const struct nof_data *leaf,
                         const struct nof_blocks *blocks, int root)
{
    struct nof_data own = s->rank == root ? nof_block(blocks, root) : *leaf;
    return nof_data_bytes(&own);
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

static void build_gather_tree(struct nof_sched *s, const struct nof_data *send, const struct nof_blocks *recv,
                              int root, size_t each)
{
    struct nof_type *byte = nof_type_byte();
    int relative = (s->rank - root + s->size) % s->size, mask;
    int ranks = subtree(s, relative, &mask);
    char *packed = nof_sched_temporary(s, each * (size_t)ranks, byte);
    if (send != NULL)
        nof_coll_pack(s, send, packed, each);
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
    for (int i = send == NULL ? 1 : 0; i < s->size; i++) {
        struct nof_data block = nof_block(recv, from_root(s, i, root));
        nof_coll_unpack(s, packed + each * (size_t)i, &block);
    }
}

void nof_coll_build_gather(struct nof_sched *s, const struct nof_data *send, const struct nof_blocks *recv,
                           int root)
{
    size_t each = each_bytes(s, send, recv, root);
    uint64_t can = NOF_CAN(NOF_GATHER_TREE) | NOF_CAN(NOF_GATHER_LINEAR);
    if (each > 0 && nof_select(s, each, can) == NOF_GATHER_TREE)
        build_gather_tree(s, send, recv, root, each);
    else
        nof_coll_build_gatherv(s, send, recv, root);
}

/* Ranks whose blocks meet this one's on the link to the root's NIC, this one among them. 0: none does, as it takes no link, or comes over
 * one from the only NIC that sends. */
static size_t meeting(struct nof_sched *s, int root)
{
    const struct nof_nics *nics = nof_nics_of(s);
    size_t ranks = 0;
    if (nics == NULL)
        return (size_t)s->size;
    if (nics->nic[s->rank] == nics->nic[root] || nics->count < 3)
        return 0;
    for (int i = 0; i < s->size; i++)
        ranks += nics->nic[i] != nics->nic[root];
    return ranks;
}

/* Bytes of this block and those like it that meet it on the way to the root. 0: so few, or so many each, that it does not matter. */
static size_t meeting_bytes(struct nof_sched *s, const struct nof_data *block, int root)
{
    size_t bytes = nof_data_bytes(block);
    size_t all = bytes > SHORT_BYTES && bytes < LONG_BYTES ? bytes * meeting(s, root) : 0;
    return all > MEET_LEAST_BYTES ? all : 0;
}

void nof_coll_build_gatherv(struct nof_sched *s, const struct nof_data *send, const struct nof_blocks *recv,
                            int root)
{
    if (s->rank != root) {
        nof_sched_meets(s, meeting_bytes(s, send, root));
        nof_coll_send(s, send, root);
        nof_sched_meets(s, 0);
        return;
    }
    for (int i = 0; i < s->size; i++) {
        struct nof_data block = nof_block(recv, i);
        if (i != root)
            nof_coll_recv(s, &block, i);
        else if (send != NULL)
            nof_coll_copy(s, send, &block);
        if (i % TOGETHER_MAX == TOGETHER_MAX - 1)
            nof_sched_fence(s);
    }
}

static void build_scatter_tree(struct nof_sched *s, const struct nof_blocks *send,
                               const struct nof_data *recv, int root, size_t each)
{
    struct nof_type *byte = nof_type_byte();
    int relative = (s->rank - root + s->size) % s->size, mask;
    int ranks = subtree(s, relative, &mask);
    char *packed = nof_sched_temporary(s, each * (size_t)ranks, byte);
    if (relative == 0) {
        for (int i = 0; i < s->size; i++) {
            struct nof_data block = nof_block(send, from_root(s, i, root));
            nof_coll_pack(s, &block, packed + each * (size_t)i, each);
        }
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
        nof_coll_unpack(s, packed, recv);
}

void nof_coll_build_scatter(struct nof_sched *s, const struct nof_blocks *send, const struct nof_data *recv,
                            int root)
{
    size_t each = each_bytes(s, recv, send, root);
    uint64_t can = NOF_CAN(NOF_SCATTER_TREE) | NOF_CAN(NOF_SCATTER_LINEAR);
    if (each > 0 && nof_select(s, each, can) == NOF_SCATTER_TREE)
        build_scatter_tree(s, send, recv, root, each);
    else
        nof_coll_build_scatterv(s, send, recv, root);
}

void nof_coll_build_scatterv(struct nof_sched *s, const struct nof_blocks *send, const struct nof_data *recv,
                             int root)
{
    if (s->rank != root) {
        nof_coll_recv(s, recv, root);
        return;
    }
    for (int i = 0; i < s->size; i++) {
        struct nof_data block = nof_block(send, i);
        if (i != root)
            nof_coll_send(s, &block, i);
        else if (recv != NULL)
            nof_coll_copy(s, &block, recv);
        if (i % TOGETHER_MAX == TOGETHER_MAX - 1)
            nof_sched_fence(s);
    }
}

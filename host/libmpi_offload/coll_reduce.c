/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduce and allreduce. Operands are combined in rank order wherever the tree allows it, so that one
 * code serves operations that do not commute: a partial result always covers neighbouring ranks,
 * and inout = in op inout is called with the lower ranks as `in`. The buffer that receives the
 * result changes places with the other one while the schedule is built; nothing is copied for it.
 *
 * Large commutative allreduce: the vector is cut into one piece per rank; a ring reduces each piece
 * once and a second ring hands the results round. All ranks get the same bits. */
#include "coll.h"

#define RING_MIN_BYTES (64u * 1024u)

static void swap(void **a, void **b)
{
    void *t = *a;
    *a = *b;
    *b = t;
}

/* Where the partial result of this rank starts: a copy of its own contribution. */
static void *start_partial(struct nof_sched *s, const struct nof_reduction *r, const void *own, void *buffer)
{
    if (buffer == NULL)
        buffer = nof_sched_temporary(s, r->count, r->type);
    nof_sched_copy(s, own, r->count, r->type, buffer, r->count, r->type);
    return buffer;
}

/* Tree towards relative rank 0, which is `top`. Returns the buffer with the result there. */
static void *build_tree(struct nof_sched *s, const struct nof_reduction *r, const void *own, int top)
{
    int relative = (s->rank - top + s->size) % s->size;
    void *partial = NULL, *incoming = NULL;
    for (int mask = 1; mask < s->size; mask *= 2) {
        if ((relative & mask) != 0) {
            nof_sched_send(s, partial == NULL ? own : partial, r->count, r->type,
                           (relative - mask + top) % s->size);
            nof_sched_fence(s);
            return NULL;
        }
        if (relative + mask >= s->size)
            continue;
        if (partial == NULL) {
            partial = start_partial(s, r, own, NULL);
            incoming = nof_sched_temporary(s, r->count, r->type);
        }
        nof_sched_recv(s, incoming, r->count, r->type, (relative + mask + top) % s->size);
        nof_sched_fence(s);
        nof_sched_reduce(s, r->op, r->type, partial, incoming, r->count);
        swap(&partial, &incoming);
    }
    return partial == NULL ? nof_lib_unconst(own) : partial;
}

void nof_coll_build_reduce(struct nof_sched *s, const struct nof_reduction *r, int root)
{
    if (r->count == 0)
        return;
    const void *own = r->in == MPI_IN_PLACE ? r->out : r->in;
    /* Relative ranks of a tree with another top than 0 are not in rank order. */
    int top = r->op->commutative ? root : 0;
    void *result = build_tree(s, r, own, top);
    if (s->rank == top && top != root)
        nof_sched_send(s, result, r->count, r->type, root);
    if (s->rank == root && top != root)
        nof_sched_recv(s, r->out, r->count, r->type, top);
    if (s->rank == root && top == root)
        nof_sched_copy(s, result, r->count, r->type, r->out, r->count, r->type);
}

/* ---- allreduce by recursive doubling ---- */

/* Ranks beyond the largest power of two: the even ones of the first pairs hand their operand to
 * their odd neighbour, wait, and get the result. */
static void build_doubling(struct nof_sched *s, const struct nof_reduction *r)
{
    const void *own = r->in == MPI_IN_PLACE ? r->out : r->in;
    int power = 1;
    while (power * 2 <= s->size)
        power *= 2;
    int extra = s->size - power;
    bool paired = s->rank < 2 * extra;
    if (paired && s->rank % 2 == 0) {
        nof_sched_send(s, own, r->count, r->type, s->rank + 1);
        nof_sched_fence(s);
        nof_sched_recv(s, r->out, r->count, r->type, s->rank + 1);
        return;
    }
    void *partial = start_partial(s, r, own, r->out);
    void *incoming = nof_sched_temporary(s, r->count, r->type);
    if (paired) {
        nof_sched_recv(s, incoming, r->count, r->type, s->rank - 1);
        nof_sched_fence(s);
        nof_sched_reduce(s, r->op, r->type, incoming, partial, r->count);
    }
    int virtual_rank = paired ? s->rank / 2 : s->rank - extra;
    for (int mask = 1; mask < power; mask *= 2) {
        int other = virtual_rank ^ mask;
        int peer = other < extra ? other * 2 + 1 : other + extra;
        nof_sched_recv(s, incoming, r->count, r->type, peer);
        nof_sched_send(s, partial, r->count, r->type, peer);
        nof_sched_fence(s);
        if (other < virtual_rank) {
            nof_sched_reduce(s, r->op, r->type, incoming, partial, r->count);
        } else {
            nof_sched_reduce(s, r->op, r->type, partial, incoming, r->count);
            swap(&partial, &incoming);
        }
    }
    nof_sched_copy(s, partial, r->count, r->type, r->out, r->count, r->type);
    if (paired)
        nof_sched_send(s, r->out, r->count, r->type, s->rank - 1);
}

/* ---- allreduce by two rings ---- */

struct piece {
    void *at;
    size_t count;
};

static struct piece piece_of(const struct nof_sched *s, const struct nof_reduction *r, int i)
{
    size_t ranks = (size_t)s->size, n = (size_t)((i % s->size + s->size) % s->size);
    size_t first = r->count / ranks * n + (n < r->count % ranks ? n : r->count % ranks);
    size_t count = r->count / ranks + (n < r->count % ranks ? 1 : 0);
    return (struct piece){nof_lib_at(r->out, (ptrdiff_t)first * nof_type_extent(r->type)), count};
}

static void build_rings(struct nof_sched *s, const struct nof_reduction *r)
{
    if (r->in != MPI_IN_PLACE)
        nof_sched_copy(s, r->in, r->count, r->type, r->out, r->count, r->type);
    size_t largest = r->count / (size_t)s->size + 1;
    void *incoming = nof_sched_temporary(s, largest, r->type);
    int right = (s->rank + 1) % s->size, left = (s->rank - 1 + s->size) % s->size;
    for (int k = 0; k < s->size - 1; k++) {
        struct piece out = piece_of(s, r, s->rank - k), in = piece_of(s, r, s->rank - k - 1);
        nof_sched_recv(s, incoming, in.count, r->type, left);
        nof_sched_send(s, out.at, out.count, r->type, right);
        nof_sched_fence(s);
        nof_sched_reduce(s, r->op, r->type, incoming, in.at, in.count);
    }
    for (int k = 0; k < s->size - 1; k++) {
        struct piece out = piece_of(s, r, s->rank + 1 - k), in = piece_of(s, r, s->rank - k);
        nof_sched_recv(s, in.at, in.count, r->type, left);
        nof_sched_send(s, out.at, out.count, r->type, right);
        nof_sched_fence(s);
    }
}

void nof_coll_build_allreduce(struct nof_sched *s, const struct nof_reduction *r)
{
    if (r->count == 0)
        return;
    if (s->size == 1) {
        if (r->in != MPI_IN_PLACE)
            nof_sched_copy(s, r->in, r->count, r->type, r->out, r->count, r->type);
        return;
    }
    bool large = r->count * r->type->size >= RING_MIN_BYTES && r->count >= (size_t)s->size;
    if (large && s->size > 2 && r->op->commutative)
        build_rings(s, r);
    else
        build_doubling(s, r);
}

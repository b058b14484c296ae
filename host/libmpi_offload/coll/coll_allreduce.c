/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduce. Small: recursive doubling, in rank order, so that operations need not commute. Large and
 * commutative: the vector is cut into pieces, each is reduced at one rank and handed to all, so all
 * get the same bits; by halving and doubling, or with two rings when pieces are worth a message each.
 * Large and not commutative: a reduction in segments and a broadcast. */
#include "coll/coll_halving.h"
#include "coll/select.h"

static void swap(void **a, void **b)
{
    void *t = *a;
    *a = *b;
    *b = t;
}

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
    void *partial = r->out, *incoming = nof_sched_temporary(s, r->count, r->type);
    nof_sched_copy(s, own, r->count, r->type, partial, r->count, r->type);
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

static void build_halving(struct nof_sched *s, const struct nof_reduction *r)
{
    struct nof_halving h;
    nof_halving_plan(&h, s, 0);
    h.type = r->type;
    h.partial = r->out;
    h.incoming = h.self < 0 ? NULL : nof_sched_temporary(s, r->count, r->type);
    size_t *bounds = nof_sched_temporary(s, ((size_t)h.takers + 1) * sizeof(size_t), nof_type_byte());
    if (bounds == NULL)
        return;
    for (int t = 0; t <= h.takers; t++)
        bounds[t] = nof_coll_cut(r->count, h.takers, t);
    h.bounds = bounds;
    nof_halving_reduce(&h, r);
    struct nof_data whole = {r->out, r->count, r->type};
    if (h.self < 0) {
        nof_coll_recv(s, &whole, s->rank - 1);
        return;
    }
    for (int have = 1; have < h.takers; have *= 2) {
        int mine = h.self / have * have, theirs = mine ^ have;
        struct nof_data in = nof_halving_pieces(&h, r->out, theirs, theirs + have);
        struct nof_data out = nof_halving_pieces(&h, r->out, mine, mine + have);
        nof_coll_recv(s, &in, nof_halving_rank(&h, h.self ^ have));
        nof_coll_send(s, &out, nof_halving_rank(&h, h.self ^ have));
        nof_sched_fence(s);
    }
    if (h.self < h.pairs)
        nof_coll_send(s, &whole, nof_halving_partner(&h, h.self));
}

/* Piece i, modulo the number of ranks. */
static struct nof_data piece_of(const struct nof_sched *s, const struct nof_reduction *r, int i)
{
    int n = (i % s->size + s->size) % s->size;
    size_t first = nof_coll_cut(r->count, s->size, n);
    return (struct nof_data){nof_lib_at(r->out, (ptrdiff_t)first * nof_type_extent(r->type)),
                             nof_coll_cut(r->count, s->size, n + 1) - first, r->type};
}

static void build_rings(struct nof_sched *s, const struct nof_reduction *r)
{
    void *incoming = nof_sched_temporary(s, r->count / (size_t)s->size + 1, r->type);
    int right = (s->rank + 1) % s->size, left = (s->rank - 1 + s->size) % s->size;
    for (int k = 0; k < s->size - 1; k++) {
        struct nof_data out = piece_of(s, r, s->rank - k), in = piece_of(s, r, s->rank - k - 1);
        nof_sched_recv(s, incoming, in.count, r->type, left);
        nof_coll_send(s, &out, right);
        nof_sched_fence(s);
        nof_sched_reduce(s, r->op, r->type, incoming, in.buf, in.count);
    }
    for (int k = 0; k < s->size - 1; k++) {
        struct nof_data out = piece_of(s, r, s->rank + 1 - k), in = piece_of(s, r, s->rank - k);
        nof_coll_recv(s, &in, left);
        nof_coll_send(s, &out, right);
        nof_sched_fence(s);
    }
}

static void build_pieces(struct nof_sched *s, enum nof_algorithm algorithm, const struct nof_reduction *r)
{
    if (r->in != MPI_IN_PLACE)
        nof_sched_copy(s, r->in, r->count, r->type, r->out, r->count, r->type);
    if (algorithm == NOF_ALLREDUCE_RING)
        build_rings(s, r);
    else
        build_halving(s, r);
}

static enum nof_algorithm choose(struct nof_sched *s, const struct nof_reduction *r)
{
    uint32_t can = NOF_CAN(NOF_ALLREDUCE_DOUBLING) | NOF_CAN(NOF_ALLREDUCE_TREE);
    if (r->op->commutative && s->size > 2 && r->count >= (size_t)s->size)
        can |= NOF_CAN(NOF_ALLREDUCE_HALVING) | NOF_CAN(NOF_ALLREDUCE_RING);
    return nof_select(s, r->count * r->type->size, can);
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
    enum nof_algorithm algorithm = choose(s, r);
    if (algorithm == NOF_ALLREDUCE_DOUBLING) {
        build_doubling(s, r);
    } else if (algorithm == NOF_ALLREDUCE_TREE) {
        nof_coll_build_reduce(s, r, 0);
        nof_sched_fence(s);
        nof_coll_build_bcast(s, &(struct nof_data){r->out, r->count, r->type}, 0);
    } else {
        build_pieces(s, algorithm, r);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduce. Operands are combined in rank order wherever the tree allows it, so that one code serves
 * operations that do not commute: a partial result always covers neighbouring ranks, and
 * inout = in op inout is called with the lower ranks as `in`. The buffer that receives the result
 * changes places with the other one while the schedule is built; nothing is copied for it.
 *
 * Large vectors go in segments, which bounds the temporary memory; ranks far from the root work on
 * the next segment meanwhile. Operations that commute are halved instead of sent up a tree: every rank
 * then reduces its share. Where ranks share NICs (nics.h) a tree goes up on each, and one between them. */
#include "coll/coll_halving.h"
#include "coll/nics/nics.h"
#include "coll/select.h"

#define HALVING_SEGMENT_BYTES (4u * 1024u * 1024u)
#define TREE_SEGMENT_BYTES (256u * 1024u)

struct nof_reduction nof_reduction_part(const struct nof_reduction *r, size_t from, size_t count)
{
    struct nof_reduction part = *r;
    ptrdiff_t at = (ptrdiff_t)from * nof_type_extent(r->type);
    if (r->in != MPI_IN_PLACE)
        part.in = nof_lib_at(r->in, at);
    if (r->out != NULL)
        part.out = nof_lib_at(r->out, at);
    part.count = count;
    return part;
}

static const void *operand(const struct nof_reduction *r)
{
    return r->in == MPI_IN_PLACE ? r->out : r->in;
}

const void *nof_coll_reduce_tree(struct nof_sched *s, const struct nof_reduction *r, int top,
                                 struct nof_reduce_room *room)
{
    const void *mine = operand(r);
    int relative = (s->rank - top + s->size) % s->size;
    for (int mask = 1; mask < s->size; mask *= 2) {
        if ((relative & mask) != 0) {
            nof_sched_send(s, mine, r->count, r->type, (relative - mask + top) % s->size);
            nof_sched_fence(s);
            return NULL;
        }
        if (relative + mask >= s->size)
            continue;
        void *incoming = room->incoming;
        if (incoming == NULL)
            incoming = nof_sched_temporary(s, room->count, r->type);
        nof_sched_recv(s, incoming, r->count, r->type, (relative + mask + top) % s->size);
        nof_sched_fence(s);
        nof_sched_reduce(s, r->op, r->type, mine, incoming, r->count);
        mine = incoming;
        room->incoming = room->partial;
        room->partial = incoming;
    }
    return mine;
}

/* At the leaders of the NICs, then up a tree of these. */
static const void *build_levels(struct nof_sched *s, const struct nof_reduction *r,
                                const struct nof_nics *nics, const int *leader, int top,
                                struct nof_reduce_room *room)
{
    struct nof_reduction between = *r;
    nof_nics_here(s, nics);
    between.in = nof_coll_reduce_tree(s, r, nics->number[leader[nics->mine]], room);
    nof_nics_all(s);
    if (s->rank != leader[nics->mine])
        return NULL;
    nof_nics_between(s, nics, leader);
    const void *result = nof_coll_reduce_tree(s, &between, nics->nic[top], room);
    nof_nics_all(s);
    return result;
}

/* One segment by the tree. Ranks relative to another top than 0 are not in rank order. */
static void build_segment(struct nof_sched *s, const struct nof_reduction *r, int root,
                          const struct nof_nics *nics, struct nof_reduce_room *room)
{
    int top = r->op->commutative ? root : 0;
    bool direct = s->rank == root && top == root && r->in != MPI_IN_PLACE;
    if (direct)
        room->incoming = r->out;
    const void *result = nics == NULL ? nof_coll_reduce_tree(s, r, top, room)
                                      : build_levels(s, r, nics, nof_nics_leaders(nics, top), top, room);
    if (direct) { /* the next segment has another place there */
        room->partial = room->incoming == r->out ? room->partial : room->incoming;
        room->incoming = NULL;
    }
    if (s->rank == top && top != root)
        nof_sched_send(s, result, r->count, r->type, root);
    if (s->rank == root && top != root)
        nof_sched_recv(s, r->out, r->count, r->type, top);
    if (s->rank == root && top == root)
        nof_sched_copy(s, result, r->count, r->type, r->out, r->count, r->type);
    nof_sched_fence(s);
}

/* One segment by halving; the pieces then go down the takers' numbers to the root, taker 0. */
static void build_halved(struct nof_halving *h, const struct nof_reduction *r, size_t *bounds)
{
    struct nof_sched *s = h->s;
    for (int t = 0; t <= h->takers; t++)
        bounds[t] = nof_coll_cut(r->count, h->takers, t);
    h->bounds = bounds;
    if (s->rank == h->top)
        h->partial = r->out;
    if (h->self < 0)
        h->partial = nof_lib_unconst(operand(r));
    nof_sched_copy(s, operand(r), r->count, r->type, h->partial, r->count, r->type);
    nof_halving_reduce(h, r);
    for (int half = 1; half < h->takers && h->self >= 0; half *= 2) {
        bool gives = (h->self & half) != 0;
        int first = gives ? h->self : h->self + half;
        struct nof_data pieces = nof_halving_pieces(h, h->partial, first, first + half);
        if (gives)
            nof_coll_send(s, &pieces, nof_halving_rank(h, h->self - half));
        else
            nof_coll_recv(s, &pieces, nof_halving_rank(h, h->self + half));
        nof_sched_fence(s);
        if (gives)
            break;
    }
}

static void build_all_halved(struct nof_sched *s, const struct nof_reduction *r, int root, size_t segment)
{
    struct nof_halving h;
    nof_halving_plan(&h, s, root);
    size_t largest = r->count < segment ? r->count : segment;
    h.type = r->type;
    if (h.self >= 0)
        h.incoming = nof_sched_temporary(s, largest, r->type);
    if (h.self > 0)
        h.partial = nof_sched_temporary(s, largest, r->type);
    size_t *bounds = nof_sched_temporary(s, ((size_t)h.takers + 1) * sizeof(size_t), nof_type_byte());
    for (size_t done = 0; bounds != NULL && done < r->count; done += segment) {
        struct nof_reduction part =
            nof_reduction_part(r, done, r->count - done < segment ? r->count - done : segment);
        build_halved(&h, &part, bounds);
    }
}

void nof_coll_build_reduce(struct nof_sched *s, const struct nof_reduction *r, int root)
{
    size_t size = r->type->size == 0 ? 1 : r->type->size;
    uint64_t can = NOF_CAN(NOF_REDUCE_TREE);
    if (r->op->commutative && r->count >= (size_t)s->size)
        can |= NOF_CAN(NOF_REDUCE_HALVING);
    const struct nof_nics *nics = nof_nics_for_reduction(s, r->op);
    if (nics != NULL)
        can |= NOF_CAN(NOF_REDUCE_HIERARCHICAL);
    enum nof_algorithm algorithm = nof_select(s, r->count * r->type->size, can);
    bool halved = algorithm == NOF_REDUCE_HALVING;
    if (algorithm != NOF_REDUCE_HIERARCHICAL)
        nics = NULL;
    size_t bytes = halved ? HALVING_SEGMENT_BYTES : TREE_SEGMENT_BYTES;
    size_t segment = bytes / size > (size_t)s->size ? bytes / size : (size_t)s->size;
    if (halved) {
        build_all_halved(s, r, root, segment);
        return;
    }
    struct nof_reduce_room room = {.count = r->count < segment ? r->count : segment};
    for (size_t done = 0; done < r->count; done += segment) {
        struct nof_reduction part =
            nof_reduction_part(r, done, r->count - done < segment ? r->count - done : segment);
        build_segment(s, &part, root, nics, &room);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduce. Small: recursive doubling, in rank order, so that operations need not commute. Large and
 * commutative: the vector is cut into pieces, each is reduced at one rank and handed to all, so all
 * get the same bits; by halving and doubling, or with two rings when pieces are worth a message each.
 * Large and not commutative: a reduction in segments and a broadcast. Where ranks share NICs (nics.h) one of these goes between
 * NICs, once, or in lanes: of a piece for each rank of a NIC. */
#include "coll/coll_halving.h"
#include "coll/nics/nics.h"
#include "coll/select.h"

/* Of each rank's piece: less is not worth a message to each beside it; more does not go between NICs whole. */
#define LANE_MIN_BYTES 1024u
#define LANE_WHOLE_BYTES 2048u
#define LANES_SEGMENT_BYTES (8u * 1024u * 1024u)

static void swap(void **a, void **b)
{
    void *t = *a;
    *a = *b;
    *b = t;
}

/* Ranks beyond the largest power of two: the even ones of the first pairs hand their operand to
 * their odd neighbour, wait, and get the result. */
static void build_doubling(struct nof_sched *s, const struct nof_reduction *r, void *spare)
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
    void *partial = r->out, *incoming = spare;
    if (incoming == NULL)
        incoming = nof_sched_temporary(s, r->count, r->type);
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

static void build_halving(struct nof_sched *s, const struct nof_reduction *r, void *spare)
{
    struct nof_halving h;
    nof_halving_plan(&h, s, 0);
    h.type = r->type;
    h.partial = r->out;
    h.incoming = spare;
    if (h.self >= 0 && spare == NULL)
        h.incoming = nof_sched_temporary(s, r->count, r->type);
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

static void build_rings(struct nof_sched *s, const struct nof_reduction *r, void *spare)
{
    void *incoming = spare;
    if (spare == NULL)
        incoming = nof_sched_temporary(s, r->count / (size_t)s->size + 1, r->type);
    int right = (s->rank + 1) % s->size, left = (s->rank - 1 + s->size) % s->size;
    for (int k = 0; k < s->size - 1; k++) {
        struct nof_data out = piece_of(s, r, s->rank - k), in = piece_of(s, r, s->rank - k - 1);
        nof_coll_recv(s, &(struct nof_data){incoming, in.count, r->type}, left);
        nof_coll_send(s, &out, right);
        nof_sched_fence(s);
        if (in.count > 0)
            nof_sched_reduce(s, r->op, r->type, incoming, in.buf, in.count);
    }
    for (int k = 0; k < s->size - 1; k++) {
        struct nof_data out = piece_of(s, r, s->rank + 1 - k), in = piece_of(s, r, s->rank - k);
        nof_coll_recv(s, &in, left);
        nof_coll_send(s, &out, right);
        nof_sched_fence(s);
    }
}

static void build_tree(struct nof_sched *s, const struct nof_reduction *r)
{
    nof_coll_build_reduce(s, r, 0);
    nof_sched_fence(s);
    nof_coll_build_bcast(s, &(struct nof_data){r->out, r->count, r->type}, 0);
}

/* spare: NULL, or a buffer of as many elements. */
static void build_as(struct nof_sched *s, enum nof_algorithm algorithm, const struct nof_reduction *r,
                     void *spare)
{
    if (algorithm == NOF_ALLREDUCE_DOUBLING) {
        build_doubling(s, r, spare);
        return;
    }
    if (r->in != MPI_IN_PLACE)
        nof_sched_copy(s, r->in, r->count, r->type, r->out, r->count, r->type);
    if (algorithm == NOF_ALLREDUCE_RING)
        build_rings(s, r, spare);
    else
        build_halving(s, r, spare);
}

static uint64_t can_among(int ranks, const struct nof_reduction *r, size_t count)
{
    uint64_t can = NOF_CAN(NOF_ALLREDUCE_DOUBLING);
    if (r->op->commutative && ranks > 2 && count >= (size_t)ranks)
        can |= NOF_CAN(NOF_ALLREDUCE_HALVING) | NOF_CAN(NOF_ALLREDUCE_RING);
    return can;
}

/* Halving folds what is beyond a power of two; whole vectors on a link that the ranks of a NIC share. */
static uint64_t can_between(const struct nof_nics *nics, const struct nof_reduction *r, size_t count)
{
    uint64_t can = can_among(nics->count, r, count);
    if ((nics->count & (nics->count - 1)) != 0)
        can &= ~NOF_CAN(NOF_ALLREDUCE_HALVING);
    return can;
}

/* At one rank of each NIC, among these, and from there to the ranks beside. */
static void build_levels(struct nof_sched *s, const struct nof_nics *nics, const struct nof_reduction *r)
{
    enum nof_algorithm between =
        nof_select_part(s, nics->count, r->count * r->type->size, can_between(nics, r, r->count));
    bool in_place = r->in == MPI_IN_PLACE;
    struct nof_reduce_room room = {
        .count = r->count, .incoming = in_place ? NULL : r->out, .partial = in_place ? r->out : NULL};
    nof_nics_here(s, nics);
    const void *result = nof_coll_reduce_tree(s, r, 0, &room);
    if (nics->self == 0) {
        struct nof_reduction all = *r;
        all.in = result == r->out ? MPI_IN_PLACE : result;
        nof_nics_between(s, nics, nics->leader);
        build_as(s, between, &all, room.incoming == r->out ? room.partial : room.incoming);
        nof_sched_fence(s);
    }
    nof_nics_here(s, nics);
    nof_coll_build_bcast_tree(s, &(struct nof_data){r->out, r->count, r->type}, 0);
    nof_nics_all(s);
}

/* Of a vector that is cut into one piece for each rank of this NIC. */
static struct nof_data lane_piece(const struct nof_nics *nics, const struct nof_reduction *r,
                                  const void *vector, int i)
{
    size_t first = nof_coll_cut(r->count, nics->here_count, i);
    return (struct nof_data){nof_lib_at(vector, (ptrdiff_t)first * nof_type_extent(r->type)),
                             nof_coll_cut(r->count, nics->here_count, i + 1) - first, r->type};
}

/* This rank's piece of all operands of its NIC, combined in their order, in r->out. `others` has room for those of the others. */
static void combine_lane(struct nof_sched *s, const struct nof_nics *nics, const struct nof_reduction *r,
                         void *others)
{
    const void *own = r->in == MPI_IN_PLACE ? r->out : r->in, *last = NULL;
    int n = nics->here_count;
    struct nof_data piece = lane_piece(nics, r, r->out, nics->self),
                    mine = lane_piece(nics, r, own, nics->self);
    ptrdiff_t step = (ptrdiff_t)piece.count * nof_type_extent(r->type);
    nof_coll_copy(s, &mine, &piece);
    for (int k = 1; k < n; k++) {
        int to = (nics->self + k) % n, from = (nics->self - k + n) % n;
        struct nof_data theirs = lane_piece(nics, r, own, to);
        ptrdiff_t at = (from < nics->self ? from : from - 1) * step;
        nof_coll_recv(s, &(struct nof_data){nof_lib_at(others, at), piece.count, r->type}, from);
        nof_coll_send(s, &theirs, to);
    }
    nof_sched_fence(s);
    for (int i = 0; i < n; i++) {
        ptrdiff_t at = (i < nics->self ? i : i - 1) * step;
        void *next = i == nics->self ? piece.buf : nof_lib_at(others, at);
        if (i > 0)
            nof_sched_reduce(s, r->op, r->type, last, next, piece.count);
        last = next;
    }
    nof_coll_copy(s, &(struct nof_data){nof_lib_unconst(last), piece.count, r->type}, &piece);
}

/* Each rank's piece to all beside it. */
static void spread_lanes(struct nof_sched *s, const struct nof_nics *nics, const struct nof_reduction *r)
{
    int n = nics->here_count;
    struct nof_data piece = lane_piece(nics, r, r->out, nics->self);
    for (int k = 1; k < n; k++) {
        int to = (nics->self + k) % n, from = (nics->self - k + n) % n;
        struct nof_data theirs = lane_piece(nics, r, r->out, from);
        nof_coll_recv(s, &theirs, from);
        nof_coll_send(s, &piece, to);
    }
    nof_sched_fence(s);
}

/* A piece at each rank of a NIC, among those with this piece on all NICs, and from each to the ranks beside. What the lanes of a
 * NIC send meets on its link: whole pieces go to and fro only while they are small. */
static void build_lanes(struct nof_sched *s, const struct nof_nics *nics, const struct nof_reduction *r)
{
    size_t size = r->type->size == 0 ? 1 : r->type->size, n = (size_t)nics->here_count;
    size_t segment = LANES_SEGMENT_BYTES / size > n ? LANES_SEGMENT_BYTES / size : n;
    size_t most = r->count < segment ? r->count : segment, each = most / n;
    uint64_t can = can_between(nics, r, each), pieces = can & ~NOF_CAN(NOF_ALLREDUCE_DOUBLING);
    if (each * r->type->size > LANE_WHOLE_BYTES && pieces != 0)
        can = pieces;
    enum nof_algorithm between = nof_select_part(s, nics->count, each * r->type->size, can);
    const int *lane = nof_nics_lane(nics, s->size);
    void *others = nof_sched_temporary(s, (n - 1) * (each + 1), r->type);
    for (size_t done = 0; done < r->count; done += segment) {
        struct nof_reduction part =
            nof_reduction_part(r, done, r->count - done < segment ? r->count - done : segment);
        struct nof_data piece = lane_piece(nics, &part, part.out, nics->self);
        nof_nics_here(s, nics);
        combine_lane(s, nics, &part, others);
        nof_nics_between(s, nics, lane);
        if (piece.count > 0)
            build_as(s, between,
                     &(struct nof_reduction){MPI_IN_PLACE, piece.buf, piece.count, r->type, r->op}, others);
        nof_sched_fence(s);
        nof_nics_here(s, nics);
        spread_lanes(s, nics, &part);
    }
    nof_nics_all(s);
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
    const struct nof_nics *nics = nof_nics_for_reduction(s, r->op);
    uint64_t can = can_among(s->size, r, r->count) | NOF_CAN(NOF_ALLREDUCE_TREE);
    if (nics != NULL)
        can |= NOF_CAN(NOF_ALLREDUCE_HIERARCHICAL);
    if (nics != NULL && nics->even && r->count * r->type->size >= LANE_MIN_BYTES * (size_t)nics->here_count &&
        r->count >= (size_t)nics->here_count)
        can |= NOF_CAN(NOF_ALLREDUCE_LANES);
    enum nof_algorithm algorithm = nof_select(s, r->count * r->type->size, can);
    if (algorithm == NOF_ALLREDUCE_HIERARCHICAL)
        build_levels(s, nics, r);
    else if (algorithm == NOF_ALLREDUCE_LANES)
        build_lanes(s, nics, r);
    else if (algorithm == NOF_ALLREDUCE_TREE)
        build_tree(s, r);
    else
        build_as(s, algorithm, r, NULL);
}

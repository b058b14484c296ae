/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduce-scatter. Commutative: by halving while the vector is small; else in round k every rank gets
 * the operands for its own block from the rank k places before it. Not commutative: one reduction in
 * rank order, to rank 0 and from there to all while the vector is small, else block by block. Where all NICs have as many ranks,
 * first at each rank of a NIC for the ranks that have its number there, then among these. */
#include "coll/coll_halving.h"
#include "coll/nics/nics.h"
#include "coll/select.h"

struct job {
    struct nof_sched *s;
    struct nof_reduction r; /* in: the operand, never MPI_IN_PLACE */
    const struct nof_counts *counts;
};

static size_t start_of(const struct job *j, int rank)
{
    size_t start = 0;
    for (int i = 0; i < rank; i++)
        start += (size_t)nof_count_at(j->counts, i);
    return start;
}

static size_t count_of(const struct job *j, int rank)
{
    return (size_t)nof_count_at(j->counts, rank);
}

/* Elements of one rank's block in a whole vector, as a buffer. */
static struct nof_data block_of(const struct job *j, const void *vector, int rank)
{
    ptrdiff_t at = (ptrdiff_t)start_of(j, rank) * nof_type_extent(j->r.type);
    return (struct nof_data){nof_lib_at(vector, at), count_of(j, rank), j->r.type};
}

static void build_halving(const struct job *j)
{
    struct nof_sched *s = j->s;
    struct nof_halving h;
    nof_halving_plan(&h, s, 0);
    h.type = j->r.type;
    h.partial = nof_sched_temporary(s, j->r.count, j->r.type);
    h.incoming = h.self < 0 ? NULL : nof_sched_temporary(s, j->r.count, j->r.type);
    size_t *bounds = nof_sched_temporary(s, ((size_t)h.takers + 1) * sizeof(size_t), nof_type_byte());
    if (bounds == NULL)
        return;
    for (int t = 0; t < h.takers; t++)
        bounds[t] = start_of(j, nof_halving_rank(&h, t));
    bounds[h.takers] = j->r.count;
    h.bounds = bounds;
    nof_sched_copy(s, j->r.in, j->r.count, j->r.type, h.partial, j->r.count, j->r.type);
    nof_halving_reduce(&h, &j->r);
    struct nof_data mine = {j->r.out, count_of(j, s->rank), j->r.type};
    if (h.self < 0) {
        nof_coll_recv(s, &mine, s->rank - 1);
        return;
    }
    struct nof_data result = block_of(j, h.partial, s->rank);
    nof_coll_copy(s, &result, &mine);
    int partner = nof_halving_partner(&h, h.self);
    if (partner != MPI_UNDEFINED) {
        struct nof_data theirs = block_of(j, h.partial, partner);
        nof_coll_send(s, &theirs, partner);
    }
}

static void build_pairwise(const struct job *j)
{
    struct nof_sched *s = j->s;
    size_t own = count_of(j, s->rank);
    struct nof_data result = {nof_sched_temporary(s, own, j->r.type), own, j->r.type};
    struct nof_data incoming = {nof_sched_temporary(s, own, j->r.type), own, j->r.type};
    struct nof_data mine = block_of(j, j->r.in, s->rank);
    nof_coll_copy(s, &mine, &result);
    for (int k = 1; k < s->size; k++) {
        int to = (s->rank + k) % s->size, from = (s->rank - k + s->size) % s->size;
        struct nof_data theirs = block_of(j, j->r.in, to);
        nof_coll_recv(s, &incoming, from);
        nof_coll_send(s, &theirs, to);
        nof_sched_fence(s);
        if (own > 0)
            nof_sched_reduce(s, j->r.op, j->r.type, incoming.buf, result.buf, own);
    }
    nof_coll_copy(s, &result, &(struct nof_data){j->r.out, own, j->r.type});
}

static void build_flat(const struct job *j, enum nof_algorithm algorithm)
{
    if (algorithm == NOF_REDUCE_SCATTER_HALVING)
        build_halving(j);
    else
        build_pairwise(j);
}

static void build_at_zero(const struct job *j)
{
    struct nof_sched *s = j->s;
    struct nof_reduction whole = j->r;
    whole.out = s->rank == 0 ? nof_sched_temporary(s, j->r.count, j->r.type) : NULL;
    nof_coll_build_reduce(s, &whole, 0);
    nof_sched_fence(s);
    struct nof_data mine = {j->r.out, count_of(j, s->rank), j->r.type};
    if (s->rank != 0) {
        nof_coll_recv(s, &mine, 0);
        return;
    }
    for (int i = 1; i < s->size; i++) {
        struct nof_data theirs = block_of(j, whole.out, i);
        nof_coll_send(s, &theirs, i);
    }
    nof_coll_copy(s, &(struct nof_data){whole.out, mine.count, mine.type}, &mine);
}

static void build_block_by_block(const struct job *j)
{
    struct nof_sched *s = j->s;
    void *result = nof_sched_temporary(s, count_of(j, s->rank), j->r.type);
    for (int i = 0; i < s->size; i++) {
        struct nof_reduction part = nof_reduction_part(&j->r, start_of(j, i), count_of(j, i));
        part.out = i == s->rank ? result : NULL;
        nof_coll_build_reduce(s, &part, i);
    }
    size_t own = count_of(j, s->rank);
    nof_sched_fence(s);
    nof_coll_copy(s, &(struct nof_data){result, own, j->r.type},
                  &(struct nof_data){j->r.out, own, j->r.type});
}

/* The rank with this number on each NIC. */
static void find_lane(const struct nof_nics *nics, int ranks, int number, int *lane)
{
    for (int rank = 0; rank < ranks; rank++)
        if (nics->number[rank] == number)
            lane[nics->nic[rank]] = rank;
}

/* The operand's blocks of each lane, one lane after the other; where each begins. */
static char *arrange(const struct job *j, const struct nof_nics *nics, int *lane, size_t *begin_out)
{
    struct nof_sched *s = j->s;
    char *vector = nof_sched_temporary(s, j->r.count, j->r.type);
    size_t at = 0;
    for (int k = 0; k < nics->here_count; k++) {
        begin_out[k] = at;
        find_lane(nics, s->size, k, lane);
        for (int i = 0; i < nics->count; i++) {
            struct nof_data block = block_of(j, j->r.in, lane[i]);
            void *to = nof_lib_at(vector, (ptrdiff_t)at * nof_type_extent(j->r.type));
            nof_coll_copy(s, &block, &(struct nof_data){to, block.count, block.type});
            at += block.count;
        }
    }
    begin_out[nics->here_count] = at;
    return vector;
}

/* Each rank of the NIC combines what is of its lane, in their order. Returns the result. */
static void *combine_lane(const struct job *j, const struct nof_nics *nics, char *vector, const size_t *begin)
{
    struct nof_sched *s = j->s;
    ptrdiff_t extent = nof_type_extent(j->r.type);
    int n = nics->here_count, self = nics->self;
    size_t own = begin[self + 1] - begin[self];
    char *others = nof_sched_temporary(s, own * (size_t)(n - 1), j->r.type);
    void *last = NULL;
    for (int k = 1; k < n; k++) {
        int to = (self + k) % n, from = (self - k + n) % n;
        void *in = nof_lib_at(others, (ptrdiff_t)own * (from < self ? from : from - 1) * extent);
        void *out = nof_lib_at(vector, (ptrdiff_t)begin[to] * extent);
        nof_coll_recv(s, &(struct nof_data){in, own, j->r.type}, from);
        nof_coll_send(s, &(struct nof_data){out, begin[to + 1] - begin[to], j->r.type}, to);
    }
    nof_sched_fence(s);
    for (int i = 0; i < n; i++) {
        void *next = i == self ? nof_lib_at(vector, (ptrdiff_t)begin[self] * extent)
                               : nof_lib_at(others, (ptrdiff_t)own * (i < self ? i : i - 1) * extent);
        if (i > 0 && own > 0)
            nof_sched_reduce(s, j->r.op, j->r.type, last, next, own);
        last = next;
    }
    return last;
}

static void build_lanes(const struct job *j, const struct nof_nics *nics)
{
    struct nof_sched *s = j->s;
    size_t n = (size_t)nics->here_count, m = (size_t)nics->count;
    int *lane = nof_sched_temporary(s, m * sizeof(int), nof_type_byte());
    size_t *begin = nof_sched_temporary(s, (n + 1) * sizeof(*begin), nof_type_byte());
    MPI_Count *wide = nof_sched_temporary(s, m * sizeof(*wide), nof_type_byte());
    if (lane == NULL || begin == NULL || wide == NULL)
        return;
    char *vector = arrange(j, nics, lane, begin);
    nof_nics_here(s, nics);
    void *mine = combine_lane(j, nics, vector, begin);
    nof_nics_all(s);
    find_lane(nics, s->size, nics->self, lane);
    for (size_t i = 0; i < m; i++)
        wide[i] = (MPI_Count)count_of(j, lane[i]);
    const struct nof_counts counts = {.kind = NOF_COUNTS_WIDE, .wide = wide};
    struct job between = {s, j->r, &counts};
    between.r.in = mine;
    between.r.count = begin[nics->self + 1] - begin[nics->self];
    nof_nics_between(s, nics, lane);
    build_flat(&between,
               nof_select_part(s, nics->count, j->r.count * j->r.type->size / n,
                               NOF_CAN(NOF_REDUCE_SCATTER_HALVING) | NOF_CAN(NOF_REDUCE_SCATTER_PAIRWISE)));
    nof_nics_all(s);
}

void nof_coll_build_reduce_scatter(struct nof_sched *s, const struct nof_reduction *r,
                                   const struct nof_counts *counts)
{
    struct job j = {s, *r, counts};
    j.r.in = r->in == MPI_IN_PLACE ? r->out : r->in;
    if (r->count == 0)
        return;
    uint64_t can = NOF_CAN(NOF_REDUCE_SCATTER_ROOT) | NOF_CAN(NOF_REDUCE_SCATTER_BLOCKS);
    if (r->op->commutative)
        can |= NOF_CAN(NOF_REDUCE_SCATTER_HALVING) | NOF_CAN(NOF_REDUCE_SCATTER_PAIRWISE);
    const struct nof_nics *nics = r->op->commutative ? nof_nics_for_reduction(s, r->op) : NULL;
    if (nics != NULL && nics->even)
        can |= NOF_CAN(NOF_REDUCE_SCATTER_LANES);
    enum nof_algorithm algorithm = nof_select(s, r->count * r->type->size, can);
    if (algorithm == NOF_REDUCE_SCATTER_LANES)
        build_lanes(&j, nics);
    else if (algorithm == NOF_REDUCE_SCATTER_HALVING || algorithm == NOF_REDUCE_SCATTER_PAIRWISE)
        build_flat(&j, algorithm);
    else if (algorithm == NOF_REDUCE_SCATTER_ROOT)
        build_at_zero(&j);
    else
        build_block_by_block(&j);
}

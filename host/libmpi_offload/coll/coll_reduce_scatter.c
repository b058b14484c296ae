/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduce-scatter. Commutative: by halving while the vector is small; else in round k every rank gets
 * the operands for its own block from the rank k places before it. Not commutative: one reduction in
 * rank order, to rank 0 and from there to all while the vector is small, else block by block. */
#include "coll/coll_halving.h"
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
    enum nof_algorithm algorithm = nof_select(s, r->count * r->type->size, can);
    if (algorithm == NOF_REDUCE_SCATTER_HALVING)
        build_halving(&j);
    else if (algorithm == NOF_REDUCE_SCATTER_PAIRWISE)
        build_pairwise(&j);
    else if (algorithm == NOF_REDUCE_SCATTER_ROOT)
        build_at_zero(&j);
    else
        build_block_by_block(&j);
}

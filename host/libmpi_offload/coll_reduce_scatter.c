/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduce-scatter. Commutative: in round k every rank gets the operands for its own block from the
 * rank k places before it. Not commutative: a reduction in rank order at rank 0, then a scatter. */
#include "coll.h"

static ptrdiff_t block_start(const int *counts, int rank)
{
    ptrdiff_t start = 0;
    for (int i = 0; i < rank; i++)
        start += counts[i];
    return start;
}

static void build_pairwise(struct nof_sched *s, const struct nof_reduction *r, const int *counts)
{
    const void *in = r->in == MPI_IN_PLACE ? r->out : r->in;
    ptrdiff_t extent = nof_type_extent(r->type);
    size_t own = (size_t)counts[s->rank];
    void *result = nof_sched_temporary(s, own, r->type);
    void *incoming = nof_sched_temporary(s, own, r->type);
    nof_sched_copy(s, nof_lib_at(in, block_start(counts, s->rank) * extent), own, r->type, result, own,
                   r->type);
    for (int k = 1; k < s->size; k++) {
        int to = (s->rank + k) % s->size, from = (s->rank - k + s->size) % s->size;
        if (own > 0)
            nof_sched_recv(s, incoming, own, r->type, from);
        if (counts[to] > 0)
            nof_sched_send(s, nof_lib_at(in, block_start(counts, to) * extent), (size_t)counts[to], r->type,
                           to);
        nof_sched_fence(s);
        if (own > 0)
            nof_sched_reduce(s, r->op, r->type, incoming, result, own);
    }
    nof_sched_copy(s, result, own, r->type, r->out, own, r->type);
}

void nof_coll_build_reduce_scatter(struct nof_sched *s, const struct nof_reduction *r, const int *counts)
{
    size_t total = (size_t)block_start(counts, s->size);
    if (total == 0)
        return;
    if (r->op->commutative) {
        build_pairwise(s, r, counts);
        return;
    }
    ptrdiff_t extent = nof_type_extent(r->type);
    struct nof_reduction whole = *r;
    whole.count = total;
    whole.in = r->in == MPI_IN_PLACE ? r->out : r->in;
    whole.out = s->rank == 0 ? nof_sched_temporary(s, total, r->type) : NULL;
    nof_coll_build_reduce(s, &whole, 0);
    nof_sched_fence(s);
    size_t own = (size_t)counts[s->rank];
    if (s->rank != 0) {
        if (own > 0)
            nof_sched_recv(s, r->out, own, r->type, 0);
        return;
    }
    for (int i = 1; i < s->size; i++)
        if (counts[i] > 0)
            nof_sched_send(s, nof_lib_at(whole.out, block_start(counts, i) * extent), (size_t)counts[i],
                           r->type, i);
    nof_sched_copy(s, whole.out, own, r->type, r->out, own, r->type);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Scan and exscan by recursive doubling, in rank order: `partial` covers the ranks of my block of
 * 2^k, `result` those of it that are not above me. */
#include "coll.h"

static void swap(void **a, void **b)
{
    void *t = *a;
    *a = *b;
    *b = t;
}

void nof_coll_build_scan(struct nof_sched *s, const struct nof_reduction *r, bool exclusive)
{
    if (r->count == 0)
        return;
    const void *own = r->in == MPI_IN_PLACE ? r->out : r->in;
    void *partial = nof_sched_temporary(s, r->count, r->type);
    void *incoming = nof_sched_temporary(s, r->count, r->type);
    nof_sched_copy(s, own, r->count, r->type, partial, r->count, r->type);
    bool have_result = !exclusive;
    if (!exclusive)
        nof_sched_copy(s, own, r->count, r->type, r->out, r->count, r->type);
    for (int mask = 1; mask < s->size; mask *= 2) {
        int peer = s->rank ^ mask;
        if (peer >= s->size)
            continue;
        nof_sched_recv(s, incoming, r->count, r->type, peer);
        nof_sched_send(s, partial, r->count, r->type, peer);
        nof_sched_fence(s);
        if (peer > s->rank) {
            nof_sched_reduce(s, r->op, r->type, partial, incoming, r->count);
            swap(&partial, &incoming);
            continue;
        }
        if (have_result)
            nof_sched_reduce(s, r->op, r->type, incoming, r->out, r->count);
        else
            nof_sched_copy(s, incoming, r->count, r->type, r->out, r->count, r->type);
        have_result = true;
        nof_sched_reduce(s, r->op, r->type, incoming, partial, r->count);
    }
}

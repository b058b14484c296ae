/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/coll_halving.h"

void nof_halving_plan(struct nof_halving *h, struct nof_sched *s, int top)
{
    *h = (struct nof_halving){.s = s, .top = top, .takers = 1};
    while (h->takers * 2 <= s->size)
        h->takers *= 2;
    h->pairs = s->size - h->takers;
    int relative = (s->rank - top + s->size) % s->size;
    if (relative >= 2 * h->pairs)
        h->self = relative - h->pairs;
    else
        h->self = relative % 2 == 0 ? relative / 2 : -1;
}

int nof_halving_rank(const struct nof_halving *h, int taker)
{
    int relative = taker < h->pairs ? 2 * taker : taker + h->pairs;
    return (relative + h->top) % h->s->size;
}

int nof_halving_partner(const struct nof_halving *h, int taker)
{
    return taker < h->pairs ? (2 * taker + 1 + h->top) % h->s->size : MPI_UNDEFINED;
}

struct nof_data nof_halving_pieces(const struct nof_halving *h, void *vector, int first, int last)
{
    ptrdiff_t at = (ptrdiff_t)h->bounds[first] * nof_type_extent(h->type);
    return (struct nof_data){nof_lib_at(vector, at), h->bounds[last] - h->bounds[first], h->type};
}

static void combine(const struct nof_halving *h, const struct nof_reduction *r, int first, int last)
{
    struct nof_data in = nof_halving_pieces(h, h->incoming, first, last);
    struct nof_data inout = nof_halving_pieces(h, h->partial, first, last);
    if (in.count > 0)
        nof_sched_reduce(h->s, r->op, h->type, in.buf, inout.buf, in.count);
}

void nof_halving_reduce(const struct nof_halving *h, const struct nof_reduction *r)
{
    struct nof_sched *s = h->s;
    struct nof_data whole = nof_halving_pieces(h, h->self < 0 ? h->partial : h->incoming, 0, h->takers);
    if (h->self < 0) {
        nof_coll_send(s, &whole, (s->rank - 1 + s->size) % s->size);
        nof_sched_fence(s);
        return;
    }
    if (h->self < h->pairs) {
        nof_coll_recv(s, &whole, nof_halving_partner(h, h->self));
        nof_sched_fence(s);
        combine(h, r, 0, h->takers);
    }
    int first = 0;
    for (int half = h->takers / 2; half > 0; half /= 2) {
        bool low = h->self < first + half;
        int peer = nof_halving_rank(h, low ? h->self + half : h->self - half);
        int keep = low ? first : first + half, give = low ? first + half : first;
        struct nof_data in = nof_halving_pieces(h, h->incoming, keep, keep + half);
        struct nof_data out = nof_halving_pieces(h, h->partial, give, give + half);
        nof_coll_recv(s, &in, peer);
        nof_coll_send(s, &out, peer);
        nof_sched_fence(s);
        combine(h, r, keep, keep + half);
        first = keep;
    }
}

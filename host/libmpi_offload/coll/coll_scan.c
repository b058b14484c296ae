/* SPDX-License-Identifier: BSD-3-Clause */
/* Scan and exscan by recursive doubling, in rank order: `partial` covers the ranks of my block of
 * 2^k, the result those of it that are not above me. Large vectors go in segments, which bounds the
 * temporary memory. */
#include "coll/coll.h"

#define SEGMENT_BYTES (1024u * 1024u)

struct room {
    void *partial;
    void *incoming;
};

static void swap(struct room *room)
{
    void *t = room->partial;
    room->partial = room->incoming;
    room->incoming = t;
}

static void build_segment(struct nof_sched *s, const struct nof_reduction *r, bool exclusive,
                          struct room *room)
{
    const void *own = r->in == MPI_IN_PLACE ? r->out : r->in;
    nof_sched_copy(s, own, r->count, r->type, room->partial, r->count, r->type);
    bool have_result = !exclusive;
    if (!exclusive)
        nof_sched_copy(s, own, r->count, r->type, r->out, r->count, r->type);
    for (int mask = 1; mask < s->size; mask *= 2) {
        int peer = s->rank ^ mask;
        if (peer >= s->size)
            continue;
        nof_sched_recv(s, room->incoming, r->count, r->type, peer);
        nof_sched_send(s, room->partial, r->count, r->type, peer);
        nof_sched_fence(s);
        if (peer > s->rank) {
            nof_sched_reduce(s, r->op, r->type, room->partial, room->incoming, r->count);
            swap(room);
            continue;
        }
        if (have_result)
            nof_sched_reduce(s, r->op, r->type, room->incoming, r->out, r->count);
        else
            nof_sched_copy(s, room->incoming, r->count, r->type, r->out, r->count, r->type);
        have_result = true;
        nof_sched_reduce(s, r->op, r->type, room->incoming, room->partial, r->count);
    }
}

void nof_coll_build_scan(struct nof_sched *s, const struct nof_reduction *r, bool exclusive)
{
    size_t segment = r->type->size == 0 ? SIZE_MAX : SEGMENT_BYTES / r->type->size + 1;
    size_t largest = r->count < segment ? r->count : segment;
    struct room room = {nof_sched_temporary(s, largest, r->type), nof_sched_temporary(s, largest, r->type)};
    for (size_t done = 0; done < r->count; done += largest) {
        struct nof_reduction part =
            nof_reduction_part(r, done, r->count - done < largest ? r->count - done : largest);
        build_segment(s, &part, exclusive, &room);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* All-to-all: in round k every rank sends to the one k places after it and receives from the one k
 * places before it, so no rank is the target of two at a time. Small messages do not fill the link:
 * several rounds go together. */
#include "coll.h"

#define TOGETHER_MAX_BYTES (32u * 1024u) /* in flight to one rank's neighbours, about */
#define TOGETHER_MAX_ROUNDS 32u

static size_t rounds_together(const struct nof_sched *s, const struct nof_exchange *peers)
{
    size_t largest = 1;
    for (int i = 0; i < s->size; i++) {
        size_t bytes = nof_data_bytes(&peers[i].recv);
        largest = bytes > largest ? bytes : largest;
    }
    size_t rounds = TOGETHER_MAX_BYTES / largest;
    return rounds < 1 ? 1 : rounds > TOGETHER_MAX_ROUNDS ? TOGETHER_MAX_ROUNDS : rounds;
}

/* In place, what is sent must survive what is received: a packed copy of each block. */
static void keep_copies(struct nof_sched *s, const struct nof_exchange *peers, char *copies)
{
    for (int i = 0; i < s->size; i++) {
        const struct nof_data *block = &peers[i].recv;
        size_t bytes = nof_data_bytes(block);
        if (i != s->rank)
            nof_sched_copy(s, block->buf, block->count, block->type, copies, bytes, nof_type_byte());
        copies += bytes;
    }
}

void nof_coll_build_alltoall(struct nof_sched *s, const struct nof_exchange *peers, bool in_place)
{
    char *copies = NULL;
    if (in_place) {
        size_t total = 0;
        for (int i = 0; i < s->size; i++)
            total += nof_data_bytes(&peers[i].recv);
        copies = nof_sched_temporary(s, total, nof_type_byte());
        keep_copies(s, peers, copies);
    } else {
        const struct nof_exchange *own = &peers[s->rank];
        nof_sched_copy(s, own->send.buf, own->send.count, own->send.type, own->recv.buf, own->recv.count,
                       own->recv.type);
    }
    size_t together = rounds_together(s, peers);
    for (int k = 1; k < s->size; k++) {
        int to = (s->rank + k) % s->size, from = (s->rank - k + s->size) % s->size;
        const struct nof_data *in = &peers[from].recv;
        if (nof_data_bytes(in) > 0)
            nof_sched_recv(s, in->buf, in->count, in->type, from);
        if (in_place) {
            size_t offset = 0;
            for (int i = 0; i < to; i++)
                offset += nof_data_bytes(&peers[i].recv);
            if (nof_data_bytes(&peers[to].recv) > 0)
                nof_sched_send(s, nof_lib_at(copies, (ptrdiff_t)offset), nof_data_bytes(&peers[to].recv),
                               nof_type_byte(), to);
        } else if (nof_data_bytes(&peers[to].send) > 0) {
            nof_sched_send(s, peers[to].send.buf, peers[to].send.count, peers[to].send.type, to);
        }
        if ((size_t)k % together == 0)
            nof_sched_fence(s);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Allgather: Bruck's algorithm (a logarithmic number of rounds on packed bytes) while the whole is
 * small, a ring otherwise; allgatherv: the ring. */
#include "coll.h"

#define BRUCK_MAX_TOTAL_BYTES (64u * 1024u)

static void build_bruck(struct nof_sched *s, const struct nof_data *send, const struct nof_data *recv)
{
    struct nof_type *byte = nof_type_byte();
    size_t each = nof_data_bytes(recv);
    char *packed = nof_sched_temporary(s, each * (size_t)s->size, byte);
    if (send != NULL)
        nof_sched_copy(s, send->buf, send->count, send->type, packed, each, byte);
    else
        nof_sched_copy(s, nof_data_at(recv, (size_t)s->rank), recv->count, recv->type, packed, each, byte);
    /* Slot i holds the block of rank + i. */
    for (int have = 1; have < s->size; have *= 2) {
        size_t more = (size_t)(have < s->size - have ? have : s->size - have);
        nof_sched_recv(s, packed + each * (size_t)have, each * more, byte, (s->rank + have) % s->size);
        nof_sched_send(s, packed, each * more, byte, (s->rank - have + s->size) % s->size);
        nof_sched_fence(s);
    }
    for (int i = send == NULL ? 1 : 0; i < s->size; i++)
        nof_sched_copy(s, packed + each * (size_t)i, each, byte,
                       nof_data_at(recv, (size_t)((s->rank + i) % s->size)), recv->count, recv->type);
}

void nof_coll_build_allgather(struct nof_sched *s, const struct nof_data *send, const struct nof_data *recv)
{
    size_t total = nof_data_bytes(recv) * (size_t)s->size;
    if (total == 0)
        return;
    if (total <= BRUCK_MAX_TOTAL_BYTES && s->size > 2) {
        build_bruck(s, send, recv);
        return;
    }
    if (send != NULL)
        nof_sched_copy(s, send->buf, send->count, send->type, nof_data_at(recv, (size_t)s->rank), recv->count,
                       recv->type);
    int right = (s->rank + 1) % s->size, left = (s->rank - 1 + s->size) % s->size;
    for (int k = 0; k < s->size - 1; k++) {
        int out = (s->rank - k + s->size) % s->size, in = (out - 1 + s->size) % s->size;
        nof_sched_recv(s, nof_data_at(recv, (size_t)in), recv->count, recv->type, left);
        nof_sched_send(s, nof_data_at(recv, (size_t)out), recv->count, recv->type, right);
        nof_sched_fence(s);
    }
}

void nof_coll_build_allgatherv(struct nof_sched *s, const struct nof_data *send,
                               const struct nof_blocks *recv)
{
    if (send != NULL)
        nof_sched_copy(s, send->buf, send->count, send->type, nof_block_at(recv, s->rank),
                       (size_t)recv->counts[s->rank], recv->type);
    int right = (s->rank + 1) % s->size, left = (s->rank - 1 + s->size) % s->size;
    for (int k = 0; k < s->size - 1; k++) {
        int out = (s->rank - k + s->size) % s->size, in = (out - 1 + s->size) % s->size;
        if (recv->counts[in] > 0)
            nof_sched_recv(s, nof_block_at(recv, in), (size_t)recv->counts[in], recv->type, left);
        if (recv->counts[out] > 0)
            nof_sched_send(s, nof_block_at(recv, out), (size_t)recv->counts[out], recv->type, right);
        nof_sched_fence(s);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Allgather, with one count for all or one each: Bruck's algorithm (a logarithmic number of rounds, on
 * packed bytes) while blocks are small, a ring otherwise. */
#include "coll/coll.h"
#include "coll/select.h"

static void build_bruck(struct nof_sched *s, const struct nof_data *send, const struct nof_blocks *recv,
                        size_t total)
{
    struct nof_type *byte = nof_type_byte();
    struct nof_data own = nof_block(recv, s->rank);
    char *packed = nof_sched_temporary(s, total, byte);
    nof_coll_pack(s, send != NULL ? send : &own, packed, nof_data_bytes(&own));
    /* Behind one another: the blocks of rank, rank + 1, ...; those of `have` ranks are here. */
    size_t have_bytes = nof_data_bytes(&own);
    for (int have = 1; have < s->size; have *= 2) {
        int more = have < s->size - have ? have : s->size - have;
        int from = (s->rank + have) % s->size, to = (s->rank - have + s->size) % s->size;
        size_t in = nof_blocks_bytes(recv, s->size, from, more);
        nof_coll_recv(s, &(struct nof_data){nof_lib_at(packed, (ptrdiff_t)have_bytes), in, byte}, from);
        size_t out = nof_blocks_bytes(recv, s->size, s->rank, more);
        nof_coll_send(s, &(struct nof_data){packed, out, byte}, to);
        nof_sched_fence(s);
        have_bytes += in;
    }
    size_t at = send == NULL ? nof_data_bytes(&own) : 0;
    for (int i = send == NULL ? 1 : 0; i < s->size; i++) {
        struct nof_data block = nof_block(recv, (s->rank + i) % s->size);
        nof_coll_unpack(s, nof_lib_at(packed, (ptrdiff_t)at), &block);
        at += nof_data_bytes(&block);
    }
}

static void build_ring(struct nof_sched *s, const struct nof_data *send, const struct nof_blocks *recv)
{
    struct nof_data own = nof_block(recv, s->rank);
    if (send != NULL)
        nof_coll_copy(s, send, &own);
    int right = (s->rank + 1) % s->size, left = (s->rank - 1 + s->size) % s->size;
    for (int k = 0; k < s->size - 1; k++) {
        struct nof_data out = nof_block(recv, (s->rank - k + s->size) % s->size);
        struct nof_data in = nof_block(recv, (s->rank - k - 1 + s->size) % s->size);
        nof_coll_recv(s, &in, left);
        nof_coll_send(s, &out, right);
        nof_sched_fence(s);
    }
}

void nof_coll_build_allgather(struct nof_sched *s, const struct nof_data *send, const struct nof_blocks *recv)
{
    size_t total = nof_blocks_bytes(recv, s->size, 0, s->size);
    if (total == 0)
        return;
    uint32_t can = NOF_CAN(NOF_ALLGATHER_BRUCK) | NOF_CAN(NOF_ALLGATHER_RING);
    if (nof_select(s, total / (size_t)s->size, can) == NOF_ALLGATHER_BRUCK)
        build_bruck(s, send, recv, total);
    else
        build_ring(s, send, recv);
}

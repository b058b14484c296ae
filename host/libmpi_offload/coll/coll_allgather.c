/* SPDX-License-Identifier: BSD-3-Clause */
/* Allgather, with one count for all or one each: Bruck's algorithm (a logarithmic number of rounds, on
 * packed bytes) while blocks are small; otherwise every pair has a message of its own, in the order of an all-to-all, whose rounds
 * wait for no other rank's, or blocks go round a ring; where ranks share NICs among the first of each, or in lanes. */
#include "coll/coll.h"
#include "coll/nics/nics.h"
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

static void build_pairwise(struct nof_sched *s, const struct nof_data *send, const struct nof_blocks *recv)
{
    struct nof_data own = nof_block(recv, s->rank);
    if (send != NULL)
        nof_coll_copy(s, send, &own);
    for (int k = 1; k < s->size; k++) {
        int to = (s->rank + k) % s->size, from = (s->rank - k + s->size) % s->size;
        struct nof_data in = nof_block(recv, from);
        nof_coll_recv(s, &in, from);
        nof_coll_send(s, send != NULL ? send : &own, to);
        nof_sched_turn(s);
    }
}

#define FLAT (NOF_CAN(NOF_ALLGATHER_BRUCK) | NOF_CAN(NOF_ALLGATHER_RING) | NOF_CAN(NOF_ALLGATHER_PAIRWISE))

static void build_as(struct nof_sched *s, enum nof_algorithm algorithm, const struct nof_data *send,
                     const struct nof_blocks *recv, size_t total)
{
    if (algorithm == NOF_ALLGATHER_BRUCK)
        build_bruck(s, send, recv, total);
    else if (algorithm == NOF_ALLGATHER_PAIRWISE)
        build_pairwise(s, send, recv);
    else
        build_ring(s, send, recv);
}

/* All blocks, packed, those that travel together behind one another: by NICs, or by lanes. */
struct packed {
    char *all;
    MPI_Count *at; /* of each rank's block */
    MPI_Count *bytes; /* of it */
};

static bool lay_out(struct nof_sched *s, const struct nof_nics *nics, bool lanes,
                    const struct nof_blocks *recv, struct packed *p)
{
    const int *together = lanes ? nics->number : nics->nic;
    int n = lanes ? nics->here_count : nics->count;
    size_t ranks = (size_t)s->size;
    p->all = nof_sched_temporary(s, nof_blocks_bytes(recv, s->size, 0, s->size), nof_type_byte());
    p->at = nof_sched_temporary(s, 2 * ranks * sizeof(*p->at), nof_type_byte());
    if (p->all == NULL || p->at == NULL)
        return false;
    p->bytes = p->at + ranks;
    MPI_Count begin = 0;
    for (int i = 0; i < n; i++)
        for (int rank = 0; rank < s->size; rank++) {
            if (together[rank] != i)
                continue;
            p->at[rank] = begin;
            p->bytes[rank] = (MPI_Count)nof_blocks_bytes(recv, s->size, rank, 1);
            begin += p->bytes[rank];
        }
    return true;
}

/* Blocks that travel together, as one for each of n: those of the ranks that `of` gives this number, all, or those of this rank's lane. */
static struct nof_blocks together(struct nof_sched *s, const struct nof_nics *nics, const struct packed *p,
                                  int n, const int *of, bool of_lane)
{
    MPI_Count *at = nof_sched_temporary(s, 2 * (size_t)n * sizeof(*at), nof_type_byte());
    struct nof_blocks blocks = {.buf = p->all,
                                .counts = {.kind = NOF_COUNTS_WIDE, .wide = at == NULL ? NULL : at + n},
                                .displs = {.kind = NOF_COUNTS_WIDE, .wide = at},
                                .type = nof_type_byte()};
    for (int i = 0; at != NULL && i < n; i++)
        at[i] = at[n + i] = 0;
    for (int rank = 0; at != NULL && rank < s->size; rank++) {
        if (of_lane && nics->number[rank] != nics->self)
            continue;
        MPI_Count *bytes = &at[n + of[rank]];
        if (*bytes == 0)
            at[of[rank]] = p->at[rank];
        *bytes += p->bytes[rank];
    }
    return blocks;
}

static void unpack_others(struct nof_sched *s, const struct packed *p, const struct nof_blocks *recv)
{
    nof_sched_fence(s);
    for (int rank = 0; rank < s->size; rank++) {
        struct nof_data block = nof_block(recv, rank);
        if (rank != s->rank)
            nof_coll_unpack(s, p->all + p->at[rank], &block);
    }
}

/* To the first rank of each NIC, among these, and from there to the ranks beside. */
static void build_levels(struct nof_sched *s, const struct nof_nics *nics, const struct nof_data *mine,
                         const struct nof_blocks *recv, size_t total)
{
    struct packed p;
    struct nof_type *byte = nof_type_byte();
    enum nof_algorithm between = nof_select_part(s, nics->count, total / (size_t)nics->count, FLAT);
    if (!lay_out(s, nics, false, recv, &p))
        return;
    struct nof_blocks blocks = together(s, nics, &p, nics->count, nics->nic, false);
    if (blocks.displs.wide == NULL)
        return;
    if (nics->self > 0) {
        nof_coll_send(s, mine, nics->here[0]);
    } else {
        nof_coll_pack(s, mine, p.all + p.at[s->rank], (size_t)p.bytes[s->rank]);
        for (int i = 1; i < nics->here_count; i++) {
            int rank = nics->here[i];
            nof_coll_recv(s, &(struct nof_data){p.all + p.at[rank], (size_t)p.bytes[rank], byte}, rank);
        }
        nof_sched_fence(s);
        nof_nics_between(s, nics, nics->leader);
        build_as(s, between, NULL, &blocks, total);
        nof_sched_fence(s);
    }
    nof_nics_here(s, nics);
    nof_coll_build_bcast_tree(s, &(struct nof_data){p.all, total, byte}, 0);
    nof_nics_all(s);
    unpack_others(s, &p, recv);
}

/* Among those with one number on all NICs, then among the ranks beside. */
static void build_lanes(struct nof_sched *s, const struct nof_nics *nics, const struct nof_data *mine,
                        const struct nof_blocks *recv, size_t total)
{
    struct packed p;
    int n = nics->here_count;
    enum nof_algorithm between = nof_select_part(s, nics->count, total / (size_t)s->size, FLAT);
    if (!lay_out(s, nics, true, recv, &p))
        return;
    struct nof_blocks lane = together(s, nics, &p, nics->count, nics->nic, true);
    struct nof_blocks lanes = together(s, nics, &p, n, nics->number, false);
    if (lane.displs.wide == NULL || lanes.displs.wide == NULL)
        return;
    nof_coll_pack(s, mine, p.all + p.at[s->rank], (size_t)p.bytes[s->rank]);
    nof_nics_between(s, nics, nof_nics_lane(nics, s->size));
    build_as(s, between, NULL, &lane, nof_blocks_bytes(&lane, nics->count, 0, nics->count));
    nof_sched_fence(s);
    nof_nics_here(s, nics);
    struct nof_data own = nof_block(&lanes, nics->self);
    for (int k = 1; k < n; k++) {
        struct nof_data in = nof_block(&lanes, (nics->self - k + n) % n);
        nof_coll_recv(s, &in, (nics->self - k + n) % n);
        nof_coll_send(s, &own, (nics->self + k) % n);
    }
    nof_nics_all(s);
    unpack_others(s, &p, recv);
}

void nof_coll_build_allgather(struct nof_sched *s, const struct nof_data *send, const struct nof_blocks *recv)
{
    size_t total = nof_blocks_bytes(recv, s->size, 0, s->size);
    if (total == 0)
        return;
    const struct nof_nics *nics = nof_nics_shared(s);
    uint64_t can = FLAT;
    if (nics != NULL)
        can |= NOF_CAN(NOF_ALLGATHER_HIERARCHICAL) | (nics->even ? NOF_CAN(NOF_ALLGATHER_LANES) : 0);
    enum nof_algorithm algorithm = nof_select(s, total / (size_t)s->size, can);
    if ((NOF_CAN(algorithm) & FLAT) != 0) {
        build_as(s, algorithm, send, recv, total);
        return;
    }
    struct nof_data own = nof_block(recv, s->rank);
    if (send != NULL)
        nof_coll_copy(s, send, &own);
    if (algorithm == NOF_ALLGATHER_LANES)
        build_lanes(s, nics, send != NULL ? send : &own, recv, total);
    else
        build_levels(s, nics, send != NULL ? send : &own, recv, total);
}

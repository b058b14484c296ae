/* SPDX-License-Identifier: BSD-3-Clause */
/* What has to cross goes between the ranks 0 of the groups, once; what a group does alone it does on its
 * local intra-communicator, with the builders of intra-communicators. Where every pair of ranks has
 * bytes of its own, each sends them itself. */
#include "coll/coll_inter.h"

#define TOGETHER_MAX 128 /* transfers that one rank has under way */

void nof_coll_inter_barrier(struct nof_sched *s)
{
    nof_sched_side(s, true);
    nof_coll_build_barrier(s);
    nof_sched_side(s, false);
    if (s->comm->rank == 0) {
        nof_sched_send(s, NULL, 0, nof_type_byte(), 0);
        nof_sched_recv(s, NULL, 0, nof_type_byte(), 0);
    }
    nof_sched_side(s, true);
    nof_coll_build_barrier(s);
}

void nof_coll_inter_bcast(struct nof_sched *s, const struct nof_data *data, int root)
{
    if (root == MPI_PROC_NULL)
        return;
    if (root == MPI_ROOT) {
        nof_coll_send(s, data, 0);
        return;
    }
    if (s->comm->rank == 0)
        nof_coll_recv(s, data, root);
    nof_sched_side(s, true);
    nof_coll_build_bcast(s, data, 0);
}

void nof_coll_inter_gather(struct nof_sched *s, const struct nof_data *send, const struct nof_blocks *recv,
                           int root)
{
    if (root >= 0)
        nof_coll_send(s, send, root);
    for (int i = 0; root == MPI_ROOT && i < s->size; i++) {
        struct nof_data block = nof_block(recv, i);
        nof_coll_recv(s, &block, i);
        if (i % TOGETHER_MAX == TOGETHER_MAX - 1)
            nof_sched_fence(s);
    }
}

void nof_coll_inter_scatter(struct nof_sched *s, const struct nof_blocks *send, const struct nof_data *recv,
                            int root)
{
    if (root >= 0)
        nof_coll_recv(s, recv, root);
    for (int i = 0; root == MPI_ROOT && i < s->size; i++) {
        struct nof_data block = nof_block(send, i);
        nof_coll_send(s, &block, i);
        if (i % TOGETHER_MAX == TOGETHER_MAX - 1)
            nof_sched_fence(s);
    }
}

/* Every rank sends what it has to all of the other group. The first one to send to differs. */
void nof_coll_inter_allgather(struct nof_sched *s, const struct nof_data *send, const struct nof_blocks *recv)
{
    struct nof_blocks all = {.buf = send->buf,
                             .counts = {.kind = NOF_COUNTS_ONE, .one = (MPI_Count)send->count},
                             .displs = {.kind = NOF_COUNTS_ONE},
                             .type = send->type};
    nof_coll_inter_alltoall(s, &all, recv);
}

/* In round k of as many as the larger group has ranks, rank i of a group meets (k - i) of the other. */
void nof_coll_inter_alltoall(struct nof_sched *s, const struct nof_blocks *send,
                             const struct nof_blocks *recv)
{
    int local = nof_comm_size(s->comm);
    int rounds = local > s->size ? local : s->size;
    for (int k = 0; k < rounds; k++) {
        int peer = (k - s->comm->rank + rounds) % rounds;
        if (peer >= s->size)
            continue;
        struct nof_data in = nof_block(recv, peer), out = nof_block(send, peer);
        nof_coll_recv(s, &in, peer);
        nof_coll_send(s, &out, peer);
        if (k % TOGETHER_MAX == TOGETHER_MAX - 1)
            nof_sched_fence(s);
    }
}

/* Reduce the local group's operands at its rank 0: into `room` there. */
static void reduce_local(struct nof_sched *s, const struct nof_reduction *r, void *room)
{
    struct nof_reduction here = *r;
    here.out = room;
    nof_sched_side(s, true);
    nof_coll_build_reduce(s, &here, 0);
    nof_sched_side(s, false);
}

void nof_coll_inter_reduce(struct nof_sched *s, const struct nof_reduction *r, int root)
{
    struct nof_data result = {r->out, r->count, r->type};
    if (root == MPI_ROOT)
        nof_coll_recv(s, &result, 0);
    if (root < 0)
        return;
    if (s->comm->rank == 0)
        result.buf = nof_sched_temporary(s, r->count, r->type);
    reduce_local(s, r, result.buf);
    if (s->comm->rank == 0)
        nof_coll_send(s, &result, root);
}

void nof_coll_inter_allreduce(struct nof_sched *s, const struct nof_reduction *r)
{
    struct nof_data theirs = {r->out, r->count, r->type}, ours = theirs;
    if (s->comm->rank == 0)
        ours.buf = nof_sched_temporary(s, r->count, r->type);
    reduce_local(s, r, ours.buf);
    if (s->comm->rank == 0) {
        nof_coll_recv(s, &theirs, 0);
        nof_coll_send(s, &ours, 0);
    }
    nof_sched_side(s, true);
    nof_coll_build_bcast(s, &theirs, 0);
}

void nof_coll_inter_reduce_scatter(struct nof_sched *s, const struct nof_reduction *r,
                                   const struct nof_counts *counts)
{
    struct nof_data ours = {NULL, r->count, r->type}, theirs = ours;
    if (s->comm->rank == 0) {
        ours.buf = nof_sched_temporary(s, r->count, r->type);
        theirs.buf = nof_sched_temporary(s, r->count, r->type);
    }
    reduce_local(s, r, ours.buf);
    if (s->comm->rank == 0) {
        nof_coll_recv(s, &theirs, 0);
        nof_coll_send(s, &ours, 0);
    }
    nof_sched_side(s, true);
    struct nof_data mine = {r->out, (size_t)nof_count_at(counts, s->rank), r->type};
    ptrdiff_t at = 0;
    for (int i = 0; i < s->size; i++) {
        struct nof_data block = {nof_lib_at(theirs.buf, at * nof_type_extent(r->type)),
                                 (size_t)nof_count_at(counts, i), r->type};
        if (s->rank == 0 && i == 0)
            nof_coll_copy(s, &block, &mine);
        else if (s->rank == 0)
            nof_coll_send(s, &block, i);
        at += (ptrdiff_t)block.count;
    }
    if (s->rank != 0)
        nof_coll_recv(s, &mine, 0);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions: arguments and entry points. */
#include "coll/agree.h"
#include "coll/coll_args.h"
#include "coll/coll_inter.h"

static int reduce(struct nof_sched *s, const struct nof_coll_args *args)
{
    bool inter = s->comm->remote != NULL;
    struct nof_reduction r;
    int rc = nof_coll_check_root(s, args->root);
    if (rc != MPI_SUCCESS || args->root == MPI_PROC_NULL)
        return rc;
    bool at_root = inter ? args->root == MPI_ROOT : args->root == s->rank;
    if (!inter && !at_root && args->send.buf == MPI_IN_PLACE)
        return nof_error(MPI_ERR_BUFFER, "MPI_IN_PLACE is allowed at the root only");
    rc = nof_coll_check_reduction(s, args, args->send.counts.one, !inter || !at_root, at_root, &r);
    if (rc != MPI_SUCCESS)
        return rc;
    nof_coll_agree_reduction(s, NOF_CALL_REDUCE, args->root, &r);
    if (inter)
        nof_coll_inter_reduce(s, &r, args->root);
    else
        nof_coll_build_reduce(s, &r, args->root);
    return MPI_SUCCESS;
}

static int allreduce(struct nof_sched *s, const struct nof_coll_args *args)
{
    struct nof_reduction r;
    int rc = nof_coll_check_reduction(s, args, args->send.counts.one, true, true, &r);
    if (rc != MPI_SUCCESS)
        return rc;
    nof_coll_agree_reduction(s, NOF_CALL_ALLREDUCE, 0, &r);
    if (s->comm->remote != NULL)
        nof_coll_inter_allreduce(s, &r);
    else
        nof_coll_build_allreduce(s, &r);
    return MPI_SUCCESS;
}

/* The counts are those of the local group's ranks. */
static int reduce_scatter(struct nof_sched *s, const struct nof_coll_args *args)
{
    const struct nof_counts *counts = &args->send.counts;
    struct nof_reduction r;
    MPI_Count total = 0;
    if (counts->narrow == NULL && counts->kind == NOF_COUNTS_INT)
        return nof_error(MPI_ERR_ARG, "the counts are NULL");
    if (counts->wide == NULL && counts->kind == NOF_COUNTS_WIDE)
        return nof_error(MPI_ERR_ARG, "the counts are NULL");
    for (int i = 0; i < nof_comm_size(s->comm); i++) {
        MPI_Count count = nof_count_at(counts, i);
        if (count < 0 || __builtin_add_overflow(total, count, &total))
            return nof_error(MPI_ERR_COUNT, "the count for rank %d is %lld", i, (long long)count);
    }
    bool needs_out = nof_count_at(counts, s->rank) > 0 || args->send.buf == MPI_IN_PLACE;
    int rc = nof_coll_check_reduction(s, args, total, true, needs_out, &r);
    if (rc != MPI_SUCCESS)
        return rc;
    nof_coll_agree_reduction(s, NOF_CALL_REDUCE_SCATTER, 0, &r);
    if (s->comm->remote != NULL)
        nof_coll_inter_reduce_scatter(s, &r, counts);
    else
        nof_coll_build_reduce_scatter(s, &r, counts);
    return MPI_SUCCESS;
}

static int scan_as(struct nof_sched *s, const struct nof_coll_args *args, bool exclusive)
{
    struct nof_reduction r;
    if (s->comm->remote != NULL)
        return nof_error(MPI_ERR_COMM, "there is no scan on an inter-communicator");
    /* Exscan leaves rank 0's result alone, but a wrong pair of buffers is an error on all ranks. */
    bool needs_out = !exclusive || s->rank > 0 || args->recv.buf != NULL || args->send.buf == MPI_IN_PLACE;
    int rc = nof_coll_check_reduction(s, args, args->send.counts.one, true, needs_out, &r);
    if (rc != MPI_SUCCESS)
        return rc;
    nof_coll_agree_reduction(s, exclusive ? NOF_CALL_EXSCAN : NOF_CALL_SCAN, 0, &r);
    nof_coll_build_scan(s, &r, exclusive);
    return MPI_SUCCESS;
}

static int scan(struct nof_sched *s, const struct nof_coll_args *args)
{
    return scan_as(s, args, false);
}

static int exscan(struct nof_sched *s, const struct nof_coll_args *args)
{
    return scan_as(s, args, true);
}

#define REDUCE(Count, Displ) \
    const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, MPI_Op op, int root,
NOF_COLLECTIVE(Reduce, Ireduce, Reduce_init, reduce, REDUCE, NOF_REDUCE(count), .root = root)

#define ALLREDUCE(Count, Displ) \
    const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, MPI_Op op,
NOF_COLLECTIVE(Allreduce, Iallreduce, Allreduce_init, allreduce, ALLREDUCE, NOF_REDUCE(count))
NOF_COLLECTIVE(Scan, Iscan, Scan_init, scan, ALLREDUCE, NOF_REDUCE(count))
NOF_COLLECTIVE(Exscan, Iexscan, Exscan_init, exscan, ALLREDUCE, NOF_REDUCE(count))

#define REDUCE_SCATTER(Count, Displ) \
    const void *sendbuf, void *recvbuf, const Count recvcounts[], MPI_Datatype datatype, MPI_Op op,
NOF_COLLECTIVE(Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, reduce_scatter, REDUCE_SCATTER,
               NOF_REDUCE(recvcounts))

#define REDUCE_SCATTER_BLOCK(Count, Displ) \
    const void *sendbuf, void *recvbuf, Count recvcount, MPI_Datatype datatype, MPI_Op op,
NOF_COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init, reduce_scatter,
               REDUCE_SCATTER_BLOCK, NOF_REDUCE(recvcount))

/* SPDX-License-Identifier: BSD-3-Clause */
/* Entry points of the reductions without a root. */
#include <stdlib.h>

#include "coll_args.h"

NOF_MPI(Allreduce)
int PMPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_sched *s;
    struct nof_reduction r;
    int rc = nof_coll_begin(comm, &c, &s);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_reduction(sendbuf, recvbuf, true, count, datatype, op, &r);
    if (rc == MPI_SUCCESS)
        nof_coll_build_allreduce(s, &r);
    return nof_coll_end(c, s, rc, __func__);
}

/* counts NULL: `count` for every rank. */
static int reduce_scatter(const void *sendbuf, void *recvbuf, const int *counts, int count,
                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c;
    struct nof_sched *s;
    struct nof_reduction r;
    int *own_counts = NULL;
    int rc = nof_coll_begin(comm, &c, &s);
    if (rc == MPI_SUCCESS && (own_counts = malloc((size_t)s->size * sizeof(int))) == NULL)
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for %d counts", s->size);
    MPI_Count total = 0;
    for (int i = 0; rc == MPI_SUCCESS && i < s->size; i++) {
        own_counts[i] = counts == NULL ? count : counts[i];
        total += own_counts[i];
        if (own_counts[i] < 0)
            rc = nof_error(MPI_ERR_COUNT, "the count for rank %d is %d", i, own_counts[i]);
    }
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_reduction(sendbuf, recvbuf, own_counts[s->rank] > 0, total, datatype, op, &r);
    if (rc == MPI_SUCCESS)
        nof_coll_build_reduce_scatter(s, &r, own_counts);
    free(own_counts);
    return nof_coll_end(c, s, rc, func);
}

NOF_MPI(Reduce_scatter)
int PMPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype,
                        MPI_Op op, MPI_Comm comm)
{
    return reduce_scatter(sendbuf, recvbuf, recvcounts, 0, datatype, op, comm, __func__);
}

NOF_MPI(Reduce_scatter_block)
int PMPI_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype,
                              MPI_Op op, MPI_Comm comm)
{
    return reduce_scatter(sendbuf, recvbuf, NULL, recvcount, datatype, op, comm, __func__);
}

static int scan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                MPI_Comm comm, bool exclusive, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c;
    struct nof_sched *s;
    struct nof_reduction r;
    int rc = nof_coll_begin(comm, &c, &s);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_reduction(sendbuf, recvbuf, !exclusive || c->rank > 0, count, datatype, op, &r);
    if (rc == MPI_SUCCESS)
        nof_coll_build_scan(s, &r, exclusive);
    return nof_coll_end(c, s, rc, func);
}

NOF_MPI(Scan)
int PMPI_Scan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return scan(sendbuf, recvbuf, count, datatype, op, comm, false, __func__);
}

NOF_MPI(Exscan)
int PMPI_Exscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                MPI_Comm comm)
{
    return scan(sendbuf, recvbuf, count, datatype, op, comm, true, __func__);
}

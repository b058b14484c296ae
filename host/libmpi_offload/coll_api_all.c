/* SPDX-License-Identifier: BSD-3-Clause */
/* Entry points of the collectives in which all receive: allgather and all-to-all. */
#include <stdlib.h>

#include "coll_args.h"

NOF_MPI(Allgather)
int PMPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                   MPI_Datatype recvtype, MPI_Comm comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_sched *s;
    struct nof_data send, recv;
    int rc = nof_coll_begin(comm, &c, &s);
    bool in_place = sendbuf == MPI_IN_PLACE;
    if (rc == MPI_SUCCESS && !in_place)
        rc = nof_coll_check_data(sendbuf, sendcount, sendtype, &send);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_data(recvbuf, recvcount, recvtype, &recv);
    if (rc == MPI_SUCCESS)
        nof_coll_build_allgather(s, in_place ? NULL : &send, &recv);
    return nof_coll_end(c, s, rc, __func__);
}

NOF_MPI(Allgatherv)
int PMPI_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                    const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_sched *s;
    struct nof_data send;
    struct nof_blocks recv;
    int rc = nof_coll_begin(comm, &c, &s);
    bool in_place = sendbuf == MPI_IN_PLACE;
    if (rc == MPI_SUCCESS && !in_place)
        rc = nof_coll_check_data(sendbuf, sendcount, sendtype, &send);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_blocks(c, recvbuf, recvcounts, displs, recvtype, &recv);
    if (rc == MPI_SUCCESS)
        nof_coll_build_allgatherv(s, in_place ? NULL : &send, &recv);
    return nof_coll_end(c, s, rc, __func__);
}

/* One side of an all-to-all as the program gave it. counts NULL: `count` for all, blocks one after
 * the other; types NULL: `type` for all; displs in extents, or in bytes with types (alltoallw). */
struct side {
    const void *buf;
    int count;
    const int *counts;
    const int *displs;
    MPI_Datatype type;
    const MPI_Datatype *types;
};

static int block_of(const struct side *side, int i, struct nof_data *block)
{
    int count = side->counts == NULL ? side->count : side->counts[i];
    int rc = nof_coll_check_data(side->buf, count, side->types == NULL ? side->type : side->types[i], block);
    if (rc != MPI_SUCCESS)
        return rc;
    ptrdiff_t at = side->displs == NULL ? (ptrdiff_t)i * count : side->displs[i];
    if (side->types == NULL)
        at *= nof_type_extent(block->type);
    block->buf = nof_lib_at(side->buf, at);
    return MPI_SUCCESS;
}

static int exchange(MPI_Comm comm, const struct side *send, const struct side *recv, const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c;
    struct nof_sched *s;
    struct nof_exchange *peers = NULL;
    bool in_place = send->buf == MPI_IN_PLACE;
    int rc = nof_coll_begin(comm, &c, &s);
    if (rc == MPI_SUCCESS && (peers = calloc((size_t)s->size, sizeof(*peers))) == NULL)
        rc = nof_error(MPI_ERR_NO_MEM, "no memory for an exchange of %d ranks", s->size);
    for (int i = 0; rc == MPI_SUCCESS && i < s->size; i++) {
        rc = block_of(recv, i, &peers[i].recv);
        if (rc == MPI_SUCCESS && !in_place)
            rc = block_of(send, i, &peers[i].send);
    }
    if (rc == MPI_SUCCESS)
        nof_coll_build_alltoall(s, peers, in_place);
    free(peers);
    return nof_coll_end(c, s, rc, func);
}

NOF_MPI(Alltoall)
int PMPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                  MPI_Datatype recvtype, MPI_Comm comm)
{
    struct side send = {.buf = sendbuf, .count = sendcount, .type = sendtype};
    struct side recv = {.buf = recvbuf, .count = recvcount, .type = recvtype};
    return exchange(comm, &send, &recv, __func__);
}

NOF_MPI(Alltoallv)
int PMPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                   void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                   MPI_Comm comm)
{
    struct side send = {.buf = sendbuf, .counts = sendcounts, .displs = sdispls, .type = sendtype};
    struct side recv = {.buf = recvbuf, .counts = recvcounts, .displs = rdispls, .type = recvtype};
    return exchange(comm, &send, &recv, __func__);
}

NOF_MPI(Alltoallw)
int PMPI_Alltoallw(const void *sendbuf, const int sendcounts[], const int sdispls[],
                   const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const int rdispls[],
                   const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    struct side send = {.buf = sendbuf, .counts = sendcounts, .displs = sdispls, .types = sendtypes};
    struct side recv = {.buf = recvbuf, .counts = recvcounts, .displs = rdispls, .types = recvtypes};
    return exchange(comm, &send, &recv, __func__);
}

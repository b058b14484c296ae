/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbourhood collectives: arguments and entry points. MPI_IN_PLACE is not allowed in any. */
#include "coll/coll_args.h"
#include "comm/topo.h"

static int neighbors_of(const struct nof_sched *s, struct nof_neighbors *n)
{
    int rc = nof_topo_neighbors(s->comm, &n->in, &n->in_count, &n->out, &n->out_count);
    if (rc == MPI_SUCCESS)
        n->cartesian = s->comm->topo->kind == MPI_CART;
    return rc;
}

/* One buffer goes to all neighbours. */
static int allgather(struct nof_sched *s, const struct nof_coll_args *args)
{
    struct nof_neighbors n;
    struct nof_data send;
    struct nof_blocks recv;
    int rc = neighbors_of(s, &n);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_data(&args->send, &send);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_blocks(&args->recv, n.in_count, &recv);
    if (rc != MPI_SUCCESS)
        return rc;
    struct nof_blocks same = {
        .buf = send.buf, .counts = args->send.counts, .displs = nof_counts_one(0), .type = send.type};
    nof_coll_build_neighbors(s, &n, &same, &recv);
    return MPI_SUCCESS;
}

static int alltoall(struct nof_sched *s, const struct nof_coll_args *args)
{
    struct nof_neighbors n;
    struct nof_blocks send, recv;
    int rc = neighbors_of(s, &n);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_blocks(&args->send, n.out_count, &send);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_blocks(&args->recv, n.in_count, &recv);
    if (rc == MPI_SUCCESS)
        nof_coll_build_neighbors(s, &n, &send, &recv);
    return rc;
}

#define ALLGATHER(Count, Displ) \
    const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount, \
        MPI_Datatype recvtype,
NOF_COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, allgather, ALLGATHER,
               NOF_SEND, NOF_RECV)
NOF_COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init, alltoall, ALLGATHER, NOF_SEND,
               NOF_RECV)

#define ALLGATHERV(Count, Displ) \
    const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, const Count recvcounts[], \
        const Displ displs[], MPI_Datatype recvtype,
NOF_COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init, allgather, ALLGATHERV,
               NOF_SEND, NOF_RECV_V(displs))

#define ALLTOALLV(Count, Displ) \
    const void *sendbuf, const Count sendcounts[], const Displ sdispls[], MPI_Datatype sendtype, \
        void *recvbuf, const Count recvcounts[], const Displ rdispls[], MPI_Datatype recvtype,
NOF_COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init, alltoall, ALLTOALLV,
               NOF_SEND_V(sdispls), NOF_RECV_V(rdispls))

/* Displacements are addresses or their differences, also with int counts. */
#define ALLTOALLW(Count, Displ) \
    const void *sendbuf, const Count sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], \
        void *recvbuf, const Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
NOF_COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init, alltoall, ALLTOALLW,
               NOF_SEND_W, NOF_RECV_W)

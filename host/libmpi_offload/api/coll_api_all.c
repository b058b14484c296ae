/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives in which all receive, allgather and all-to-all: arguments and entry points. */
#include "coll/agree.h"
#include "coll/coll_args.h"
#include "coll/coll_inter.h"

static int allgather(struct nof_sched *s, const struct nof_coll_args *args)
{
    struct nof_data send;
    struct nof_blocks recv;
    bool inter = s->comm->remote != NULL;
    bool in_place = !inter && args->send.buf == MPI_IN_PLACE;
    int rc = in_place ? MPI_SUCCESS : nof_coll_check_data(&args->send, &send);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_blocks(&args->recv, s->size, &recv);
    if (rc == MPI_SUCCESS && !inter && !in_place) {
        struct nof_data own = nof_block(&recv, s->rank);
        rc = nof_coll_check_alias(&send, &own);
    }
    if (rc != MPI_SUCCESS)
        return rc;
    uint64_t each = nof_coll_agree_each(&recv);
    nof_coll_agree_exchange(s, NOF_CALL_ALLGATHER, in_place ? each : nof_data_bytes(&send), each);
    if (inter)
        nof_coll_inter_allgather(s, &send, &recv);
    else
        nof_coll_build_allgather(s, in_place ? NULL : &send, &recv);
    return MPI_SUCCESS;
}

static int alltoall(struct nof_sched *s, const struct nof_coll_args *args)
{
    struct nof_blocks send, recv;
    bool inter = s->comm->remote != NULL;
    bool in_place = !inter && args->send.buf == MPI_IN_PLACE;
    int rc = in_place ? MPI_SUCCESS : nof_coll_check_blocks(&args->send, s->size, &send);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_blocks(&args->recv, s->size, &recv);
    if (rc == MPI_SUCCESS && !inter && !in_place) {
        struct nof_data mine = nof_block(&send, s->rank), own = nof_block(&recv, s->rank);
        rc = nof_coll_check_alias(&mine, &own);
    }
    if (rc != MPI_SUCCESS)
        return rc;
    uint64_t each = nof_coll_agree_each(&recv);
    nof_coll_agree_exchange(s, NOF_CALL_ALLTOALL, in_place ? each : nof_coll_agree_each(&send), each);
    if (inter)
        nof_coll_inter_alltoall(s, &send, &recv);
    else
        nof_coll_build_alltoall(s, in_place ? NULL : &send, &recv);
    return MPI_SUCCESS;
}

#define ALLGATHER(Count, Displ) \
    const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount, \
        MPI_Datatype recvtype,
NOF_COLLECTIVE(Allgather, Iallgather, Allgather_init, allgather, ALLGATHER, NOF_SEND, NOF_RECV)
NOF_COLLECTIVE(Alltoall, Ialltoall, Alltoall_init, alltoall, ALLGATHER, NOF_SEND, NOF_RECV)

#define ALLGATHERV(Count, Displ) \
    const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, const Count recvcounts[], \
        const Displ displs[], MPI_Datatype recvtype,
NOF_COLLECTIVE(Allgatherv, Iallgatherv, Allgatherv_init, allgather, ALLGATHERV, NOF_SEND, NOF_RECV_V(displs))

#define ALLTOALLV(Count, Displ) \
    const void *sendbuf, const Count sendcounts[], const Displ sdispls[], MPI_Datatype sendtype, \
        void *recvbuf, const Count recvcounts[], const Displ rdispls[], MPI_Datatype recvtype,
NOF_COLLECTIVE(Alltoallv, Ialltoallv, Alltoallv_init, alltoall, ALLTOALLV, NOF_SEND_V(sdispls),
               NOF_RECV_V(rdispls))

#define ALLTOALLW(Count, Displ) \
    const void *sendbuf, const Count sendcounts[], const Displ sdispls[], const MPI_Datatype sendtypes[], \
        void *recvbuf, const Count recvcounts[], const Displ rdispls[], const MPI_Datatype recvtypes[],
NOF_COLLECTIVE(Alltoallw, Ialltoallw, Alltoallw_init, alltoall, ALLTOALLW, NOF_SEND_W, NOF_RECV_W)

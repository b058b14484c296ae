/* SPDX-License-Identifier: BSD-3-Clause */
/* Entry points of the collectives with a root, and the barrier. */
#include "coll_args.h"

NOF_MPI(Barrier)
int PMPI_Barrier(MPI_Comm comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_sched *s;
    int rc = nof_coll_begin(comm, &c, &s);
    if (rc == MPI_SUCCESS)
        nof_coll_build_barrier(s);
    return nof_coll_end(c, s, rc, __func__);
}

NOF_MPI(Bcast)
int PMPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_sched *s;
    struct nof_data data;
    int rc = nof_coll_begin(comm, &c, &s);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_root(c, root);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_data(buffer, count, datatype, &data);
    if (rc == MPI_SUCCESS)
        nof_coll_build_bcast(s, &data, root);
    return nof_coll_end(c, s, rc, __func__);
}

NOF_MPI(Gather)
int PMPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_sched *s;
    struct nof_data send, recv;
    int rc = nof_coll_begin(comm, &c, &s);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_root(c, root);
    bool at_root = rc == MPI_SUCCESS && c->rank == root;
    bool in_place = at_root && sendbuf == MPI_IN_PLACE;
    if (rc == MPI_SUCCESS && !in_place)
        rc = nof_coll_check_data(sendbuf, sendcount, sendtype, &send);
    if (rc == MPI_SUCCESS && at_root)
        rc = nof_coll_check_data(recvbuf, recvcount, recvtype, &recv);
    if (rc == MPI_SUCCESS)
        nof_coll_build_gather(s, in_place ? NULL : &send, at_root ? &recv : NULL, root);
    return nof_coll_end(c, s, rc, __func__);
}

NOF_MPI(Gatherv)
int PMPI_Gatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                 const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_sched *s;
    struct nof_data send;
    struct nof_blocks recv;
    int rc = nof_coll_begin(comm, &c, &s);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_root(c, root);
    bool at_root = rc == MPI_SUCCESS && c->rank == root;
    bool in_place = at_root && sendbuf == MPI_IN_PLACE;
    if (rc == MPI_SUCCESS && !in_place)
        rc = nof_coll_check_data(sendbuf, sendcount, sendtype, &send);
    if (rc == MPI_SUCCESS && at_root)
        rc = nof_coll_check_blocks(c, recvbuf, recvcounts, displs, recvtype, &recv);
    if (rc == MPI_SUCCESS)
        nof_coll_build_gatherv(s, in_place ? NULL : &send, at_root ? &recv : NULL, root);
    return nof_coll_end(c, s, rc, __func__);
}

NOF_MPI(Scatter)
int PMPI_Scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                 MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_sched *s;
    struct nof_data send, recv;
    int rc = nof_coll_begin(comm, &c, &s);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_root(c, root);
    bool at_root = rc == MPI_SUCCESS && c->rank == root;
    bool in_place = at_root && recvbuf == MPI_IN_PLACE;
    if (rc == MPI_SUCCESS && !in_place)
        rc = nof_coll_check_data(recvbuf, recvcount, recvtype, &recv);
    if (rc == MPI_SUCCESS && at_root)
        rc = nof_coll_check_data(sendbuf, sendcount, sendtype, &send);
    if (rc == MPI_SUCCESS)
        nof_coll_build_scatter(s, at_root ? &send : NULL, in_place ? NULL : &recv, root);
    return nof_coll_end(c, s, rc, __func__);
}

NOF_MPI(Scatterv)
int PMPI_Scatterv(const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                  void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_sched *s;
    struct nof_blocks send;
    struct nof_data recv;
    int rc = nof_coll_begin(comm, &c, &s);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_root(c, root);
    bool at_root = rc == MPI_SUCCESS && c->rank == root;
    bool in_place = at_root && recvbuf == MPI_IN_PLACE;
    if (rc == MPI_SUCCESS && !in_place)
        rc = nof_coll_check_data(recvbuf, recvcount, recvtype, &recv);
    if (rc == MPI_SUCCESS && at_root)
        rc = nof_coll_check_blocks(c, sendbuf, sendcounts, displs, sendtype, &send);
    if (rc == MPI_SUCCESS)
        nof_coll_build_scatterv(s, at_root ? &send : NULL, in_place ? NULL : &recv, root);
    return nof_coll_end(c, s, rc, __func__);
}

NOF_MPI(Reduce)
int PMPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                MPI_Comm comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    struct nof_sched *s;
    struct nof_reduction r;
    int rc = nof_coll_begin(comm, &c, &s);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_root(c, root);
    bool at_root = rc == MPI_SUCCESS && c->rank == root;
    if (rc == MPI_SUCCESS && !at_root && sendbuf == MPI_IN_PLACE)
        rc = nof_error(MPI_ERR_BUFFER, "MPI_IN_PLACE is allowed at the root only");
    if (rc == MPI_SUCCESS)
        rc = nof_coll_check_reduction(sendbuf, recvbuf, at_root, count, datatype, op, &r);
    if (rc == MPI_SUCCESS)
        nof_coll_build_reduce(s, &r, root);
    return nof_coll_end(c, s, rc, __func__);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/compiled_api.h"
#include "coll/coll_phased.h"
#include "comm/entry.h"

static int publish(struct nof_phased *phased, MPIX_Coll *coll_out)
{
    uint64_t handle = nof_handle_add(&nof_lib.colls, phased);
    if (handle == 0) {
        nof_phased_free(phased);
        return nof_error(MPI_ERR_NO_MEM, "no memory for a handle");
    }
    phased->handle = *coll_out = nof_lib_handle(handle);
    return MPI_SUCCESS;
}

static int check(MPIX_Coll coll, struct nof_phased **phased_out)
{
    void *object;
    int rc = nof_compiled_check(coll, NOF_COMPILED_ALLTOALLV, &object);
    if (rc == MPI_SUCCESS)
        *phased_out = object;
    return rc;
}

static int level1(const struct nof_phased_args *args, MPI_Comm comm, MPIX_Coll *coll_out, const char *func)
{
    struct nof_comm *c = NULL;
    struct nof_phased *phased = NULL;
    int rc = nof_compiled_begin(comm, coll_out, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_phased_from_counts(c, args, &phased);
    if (rc == MPI_SUCCESS)
        rc = publish(phased, coll_out);
    return nof_lib_leave(c, rc, func);
}

EXPORT(Alltoallv_control1)
int PMPIX_Alltoallv_control1(const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                             const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                             MPI_Comm comm, MPIX_Coll *coll_out)
{
    nof_lib_enter(__func__);
    const struct nof_phased_args args = {.counts_to = sendcounts,
                                         .displs_to = sdispls,
                                         .type_to = sendtype,
                                         .counts_from = recvcounts,
                                         .displs_from = rdispls,
                                         .type_from = recvtype};
    return level1(&args, comm, coll_out, __func__);
}

EXPORT(Alltoallv_control1_told)
int PMPIX_Alltoallv_control1_told(const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                                  int recvcounts_out[], int rdispls_out[], MPI_Datatype recvtype,
                                  MPI_Comm comm, MPIX_Coll *coll_out)
{
    nof_lib_enter(__func__);
    const struct nof_phased_args args = {.counts_to = sendcounts,
                                         .displs_to = sdispls,
                                         .type_to = sendtype,
                                         .type_from = recvtype,
                                         .finds = true,
                                         .found_counts = recvcounts_out,
                                         .found_displs = rdispls_out};
    return level1(&args, comm, coll_out, __func__);
}

EXPORT(Alltoallv_control2)
int PMPIX_Alltoallv_control2(const int matrix[], const int sdispls[], MPI_Datatype sendtype,
                             const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPIX_Coll *coll_out)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct nof_phased *phased = NULL;
    const struct nof_phased_args args = {
        .displs_to = sdispls, .type_to = sendtype, .displs_from = rdispls, .type_from = recvtype};
    int rc = nof_compiled_begin(comm, coll_out, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_phased_from_matrix(c, matrix, &args, &phased);
    if (rc == MPI_SUCCESS)
        rc = publish(phased, coll_out);
    return nof_lib_leave(c, rc, __func__);
}

EXPORT(Alltoallv_load)
int PMPIX_Alltoallv_load(const struct MPIX_Phases *phases, const int sendcounts[], const int sdispls[],
                         MPI_Datatype sendtype, const int recvcounts[], const int rdispls[],
                         MPI_Datatype recvtype, MPI_Comm comm, MPIX_Coll *coll_out)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct nof_phased *phased = NULL;
    const struct nof_phased_args args = {.counts_to = sendcounts,
                                         .displs_to = sdispls,
                                         .type_to = sendtype,
                                         .counts_from = recvcounts,
                                         .displs_from = rdispls,
                                         .type_from = recvtype};
    int rc = nof_compiled_begin(comm, coll_out, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_phased_load(c, phases, &args, &phased);
    if (rc == MPI_SUCCESS)
        rc = publish(phased, coll_out);
    return nof_lib_leave(c, rc, __func__);
}

/* The communicator is held: another thread may free the handle meanwhile. */
static int transmit(const void *sendbuf, void *recvbuf, MPIX_Coll coll, bool phases,
                    struct nof_comm **comm_out)
{
    struct nof_phased *phased;
    int rc = check(coll, &phased);
    if (rc != MPI_SUCCESS)
        return rc;
    *comm_out = phased->comm;
    nof_comm_hold(*comm_out);
    struct nof_sched *s = nof_sched_new(*comm_out);
    if (s != NULL)
        rc = nof_phased_build(phased, s, sendbuf, recvbuf, phases);
    if (rc != MPI_SUCCESS) {
        nof_sched_free(s);
        return rc;
    }
    int end = nof_phased_end(phased); /* which may be freed while the schedule runs */
    rc = nof_sched_run(s);
    return rc == MPI_SUCCESS ? end : rc;
}

static int data_trans(const void *sendbuf, void *recvbuf, MPIX_Coll coll, bool phases, const char *function)
{
    nof_lib_enter(function);
    struct nof_comm *c = NULL;
    int rc = transmit(sendbuf, recvbuf, coll, phases, &c);
    return nof_lib_leave_held(c, rc, function);
}

EXPORT(Alltoallv_data_trans1)
int PMPIX_Alltoallv_data_trans1(const void *sendbuf, void *recvbuf, MPIX_Coll coll)
{
    return data_trans(sendbuf, recvbuf, coll, false, __func__);
}

EXPORT(Alltoallv_data_trans2)
int PMPIX_Alltoallv_data_trans2(const void *sendbuf, void *recvbuf, MPIX_Coll coll)
{
    return data_trans(sendbuf, recvbuf, coll, true, __func__);
}

EXPORT(Coll_free)
int PMPIX_Coll_free(MPIX_Coll *coll)
{
    nof_lib_enter(__func__);
    struct nof_phased *phased = NULL;
    int rc = nof_error_if_null(coll, "the place of the handle");
    if (rc == MPI_SUCCESS)
        rc = check(*coll, &phased);
    if (rc == MPI_SUCCESS) {
        nof_handle_remove(&nof_lib.colls, nof_lib_bits(*coll));
        nof_phased_free(phased);
        *coll = MPIX_COLL_NULL;
    }
    return nof_lib_leave(NULL, rc, __func__);
}

EXPORT(Coll_c2f)
MPI_Fint PMPIX_Coll_c2f(MPIX_Coll coll)
{
    return nof_handle_to_int(nof_lib_bits(coll));
}

EXPORT(Coll_f2c)
MPIX_Coll PMPIX_Coll_f2c(MPI_Fint coll)
{
    nof_lib_lock();
    MPIX_Coll handle = nof_lib_handle(nof_handle_from_int(&nof_lib.colls, coll));
    nof_lib_unlock();
    return handle;
}

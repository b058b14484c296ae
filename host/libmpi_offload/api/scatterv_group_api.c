/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/compiled_api.h"
#include "coll/group/scatter_group.h"
#include "comm/entry.h"

static int check(MPIX_Coll coll, struct nof_scatter_group **group_out)
{
    void *object;
    int rc = nof_compiled_check(coll, NOF_COMPILED_SCATTERV, &object);
    if (rc == MPI_SUCCESS)
        *group_out = object;
    return rc;
}

EXPORT(Scatterv_open_group)
int PMPIX_Scatterv_open_group(const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                              int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                              MPIX_Coll *coll_out)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct nof_scatter_group *group;
    const struct nof_scatter_args args = {sendcounts, displs, sendtype, recvcount, recvtype, root};
    int rc = nof_compiled_begin(comm, coll_out, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_scatter_group_open(c, &args, true, &group);
    if (rc == MPI_SUCCESS) {
        uint64_t handle = nof_handle_add(&nof_lib.colls, group);
        if (handle == 0) {
            nof_scatter_group_release(group);
            rc = nof_error(MPI_ERR_NO_MEM, "no memory for a handle");
        } else {
            group->handle = *coll_out = nof_lib_handle(handle);
        }
    }
    return nof_lib_leave(c, rc, __func__);
}

static int move(struct nof_scatter_group *group, const void *sendbuf, void *recvbuf)
{
    struct nof_sched *s = nof_sched_new(group->comm);
    int rc = s == NULL ? MPI_SUCCESS : nof_scatter_group_move(group, s, sendbuf, recvbuf);
    if (rc != MPI_SUCCESS && !group->compiled) {
        s->build_error = rc; /* the others have begun, and are told */
        return nof_sched_run(s);
    }
    if (rc != MPI_SUCCESS) {
        nof_sched_free(s);
        return rc;
    }
    if (s != NULL && s->agreed == 0) { /* nothing for this rank */
        nof_sched_free(s);
        return MPI_SUCCESS;
    }
    return nof_sched_run(s);
}

EXPORT(Scatterv_data_movement)
int PMPIX_Scatterv_data_movement(const void *sendbuf, void *recvbuf, MPIX_Coll coll)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct nof_scatter_group *group;
    int rc = check(coll, &group);
    if (rc == MPI_SUCCESS) {
        c = group->comm;
        nof_comm_hold(c); /* another thread may close the group meanwhile */
        nof_scatter_group_hold(group);
        rc = move(group, sendbuf, recvbuf);
        nof_scatter_group_release(group);
    }
    return nof_lib_leave_held(c, rc, __func__);
}

EXPORT(Scatterv_close_group)
int PMPIX_Scatterv_close_group(MPIX_Coll *coll)
{
    nof_lib_enter(__func__);
    struct nof_scatter_group *group = NULL;
    int rc = nof_error_if_null(coll, "the place of the handle");
    if (rc == MPI_SUCCESS)
        rc = check(*coll, &group);
    if (rc == MPI_SUCCESS) {
        nof_handle_remove(&nof_lib.colls, nof_lib_bits(*coll));
        nof_scatter_group_release(group);
        *coll = MPIX_COLL_NULL;
    }
    return nof_lib_leave(NULL, rc, __func__);
}

EXPORT(Scatterv_dynamic)
int PMPIX_Scatterv_dynamic(const void *sendbuf, const int sendcounts[], const int displs[],
                           MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                           int root, MPI_Comm comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct nof_scatter_group *group;
    const struct nof_scatter_args args = {
        sendcounts, displs, sendtype, recvcount, recvbuf == MPI_IN_PLACE ? MPI_DATATYPE_NULL : recvtype,
        root};
    int rc = nof_comm_check_intra(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_scatter_group_open(c, &args, false, &group);
    if (rc == MPI_SUCCESS) {
        rc = move(group, sendbuf, recvbuf);
        nof_scatter_group_release(group);
    }
    return nof_lib_leave(c, rc, __func__);
}

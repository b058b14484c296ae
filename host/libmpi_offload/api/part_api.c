/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/comm.h"
#include "comm/entry.h"
#include "base/error.h"
#include "base/info.h"
#include "p2p/part.h"
#include "base/wait.h"

static int init(const struct nof_part_args *args, bool send, MPI_Info info, MPI_Request *request,
                const char *func)
{
    nof_lib_enter(func);
    struct nof_comm *c = NULL;
    struct nof_request *req = NULL;
    struct nof_info *hints;
    int rc = nof_info_check_optional(info, &hints);
    if (rc == MPI_SUCCESS)
        rc = nof_part_new(args, send, &c, &req);
    if (rc == MPI_SUCCESS) {
        rc = nof_request_publish(req, request);
        if (rc != MPI_SUCCESS)
            nof_request_free(req);
    }
    return nof_lib_leave(c, rc, func);
}

NOF_MPI(Psend_init)
int PMPI_Psend_init(const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                    int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct nof_part_args args = {buf, partitions, count, datatype, dest, tag, comm, NOF_CALLSITE};
    return init(&args, true, info, request, __func__);
}

NOF_MPI(Precv_init)
int PMPI_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct nof_part_args args = {buf, partitions, count, datatype, dest, tag, comm, NOF_CALLSITE};
    return init(&args, false, info, request, __func__);
}

NOF_MPI(Psend_init_c)
int PMPI_Psend_init_c(const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                      int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct nof_part_args args = {buf, partitions, count, datatype, dest, tag, comm, NOF_CALLSITE};
    return init(&args, true, info, request, __func__);
}

NOF_MPI(Precv_init_c)
int PMPI_Precv_init_c(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct nof_part_args args = {buf, partitions, count, datatype, dest, tag, comm, NOF_CALLSITE};
    return init(&args, false, info, request, __func__);
}

static int check(MPI_Request handle, enum nof_request_kind kind, struct nof_request **req_out)
{
    int rc = nof_request_check(handle, req_out);
    if (rc == MPI_SUCCESS && (*req_out == NULL || (*req_out)->kind != kind))
        rc = nof_error(MPI_ERR_REQUEST, "the request is not of a partitioned %s",
                       kind == NOF_REQUEST_PSEND ? "send" : "receive");
    return rc;
}

/* The communicator is held: the last partition may end the request, and another thread free it. */
static int begin_ready(MPI_Request handle, struct nof_request **req_out, struct nof_comm **c)
{
    int rc = check(handle, NOF_REQUEST_PSEND, req_out);
    if (rc == MPI_SUCCESS && !(*req_out)->active)
        rc = nof_error(MPI_ERR_REQUEST, "the partitioned send is not started");
    if (rc == MPI_SUCCESS) {
        *c = (*req_out)->comm;
        nof_comm_hold(*c);
    }
    return rc;
}

NOF_MPI(Pready)
int PMPI_Pready(int partition, MPI_Request request)
{
    if (nof_lib.phase == NOF_LIB_RUNNING && nof_part_ready_at_once(request, partition))
        return MPI_SUCCESS;
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct nof_request *req;
    int rc = begin_ready(request, &req, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_part_ready(req, partition);
    return nof_lib_leave_held(c, rc, __func__);
}

NOF_MPI(Pready_range)
int PMPI_Pready_range(int partition_low, int partition_high, MPI_Request request)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct nof_request *req;
    int rc = begin_ready(request, &req, &c);
    if (rc == MPI_SUCCESS && partition_low > partition_high)
        rc = nof_error(MPI_ERR_ARG, "the range goes from %d to %d", partition_low, partition_high);
    for (MPI_Count i = partition_low; rc == MPI_SUCCESS && i <= partition_high; i++)
        rc = nof_part_ready(req, (int)i);
    return nof_lib_leave_held(c, rc, __func__);
}

NOF_MPI(Pready_list)
int PMPI_Pready_list(int length, const int array_of_partitions[], MPI_Request request)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    struct nof_request *req;
    int rc = begin_ready(request, &req, &c);
    if (rc == MPI_SUCCESS && (length < 0 || (length > 0 && array_of_partitions == NULL)))
        rc = nof_error(MPI_ERR_ARG, "a list of %d partitions", length);
    for (int i = 0; rc == MPI_SUCCESS && i < length; i++)
        rc = nof_part_ready(req, array_of_partitions[i]);
    return nof_lib_leave_held(c, rc, __func__);
}

NOF_MPI(Parrived)
int PMPI_Parrived(MPI_Request request, int partition, int *flag)
{
    nof_lib_enter(__func__);
    struct nof_request *req;
    int rc = nof_request_check(request, &req);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(flag, "the place for the flag");
    if (rc == MPI_SUCCESS && req == NULL)
        *flag = 1;
    else if (rc == MPI_SUCCESS)
        rc = check(request, NOF_REQUEST_PRECV, &req);
    if (rc == MPI_SUCCESS && req != NULL)
        rc = nof_part_check(req, partition);
    if (rc == MPI_SUCCESS && req != NULL) {
        *flag = nof_part_arrived(req, partition);
        if (!*flag) {
            nof_wait_poll();
            *flag = nof_part_arrived(req, partition);
        }
    }
    return nof_lib_leave(NULL, rc, __func__);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Entry points of the one-sided operations that give a request. */
#include "rma.h"

static int run(MPI_Win win, const struct nof_rma_operation *operation, MPI_Request *request, const char *func)
{
    nof_lib_enter(func);
    struct nof_win *w;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS)
        rc = nof_rma_issue(w, operation, request);
    return nof_win_leave(w, rc, func);
}

NOF_MPI(Rput)
int PMPI_Rput(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
              MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
              MPI_Request *request)
{
    struct nof_rma_operation operation = {
        .kind = NOF_RMA_PUT,
        .origin = {origin_addr, origin_count, origin_datatype},
        .target = target_rank,
        .disp = target_disp,
        .target_count = target_count,
        .target_datatype = target_datatype,
    };
    return run(win, &operation, request, __func__);
}

NOF_MPI(Rput_c)
int PMPI_Rput_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype,
                MPI_Win win, MPI_Request *request)
{
    struct nof_rma_operation operation = {
        .kind = NOF_RMA_PUT,
        .origin = {origin_addr, origin_count, origin_datatype},
        .target = target_rank,
        .disp = target_disp,
        .target_count = target_count,
        .target_datatype = target_datatype,
    };
    return run(win, &operation, request, __func__);
}

NOF_MPI(Rget)
int PMPI_Rget(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
              MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
              MPI_Request *request)
{
    struct nof_rma_operation operation = {
        .kind = NOF_RMA_GET,
        .origin = {origin_addr, origin_count, origin_datatype},
        .target = target_rank,
        .disp = target_disp,
        .target_count = target_count,
        .target_datatype = target_datatype,
    };
    return run(win, &operation, request, __func__);
}

NOF_MPI(Rget_c)
int PMPI_Rget_c(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
                MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,
                MPI_Request *request)
{
    struct nof_rma_operation operation = {
        .kind = NOF_RMA_GET,
        .origin = {origin_addr, origin_count, origin_datatype},
        .target = target_rank,
        .disp = target_disp,
        .target_count = target_count,
        .target_datatype = target_datatype,
    };
    return run(win, &operation, request, __func__);
}

NOF_MPI(Raccumulate)
int PMPI_Raccumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op,
                     MPI_Win win, MPI_Request *request)
{
    struct nof_rma_operation operation = {
        .kind = NOF_RMA_ACC,
        .origin = {origin_addr, origin_count, origin_datatype},
        .target = target_rank,
        .disp = target_disp,
        .target_count = target_count,
        .target_datatype = target_datatype,
        .op = op,
    };
    return run(win, &operation, request, __func__);
}

NOF_MPI(Raccumulate_c)
int PMPI_Raccumulate_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                       int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                       MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request)
{
    struct nof_rma_operation operation = {
        .kind = NOF_RMA_ACC,
        .origin = {origin_addr, origin_count, origin_datatype},
        .target = target_rank,
        .disp = target_disp,
        .target_count = target_count,
        .target_datatype = target_datatype,
        .op = op,
    };
    return run(win, &operation, request, __func__);
}

NOF_MPI(Rget_accumulate)
int PMPI_Rget_accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                         void *result_addr, int result_count, MPI_Datatype result_datatype, int target_rank,
                         MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op,
                         MPI_Win win, MPI_Request *request)
{
    struct nof_rma_operation operation = {
        .kind = NOF_RMA_GET_ACC,
        .origin = {origin_addr, origin_count, origin_datatype},
        .result = {result_addr, result_count, result_datatype},
        .target = target_rank,
        .disp = target_disp,
        .target_count = target_count,
        .target_datatype = target_datatype,
        .op = op,
    };
    return run(win, &operation, request, __func__);
}

NOF_MPI(Rget_accumulate_c)
int PMPI_Rget_accumulate_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                           void *result_addr, MPI_Count result_count, MPI_Datatype result_datatype,
                           int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                           MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request)
{
    struct nof_rma_operation operation = {
        .kind = NOF_RMA_GET_ACC,
        .origin = {origin_addr, origin_count, origin_datatype},
        .result = {result_addr, result_count, result_datatype},
        .target = target_rank,
        .disp = target_disp,
        .target_count = target_count,
        .target_datatype = target_datatype,
        .op = op,
    };
    return run(win, &operation, request, __func__);
}

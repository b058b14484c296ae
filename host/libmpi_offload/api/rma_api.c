/* SPDX-License-Identifier: BSD-3-Clause */
/* Entry points of the one-sided operations, with a request and without. */
#include "comm/entry.h"
#include "rma/rma.h"

/* An operation on a window, made of the arguments that every one has, by the names that the standard gives them, and
 * of what is its own. request: NULL, or where the handle goes. */
#define RUN(request, ...) \
    run(win, \
        &(struct nof_rma_operation){.origin = {origin_addr, origin_count, origin_datatype}, \
                                    .target = target_rank, \
                                    .disp = target_disp, \
                                    .target_count = target_count, \
                                    .target_datatype = target_datatype, \
                                    __VA_ARGS__}, \
        request, __func__)
#define RESULT .result = {result_addr, result_count, result_datatype}

static int run(MPI_Win win, const struct nof_rma_operation *operation, MPI_Request *request, const char *func)
{
    nof_lib_enter(func);
    struct nof_win *w;
    int rc = nof_win_check(win, &w);
    if (rc == MPI_SUCCESS)
        rc = nof_rma_issue(w, operation, request);
    return nof_win_leave(w, rc, func);
}

NOF_MPI(Put)
int PMPI_Put(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
             MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win)
{
    return RUN(NULL, .kind = NOF_RMA_PUT);
}

NOF_MPI(Put_c)
int PMPI_Put_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
               MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win)
{
    return RUN(NULL, .kind = NOF_RMA_PUT);
}

NOF_MPI(Rput)
int PMPI_Rput(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
              MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
              MPI_Request *request)
{
    return RUN(request, .kind = NOF_RMA_PUT);
}

NOF_MPI(Rput_c)
int PMPI_Rput_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype,
                MPI_Win win, MPI_Request *request)
{
    return RUN(request, .kind = NOF_RMA_PUT);
}

NOF_MPI(Get)
int PMPI_Get(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
             MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win)
{
    return RUN(NULL, .kind = NOF_RMA_GET);
}

NOF_MPI(Get_c)
int PMPI_Get_c(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
               MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win)
{
    return RUN(NULL, .kind = NOF_RMA_GET);
}

NOF_MPI(Rget)
int PMPI_Rget(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
              MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
              MPI_Request *request)
{
    return RUN(request, .kind = NOF_RMA_GET);
}

NOF_MPI(Rget_c)
int PMPI_Rget_c(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
                MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,
                MPI_Request *request)
{
    return RUN(request, .kind = NOF_RMA_GET);
}

NOF_MPI(Accumulate)
int PMPI_Accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op,
                    MPI_Win win)
{
    return RUN(NULL, .kind = NOF_RMA_ACC, .op = op);
}

NOF_MPI(Accumulate_c)
int PMPI_Accumulate_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                      int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                      MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
    return RUN(NULL, .kind = NOF_RMA_ACC, .op = op);
}

NOF_MPI(Raccumulate)
int PMPI_Raccumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                     MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op,
                     MPI_Win win, MPI_Request *request)
{
    return RUN(request, .kind = NOF_RMA_ACC, .op = op);
}

NOF_MPI(Raccumulate_c)
int PMPI_Raccumulate_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                       int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                       MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request)
{
    return RUN(request, .kind = NOF_RMA_ACC, .op = op);
}

NOF_MPI(Get_accumulate)
int PMPI_Get_accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                        void *result_addr, int result_count, MPI_Datatype result_datatype, int target_rank,
                        MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op,
                        MPI_Win win)
{
    return RUN(NULL, .kind = NOF_RMA_GET_ACC, .op = op, RESULT);
}

NOF_MPI(Get_accumulate_c)
int PMPI_Get_accumulate_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                          void *result_addr, MPI_Count result_count, MPI_Datatype result_datatype,
                          int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                          MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
    return RUN(NULL, .kind = NOF_RMA_GET_ACC, .op = op, RESULT);
}

NOF_MPI(Rget_accumulate)
int PMPI_Rget_accumulate(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                         void *result_addr, int result_count, MPI_Datatype result_datatype, int target_rank,
                         MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op,
                         MPI_Win win, MPI_Request *request)
{
    return RUN(request, .kind = NOF_RMA_GET_ACC, .op = op, RESULT);
}

NOF_MPI(Rget_accumulate_c)
int PMPI_Rget_accumulate_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                           void *result_addr, MPI_Count result_count, MPI_Datatype result_datatype,
                           int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                           MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request)
{
    return RUN(request, .kind = NOF_RMA_GET_ACC, .op = op, RESULT);
}

/* One element of a predefined datatype. */
NOF_MPI(Fetch_and_op)
int PMPI_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
                      MPI_Aint target_disp, MPI_Op op, MPI_Win win)
{
    struct nof_rma_operation operation = {
        .kind = NOF_RMA_GET_ACC,
        .origin = {origin_addr, 1, datatype},
        .result = {result_addr, 1, datatype},
        .target = target_rank,
        .disp = target_disp,
        .target_count = 1,
        .target_datatype = datatype,
        .op = op,
        .predefined = true,
    };
    return run(win, &operation, NULL, __func__);
}

NOF_MPI(Compare_and_swap)
int PMPI_Compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr,
                          MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win)
{
    struct nof_rma_operation operation = {
        .kind = NOF_RMA_CAS,
        .origin = {origin_addr, 1, datatype},
        .result = {result_addr, 1, datatype},
        .compare = compare_addr,
        .target = target_rank,
        .disp = target_disp,
        .target_count = 1,
        .target_datatype = datatype,
        .predefined = true,
    };
    return run(win, &operation, NULL, __func__);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* An empty status is empty in all its parts: its error is MPI_SUCCESS, whatever stood there (MPI 4.1, 3.7.3). A status
 * that is not empty keeps its error in calls for one request. */
#include "mpitest.h"

static MPI_Status stale(void)
{
    MPI_Status status;
    memset(&status, 0x5a, sizeof(status));
    return status;
}

static void check_empty(const MPI_Status *status)
{
    int count = -1, cancelled = -1;
    OK(MPI_Get_count(status, MPI_INT, &count));
    OK(MPI_Test_cancelled(status, &cancelled));
    CHECK(status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG);
    CHECK(count == 0 && cancelled == 0);
    CHECK(status->MPI_ERROR == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    MPI_Request req[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status = stale(), two[2] = {stale(), stale()};
    int flag, index, value = 0;
    OK(MPI_Wait(&req[0], &status));
    check_empty(&status);
    status = stale();
    OK(MPI_Test(&req[0], &flag, &status));
    CHECK(flag);
    check_empty(&status);
    status = stale();
    OK(MPI_Request_get_status(req[0], &flag, &status));
    CHECK(flag);
    check_empty(&status);
    status = stale();
    OK(MPI_Waitany(2, req, &index, &status));
    CHECK(index == MPI_UNDEFINED);
    check_empty(&status);
    OK(MPI_Waitall(2, req, two));
    check_empty(&two[0]);
    check_empty(&two[1]);

    /* Persistent and not started; then one that carries something. */
    OK(MPI_Recv_init(&value, 1, MPI_INT, t_rank, 1, MPI_COMM_WORLD, &req[0]));
    status = stale();
    OK(MPI_Wait(&req[0], &status));
    check_empty(&status);
    OK(MPI_Start(&req[0]));
    OK(MPI_Send(&t_rank, 1, MPI_INT, t_rank, 1, MPI_COMM_WORLD));
    status = stale();
    OK(MPI_Wait(&req[0], &status));
    CHECK(status.MPI_SOURCE == t_rank && status.MPI_ERROR == stale().MPI_ERROR && value == t_rank);
    OK(MPI_Request_free(&req[0]));
    return t_end();
}

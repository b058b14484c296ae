/* SPDX-License-Identifier: BSD-3-Clause */
/* The wait and test families: any, some, all; null and inactive requests; statuses with errors;
 * request_free and request_get_status. */
#include "mpitest.h"

enum { N = 16 };

static void any_and_some(void)
{
    int in[N], out[N];
    MPI_Request reqs[N + 1];
    MPI_Status status, statuses[N + 1];
    int index, flag, count, indices[N + 1], seen = 0;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < N; i++)
            OK(MPI_Irecv(&in[i], 1, MPI_INT, t_rank, i, MPI_COMM_WORLD, &reqs[i]));
        reqs[N] = MPI_REQUEST_NULL;
        OK(MPI_Testany(N + 1, reqs, &index, &flag, &status));
        CHECK(flag == 0 && index == MPI_UNDEFINED);
        OK(MPI_Testsome(N + 1, reqs, &count, indices, statuses));
        CHECK(count == 0);
        OK(MPI_Testall(N + 1, reqs, &flag, statuses));
        CHECK(flag == 0);
        for (int i = N - 1; i >= 0; i--) {
            out[i] = 100 * round + i;
            OK(MPI_Send(&out[i], 1, MPI_INT, t_rank, i, MPI_COMM_WORLD));
        }
        for (seen = 0; seen < N;) {
            switch (round) {
            case 0:
                OK(MPI_Waitany(N + 1, reqs, &index, &status));
                CHECK(reqs[index] == MPI_REQUEST_NULL && status.MPI_TAG == index);
                seen++;
                break;
            case 1:
                OK(MPI_Testany(N + 1, reqs, &index, &flag, &status));
                CHECK(!flag || status.MPI_TAG == index);
                seen += flag;
                break;
            case 2:
                OK(MPI_Waitsome(N + 1, reqs, &count, indices, statuses));
                CHECK(count > 0);
                for (int i = 0; i < count; i++)
                    CHECK(statuses[i].MPI_TAG == indices[i]);
                seen += count;
                break;
            default:
                OK(MPI_Testsome(N + 1, reqs, &count, indices, statuses));
                seen += count;
            }
        }
        for (int i = 0; i < N; i++)
            CHECK(in[i] == out[i] && reqs[i] == MPI_REQUEST_NULL);
        OK(MPI_Waitany(N + 1, reqs, &index, &status));
        CHECK(index == MPI_UNDEFINED && status.MPI_SOURCE == MPI_ANY_SOURCE);
        OK(MPI_Waitsome(N + 1, reqs, &count, indices, statuses));
        CHECK(count == MPI_UNDEFINED);
        OK(MPI_Testany(N + 1, reqs, &index, &flag, &status));
        CHECK(flag == 1 && index == MPI_UNDEFINED);
        OK(MPI_Testall(N + 1, reqs, &flag, statuses));
        CHECK(flag == 1);
    }
}

static void errors_in_statuses(void)
{
    int small = 0, big[4] = {1, 2, 3, 4}, fine = 0;
    MPI_Request reqs[2];
    MPI_Status statuses[2];
    OK(MPI_Irecv(&small, 1, MPI_INT, t_rank, 1, MPI_COMM_WORLD, &reqs[0]));
    OK(MPI_Irecv(&fine, 1, MPI_INT, t_rank, 2, MPI_COMM_WORLD, &reqs[1]));
    OK(MPI_Send(big, 4, MPI_INT, t_rank, 1, MPI_COMM_WORLD));
    OK(MPI_Send(big, 1, MPI_INT, t_rank, 2, MPI_COMM_WORLD));
    CHECK(MPI_Waitall(2, reqs, statuses) == MPI_ERR_IN_STATUS); /* the code, not only its class */
    CHECK(t_class(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
    if (t_class(statuses[1].MPI_ERROR) == MPI_ERR_PENDING) /* the standard allows this, too */
        OK(MPI_Wait(&reqs[1], MPI_STATUS_IGNORE));
    else
        CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS);
    CHECK(fine == 1);
}

static void free_and_status(void)
{
    int value = 0, flag = 1, sent = 8;
    MPI_Request req, copy;
    MPI_Status status;
    OK(MPI_Irecv(&value, 1, MPI_INT, t_rank, 3, MPI_COMM_WORLD, &req));
    OK(MPI_Request_get_status(req, &flag, &status));
    CHECK(flag == 0);
    OK(MPI_Isend(&sent, 1, MPI_INT, t_rank, 3, MPI_COMM_WORLD, &copy));
    OK(MPI_Request_free(&copy));
    CHECK(copy == MPI_REQUEST_NULL);
    while (!flag)
        OK(MPI_Request_get_status(req, &flag, &status));
    CHECK(req != MPI_REQUEST_NULL && value == 8 && status.MPI_TAG == 3);
    OK(MPI_Wait(&req, &status));
    CHECK(req == MPI_REQUEST_NULL);

    /* A receive that was freed still receives. */
    value = 0;
    OK(MPI_Irecv(&value, 1, MPI_INT, t_rank, 4, MPI_COMM_WORLD, &req));
    OK(MPI_Request_free(&req));
    OK(MPI_Ssend(&sent, 1, MPI_INT, t_rank, 4, MPI_COMM_WORLD));
    MPI_Barrier(MPI_COMM_WORLD);
    while (*(volatile int *)&value != 8)
        OK(MPI_Iprobe(MPI_ANY_SOURCE, 55, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    t_errors_return();
    any_and_some();
    errors_in_statuses();
    free_and_status();
    return t_end();
}

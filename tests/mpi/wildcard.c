/* SPDX-License-Identifier: BSD-3-Clause */
/* Any-source and any-tag receives get every message once, with the right source, tag and count, and
 * a receive posted earlier wins over one posted later, wildcard or not. */
#include "mpitest.h"

enum { EACH = 200 };

static void from_everybody(void)
{
    if (t_rank != 0) {
        for (int i = 0; i < EACH; i++) {
            int data[2] = {t_rank, i};
            OK(MPI_Send(data, 2, MPI_INT, 0, 10 + i % 5, MPI_COMM_WORLD));
        }
        return;
    }
    int *seen = calloc((size_t)t_size, sizeof(*seen));
    for (int n = 0; n < EACH * (t_size - 1); n++) {
        int data[3] = {-1, -1, -1}, count;
        MPI_Status status;
        OK(MPI_Recv(data, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(count == 2 && status.MPI_SOURCE == data[0]);
        CHECK(data[1] == seen[data[0]]++); /* in order per source */
        CHECK(status.MPI_TAG == 10 + data[1] % 5);
    }
    free(seen);
}

static void earliest_wins(void)
{
    if (t_rank == 0) {
        int value[4] = {-1, -1, -1, -1};
        MPI_Request reqs[4];
        MPI_Status st[4];
        OK(MPI_Irecv(&value[0], 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &reqs[0]));
        OK(MPI_Irecv(&value[1], 1, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &reqs[1]));
        OK(MPI_Irecv(&value[2], 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &reqs[2]));
        OK(MPI_Irecv(&value[3], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &reqs[3]));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Waitall(4, reqs, st));
        CHECK(value[0] == 2 && value[1] == 1 && value[2] == 3 && value[3] == 4);
        CHECK(st[0].MPI_TAG == 7 && st[1].MPI_TAG == 6 && st[3].MPI_TAG == 5);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        if (t_rank == 1) {
            static const int tags[4] = {6, 7, 7, 5};
            for (int i = 0; i < 4; i++) {
                int value = i + 1;
                OK(MPI_Send(&value, 1, MPI_INT, 0, tags[i], MPI_COMM_WORLD));
            }
        }
    }
}

static void to_myself(void)
{
    int in = t_rank * 3, out = -1;
    MPI_Request req;
    MPI_Status status;
    OK(MPI_Irecv(&out, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &req));
    OK(MPI_Send(&in, 1, MPI_INT, t_rank, 99, MPI_COMM_WORLD));
    OK(MPI_Wait(&req, &status));
    CHECK(out == in && status.MPI_SOURCE == t_rank);
    OK(MPI_Sendrecv(&in, 1, MPI_INT, 0, 98, &out, 1, MPI_INT, 0, 98, MPI_COMM_SELF, &status));
    CHECK(out == in && status.MPI_SOURCE == 0);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    from_everybody();
    MPI_Barrier(MPI_COMM_WORLD);
    earliest_wins();
    MPI_Barrier(MPI_COMM_WORLD);
    to_myself();
    return t_end();
}

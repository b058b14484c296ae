/* SPDX-License-Identifier: BSD-3-Clause */
/* Partitioned communication: any order of readiness, partition counts that differ on the two sides, datatypes
 * with holes, several rounds, setups that cross in another order than they are received, early arrival. */
#include "mpitest.h"

enum { ROUNDS = 3, TOTAL = 1200 };

/* The same once more. */
static void again(MPI_Request send, int parts)
{
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Start(&send));
    OK(MPI_Pready_range(0, parts - 1, send));
}

/* `parts` partitions of TOTAL ints against `other_parts`; step > 1: each int is followed by holes. */
static void round_trip(int parts, int other_parts, int step, int other_step)
{
    static int in[TOTAL * 3], out[TOTAL * 3];
    MPI_Datatype spaced[2];
    MPI_Request req[2];
    int other = t_rank ^ 1, mine[2] = {parts, other_parts}, steps[2] = {step, other_step};
    for (int k = 0; k < 2; k++) {
        OK(MPI_Type_create_resized(MPI_INT, 0, 4 * steps[k], &spaced[k]));
        OK(MPI_Type_commit(&spaced[k]));
    }
    OK(MPI_Psend_init(in, mine[0], TOTAL / mine[0], spaced[0], other, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &req[0]));
    OK(MPI_Precv_init(out, mine[1], TOTAL / mine[1], spaced[1], other, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &req[1]));
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Status status[2];
        int count;
        memset(out, 0xff, sizeof(out));
        memset(status, 0xff, sizeof(status));
        OK(MPI_Startall(2, req));
        for (int k = 0; k < parts; k++) {
            int part = (k * 7 + round) % parts; /* 7 divides none of the counts */
            for (int i = part * (TOTAL / parts); i < (part + 1) * (TOTAL / parts); i++)
                in[i * step] = t_rank * 100000 + round * 10000 + i;
            OK(MPI_Pready(part, req[0]));
        }
        for (int part = 0; part < mine[1]; part++) {
            for (int flag = 0; !flag;)
                OK(MPI_Parrived(req[1], part, &flag));
            for (int i = part * (TOTAL / mine[1]); i < (part + 1) * (TOTAL / mine[1]); i++)
                CHECK(out[i * other_step] == other * 100000 + round * 10000 + i);
        }
        int done;
        OK(MPI_Test(&req[1], &done, &status[1])); /* all of it has been seen */
        CHECK(done && status[1].MPI_SOURCE == other && status[1].MPI_TAG == 5);
        OK(MPI_Get_count(&status[1], MPI_INT, &count));
        CHECK(count == TOTAL);
        OK(MPI_Start(&req[1]));
        again(req[0], parts);
        OK(MPI_Waitall(2, req, status));
        CHECK(status[0].MPI_ERROR == MPI_SUCCESS && status[1].MPI_ERROR == MPI_SUCCESS);
        CHECK(status[1].MPI_SOURCE == other && status[1].MPI_TAG == 5);
        OK(MPI_Get_count(&status[1], MPI_INT, &count));
        CHECK(count == TOTAL && (other_step == 1 || out[1] == -1));
    }
    for (int k = 0; k < 2; k++) {
        OK(MPI_Request_free(&req[k]));
        OK(MPI_Type_free(&spaced[k]));
    }
}

/* The sender's partitions end inside the receiver's elements. */
static void split_elements(void)
{
    int a[32];
    MPI_Datatype pair;
    MPI_Request req;
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    for (int i = 0; i < 32; i++)
        a[i] = t_rank == 0 ? i : -1;
    if (t_rank == 0) {
        OK(MPI_Psend_init(a, 4, 3, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &req));
        OK(MPI_Start(&req));
        for (int i = 3; i >= 0; i--)
            OK(MPI_Pready(i, req));
    } else {
        OK(MPI_Precv_init(a, 3, 2, pair, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &req));
        OK(MPI_Start(&req));
    }
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    for (int i = 0; i < 12; i++) /* elements of 3 ints, the one in the middle is a hole */
        CHECK(t_rank == 0 || a[i / 2 * 3 + i % 2 * 2] == i);
    CHECK(t_rank == 0 || (a[1] == -1 && a[4] == -1 && a[18] == -1));
    OK(MPI_Request_free(&req));
    OK(MPI_Type_free(&pair));
}

/* A partition is seen before the others are ready. */
static void early(void)
{
    int a[8] = {0}, flag = 0;
    MPI_Request req;
    if (t_rank == 0) {
        int ranges[2] = {0, 3};
        OK(MPI_Psend_init(a, 8, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &req));
        OK(MPI_Start(&req));
        a[6] = 66;
        OK(MPI_Pready(6, req));
        FAILS(MPI_Pready(6, req), MPI_ERR_ARG);
        FAILS(MPI_Pready(8, req), MPI_ERR_ARG);
        OK(MPI_Recv(&flag, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Pready_list(2, ranges, req));
        OK(MPI_Pready_range(1, 2, req));
        OK(MPI_Pready_range(4, 5, req));
        OK(MPI_Pready(7, req));
    } else {
        OK(MPI_Precv_init(a, 8, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &req));
        OK(MPI_Parrived(req, 0, &flag));
        CHECK(flag); /* not started */
        FAILS(MPI_Parrived(req, -1, &flag), MPI_ERR_ARG);
        FAILS(MPI_Parrived(req, 8, &flag), MPI_ERR_ARG);
        OK(MPI_Start(&req));
        for (flag = 0; !flag;)
            OK(MPI_Parrived(req, 6, &flag));
        CHECK(a[6] == 66);
        OK(MPI_Parrived(req, 0, &flag));
        CHECK(!flag);
        OK(MPI_Send(&flag, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
        FAILS(MPI_Pready(0, req), MPI_ERR_REQUEST);
    }
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&req));
}

/* Tags keep pairs apart; equal ones pair in order; the last may be received before the first is asked for. */
static void pairs(void)
{
    enum { N = 4 };
    static const int tags[N] = {3, 4, 3, 5}, order[N] = {3, 1, 0, 2}; /* 0 before 2: equal tags */
    int data[N] = {0};
    MPI_Request req[N];
    for (int k = 0; k < N; k++) {
        int i = t_rank == 0 ? k : order[k];
        if (t_rank == 0) {
            data[i] = 100 + i;
            OK(MPI_Psend_init(&data[i], 1, 1, MPI_INT, 1, tags[i], MPI_COMM_WORLD, MPI_INFO_NULL, &req[i]));
            OK(MPI_Start(&req[i]));
            OK(MPI_Pready(0, req[i]));
        } else {
            OK(MPI_Precv_init(&data[i], 1, 1, MPI_INT, 0, tags[i], MPI_COMM_WORLD, MPI_INFO_NULL, &req[i]));
            OK(MPI_Start(&req[i]));
            OK(MPI_Wait(&req[i], MPI_STATUS_IGNORE));
            CHECK(data[i] == 100 + i);
        }
    }
    if (t_rank == 0)
        OK(MPI_Waitall(N, req, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; i++)
        OK(MPI_Request_free(&req[i]));
}

/* Pready does not wait for the receiver, and of nothing there is no type. */
static void before_its_receive(void)
{
    int a = 7;
    MPI_Request req;
    if (t_rank == 0) {
        OK(MPI_Psend_init(&a, 1, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &req));
        OK(MPI_Start(&req));
        OK(MPI_Pready(0, req));
        OK(MPI_Send(NULL, 0, MPI_DATATYPE_NULL, 1, 0, MPI_COMM_WORLD));
        OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    } else {
        a = 0;
        OK(MPI_Precv_init(&a, 1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &req));
        OK(MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Start(&req));
        OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
        CHECK(a == 7);
    }
    OK(MPI_Request_free(&req));
}

static void nobody(void)
{
    int a[2] = {1, 2}, flag = 0;
    MPI_Request req[2];
    OK(MPI_Psend_init(a, 2, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &req[0]));
    OK(MPI_Precv_init(a, 2, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &req[1]));
    OK(MPI_Startall(2, req));
    OK(MPI_Pready(0, req[0]));
    OK(MPI_Parrived(req[1], 1, &flag));
    CHECK(flag);
    OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
    /* Made, never started, freed: the setup that comes for it is not another's. */
    OK(MPI_Request_free(&req[0]));
    OK(MPI_Request_free(&req[1]));
    int other = t_rank ^ 1;
    OK(MPI_Precv_init(a, 1, 1, MPI_INT, other, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &req[1]));
    OK(MPI_Psend_init(a, 1, 1, MPI_INT, other, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &req[0]));
    OK(MPI_Request_free(&req[1]));
    OK(MPI_Request_free(&req[0]));
}

/* A send of which partitions are not ready would never end without its request, and its receiver would wait for ever. */
static void freed_unready(int partitions)
{
    int other = t_rank ^ 1, *a = calloc((size_t)partitions, sizeof(*a));
    MPI_Request req[2];
    CHECK(a != NULL);
    OK(MPI_Precv_init(a, partitions, 1, MPI_INT, other, 10, MPI_COMM_WORLD, MPI_INFO_NULL, &req[1]));
    OK(MPI_Psend_init(a, partitions, 1, MPI_INT, other, 10, MPI_COMM_WORLD, MPI_INFO_NULL, &req[0]));
    OK(MPI_Startall(2, req));
    FAILS(MPI_Request_free(&req[0]), MPI_ERR_REQUEST);
    OK(MPI_Pready_range(0, partitions - 2, req[0]));
    FAILS(MPI_Request_free(&req[0]), MPI_ERR_REQUEST);
    OK(MPI_Pready(partitions - 1, req[0]));
    OK(MPI_Request_free(&req[0]));
    OK(MPI_Wait(&req[1], MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&req[1]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    free(a);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    FAILS(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST);
    nobody();
    freed_unready(2);
    freed_unready(1000);
    round_trip(1, 1, 1, 1);
    round_trip(10, 10, 1, 1);
    round_trip(t_rank == 0 ? 12 : 5, t_rank == 0 ? 12 : 5, 1, 1);
    round_trip(t_rank == 0 ? 1 : 40, t_rank == 0 ? 1 : 40, 3, 2);
    round_trip(8, 8, 2, 3);
    split_elements();
    early();
    pairs();
    before_its_receive();
    return t_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* 100 000 unmatched messages of tag 1 are under way when one of tag 2, sent last, is received first:
 * unexpected messages have no limit but the hosts' memory, and cost does not grow with their number.
 * Then all are received, and others by tags in reverse order of sending. The same with fewer messages
 * of a size for which the receiver's NIC has no credit. */
#include "mpitest.h"

enum { MESSAGES = 100000, TAGGED = 2000 };

static void middling(int len, int messages)
{
    int value = 0;
    char *buf = malloc((size_t)len);
    if (t_rank == 0) {
        MPI_Request *reqs = malloc((size_t)messages * sizeof(*reqs));
        t_fill(buf, (size_t)len, 4);
        for (int i = 0; i < messages; i++)
            OK(MPI_Isend(buf, len, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &reqs[i]));
        OK(MPI_Send(&len, 1, MPI_INT, 1, 2, MPI_COMM_WORLD));
        OK(MPI_Waitall(messages, reqs, MPI_STATUSES_IGNORE));
        free(reqs);
    } else if (t_rank == 1) {
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(value == len);
        for (int i = 0; i < messages; i++) {
            memset(buf, 0, (size_t)len);
            OK(MPI_Recv(buf, len, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(t_verify(buf, (size_t)len, 4));
        }
    }
    free(buf);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    int value = -1;
    if (t_rank == 0) {
        static int data[MESSAGES];
        MPI_Request *reqs = malloc((MESSAGES + 1) * sizeof(*reqs));
        for (int i = 0; i < MESSAGES; i++) {
            data[i] = i;
            OK(MPI_Isend(&data[i], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &reqs[i]));
        }
        value = 4711;
        OK(MPI_Isend(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &reqs[MESSAGES]));
        OK(MPI_Waitall(MESSAGES + 1, reqs, MPI_STATUSES_IGNORE));
        for (int i = 0; i < TAGGED; i++)
            OK(MPI_Send(&i, 1, MPI_INT, 1, 100 + i, MPI_COMM_WORLD));
        free(reqs);
    } else if (t_rank == 1) {
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(value == 4711);
        for (int i = 0; i < MESSAGES; i++) {
            OK(MPI_Recv(&value, 1, MPI_INT, i % 2 ? 0 : MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
            CHECK(value == i);
        }
        for (int i = TAGGED - 1; i >= 0; i--) {
            OK(MPI_Recv(&value, 1, MPI_INT, 0, 100 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(value == i);
        }
    }
    middling(100, 5000);
    middling(1000, 5000);
    middling(8000, 3000);
    /* And the NIC matches by itself again. */
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 1000; i++) {
        int right = (t_rank + 1) % t_size, left = (t_rank + t_size - 1) % t_size;
        OK(MPI_Sendrecv(&i, 1, MPI_INT, right, i, &value, 1, MPI_INT, left, i, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        CHECK(value == i);
    }
    return t_end();
}

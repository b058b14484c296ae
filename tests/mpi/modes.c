/* SPDX-License-Identifier: BSD-3-Clause */
/* Every send mode, blocking and not, delivers; a synchronous send ends only after its receive began;
 * buffered sends need no receive and are bounded by the attached buffer; sendrecv exchanges. */
#include "mpitest.h"

#include <time.h>

static const int lens[] = {0, 4, 32, 64, 1000, 8192, 65536, 200000};
enum { LENS = sizeof(lens) / sizeof(lens[0]), LARGEST = 200000, MODES = 8 };

static void send_mode(int mode, const char *buf, int len, int dest)
{
    MPI_Request req;
    switch (mode) {
    case 0:
        OK(MPI_Send(buf, len, MPI_BYTE, dest, mode, MPI_COMM_WORLD));
        return;
    case 1:
        OK(MPI_Ssend(buf, len, MPI_BYTE, dest, mode, MPI_COMM_WORLD));
        return;
    case 2:
        OK(MPI_Rsend(buf, len, MPI_BYTE, dest, mode, MPI_COMM_WORLD));
        return;
    case 3:
        OK(MPI_Bsend(buf, len, MPI_BYTE, dest, mode, MPI_COMM_WORLD));
        return;
    case 4:
        OK(MPI_Isend(buf, len, MPI_BYTE, dest, mode, MPI_COMM_WORLD, &req));
        break;
    case 5:
        OK(MPI_Issend(buf, len, MPI_BYTE, dest, mode, MPI_COMM_WORLD, &req));
        break;
    case 6:
        OK(MPI_Irsend(buf, len, MPI_BYTE, dest, mode, MPI_COMM_WORLD, &req));
        break;
    default:
        OK(MPI_Ibsend(buf, len, MPI_BYTE, dest, mode, MPI_COMM_WORLD, &req));
        break;
    }
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

static void all_modes(void)
{
    char *buf = malloc(LARGEST), *room = malloc(LARGEST + MPI_BSEND_OVERHEAD);
    for (int mode = 0; mode < MODES; mode++) {
        for (int k = 0; k < LENS; k++) {
            MPI_Request req = MPI_REQUEST_NULL;
            if (t_rank == 1)
                OK(MPI_Irecv(buf, LARGEST, MPI_BYTE, 0, mode, MPI_COMM_WORLD, &req));
            MPI_Barrier(MPI_COMM_WORLD); /* ready mode: the receive is there */
            if (t_rank == 0) {
                void *detached;
                int size;
                OK(MPI_Buffer_attach(room, LARGEST + MPI_BSEND_OVERHEAD));
                t_fill(buf, (size_t)lens[k], (uint64_t)k);
                send_mode(mode, buf, lens[k], 1);
                memset(buf, 0, LARGEST);
                OK(MPI_Buffer_detach(&detached, &size));
                CHECK(detached == room && size == LARGEST + MPI_BSEND_OVERHEAD);
            } else if (t_rank == 1) {
                MPI_Status status;
                int count;
                OK(MPI_Wait(&req, &status));
                OK(MPI_Get_count(&status, MPI_BYTE, &count));
                CHECK(count == lens[k] && t_verify(buf, (size_t)count, (uint64_t)k));
            }
        }
    }
    free(buf);
    free(room);
}

/* The sender looks at its watch: it must not return before the receive was posted. */
static void synchronous(void)
{
    int value = 1;
    double posted, returned;
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0) {
        OK(MPI_Ssend(&value, 1, MPI_INT, 1, 20, MPI_COMM_WORLD));
        returned = MPI_Wtime();
        OK(MPI_Send(&returned, 1, MPI_DOUBLE, 1, 21, MPI_COMM_WORLD));
        MPI_Request req;
        int flag = 1;
        OK(MPI_Issend(&value, 1, MPI_INT, 1, 22, MPI_COMM_WORLD, &req));
        OK(MPI_Send(&value, 1, MPI_INT, 1, 23, MPI_COMM_WORLD));
        OK(MPI_Recv(&value, 1, MPI_INT, 1, 23, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Test(&req, &flag, MPI_STATUS_IGNORE));
        CHECK(flag == 0); /* its receive comes only after the next message */
        OK(MPI_Send(&value, 1, MPI_INT, 1, 24, MPI_COMM_WORLD));
        OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    } else if (t_rank == 1) {
        nanosleep(&(struct timespec){.tv_nsec = 30 * 1000 * 1000}, NULL);
        posted = MPI_Wtime();
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(&returned, 1, MPI_DOUBLE, 0, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(returned >= posted); /* one clock: the ranks run on one machine */
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 23, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Send(&value, 1, MPI_INT, 0, 23, MPI_COMM_WORLD));
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 24, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 22, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

static void buffered_room(void)
{
    t_errors_return();
    char room[1000 + MPI_BSEND_OVERHEAD], data[2000] = {0};
    void *detached;
    int size;
    OK(MPI_Buffer_attach(room, (int)sizeof(room)));
    FAILS(MPI_Bsend(data, 2000, MPI_BYTE, t_rank, 30, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    OK(MPI_Bsend(data, 500, MPI_BYTE, t_rank, 30, MPI_COMM_WORLD));
    OK(MPI_Recv(data, 500, MPI_BYTE, t_rank, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Buffer_detach(&detached, &size));
}

static void exchanges(void)
{
    int right = (t_rank + 1) % t_size, left = (t_rank + t_size - 1) % t_size;
    enum { N = 100000 };
    int *out = malloc(N * sizeof(int)), *in = malloc(N * sizeof(int));
    for (int i = 0; i < N; i++)
        out[i] = t_rank * N + i;
    MPI_Status status;
    OK(MPI_Sendrecv(out, N, MPI_INT, right, 40, in, N, MPI_INT, left, 40, MPI_COMM_WORLD, &status));
    for (int i = 0; i < N; i++)
        CHECK(in[i] == left * N + i);
    CHECK(status.MPI_SOURCE == left && status.MPI_TAG == 40);
    OK(MPI_Sendrecv_replace(out, N, MPI_INT, right, 41, left, 41, MPI_COMM_WORLD, &status));
    for (int i = 0; i < N; i++)
        CHECK(out[i] == left * N + i);
    int keep = 5;
    OK(MPI_Sendrecv(&keep, 1, MPI_INT, MPI_PROC_NULL, 1, &keep, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
                    &status));
    CHECK(keep == 5 && status.MPI_SOURCE == MPI_PROC_NULL);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    all_modes();
    synchronous();
    buffered_room();
    exchanges();
    return t_end();
}

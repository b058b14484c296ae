/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC sees every receive call of the program once, at its place in the program, and foretells those that
 * repeat: blocking, non-blocking, any source, with a send, persistent, of a matched message. What the library
 * receives for itself is not shown. Where places cannot be told apart, MPIX_Pre_receive() names them.
 * Runs with prediction on. */
#include "mpitest.h"

#include "mpi_offload.h"

#define ROUNDS 200
#define KINDS 6
#define NAMED 400

static unsigned long long counter(const char *name)
{
    unsigned long long value = 0;
    OK(MPIX_Nic_counters(name, &value));
    return value;
}

static int left, right, value, got;

static void send_to_right(int tag)
{
    OK(MPI_Send(&value, 1, MPI_INT, right, tag, MPI_COMM_WORLD));
}

static void every_kind(MPI_Request *persistent)
{
    MPI_Request request;
    MPI_Message message;
    for (int tag = 0; tag < KINDS; tag++)
        if (tag != 3)
            send_to_right(tag);
    OK(MPI_Recv(&got, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Recv(&got, 1, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Sendrecv(&value, 1, MPI_INT, right, 3, &got, 1, MPI_INT, left, 3, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    OK(MPI_Start(persistent));
    OK(MPI_Wait(persistent, MPI_STATUS_IGNORE));
    OK(MPI_Mprobe(left, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    OK(MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
}

static void receive(int tag)
{
    OK(MPI_Recv(&got, 1, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* One call of MPI for all, in an order that does not repeat. */
static void named_places(void)
{
    unsigned seed = 1;
    for (int i = 0; i < NAMED; i++) {
        seed = seed * 1103515245u + 12345u;
        int tag = 10 + (int)(seed >> 16) % 5;
        send_to_right(tag);
        OK(MPIX_Pre_receive(tag));
        receive(tag);
        if (i % 50 == 49)
            MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    MPI_Request persistent;
    left = (t_rank + t_size - 1) % t_size;
    right = (t_rank + 1) % t_size;
    OK(MPI_Recv_init(&got, 1, MPI_INT, left, 4, MPI_COMM_WORLD, &persistent));
    for (int i = 0; i < ROUNDS; i++) {
        every_kind(&persistent);
        if (i % 20 == 19)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    unsigned long long calls = counter("predict.calls"), hits = counter("predict.hits");
    CHECK(calls == ROUNDS * KINDS);
    CHECK(hits > calls * 9 / 10);
    CHECK(counter("predict.offer_hits") > calls * 9 / 10);
    CHECK(counter("predict.offer_hits") <= counter("predict.offers") && counter("predict.offers") <= calls);
    CHECK(hits + counter("predict.misses") <= calls);

    unsigned long long offers = counter("predict.offers"), right_offers = counter("predict.offer_hits");
    named_places();
    CHECK(counter("predict.calls") == calls + NAMED);
    CHECK(counter("predict.hits") - hits > NAMED * 8 / 10);
    CHECK(counter("predict.offer_hits") - right_offers > NAMED * 6 / 10);
    CHECK(counter("predict.offer_hits") - right_offers > (counter("predict.offers") - offers) * 9 / 10);
    FAILS(MPIX_Pre_receive(-1), MPI_ERR_ARG);
    OK(MPI_Request_free(&persistent));
    return t_end();
}

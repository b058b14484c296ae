/* SPDX-License-Identifier: BSD-3-Clause */
/* A lone message that a cell holds is read by its receiver; if that does not come its sender goes on after all, as by the NIC. Two ranks,
 * NOF_CHANNELS=auto. */
#include "mpitest.h"
#include "past_library.h"

#include <stdbool.h>
#include <string.h>

enum { SHORT = 7000, MOST = 16384, ROUNDS = 20000, FEW_ROUNDS = 50, SEVERAL = 5 };

static unsigned char data[MOST], other[MOST];
static struct past past;

static int bytes_of(int round)
{
    return round % 2 == 0 ? SHORT : MOST;
}

static void send(int to, int round)
{
    t_fill(data, (size_t)bytes_of(round), (uint64_t)(2 * round + t_rank));
    OK(MPI_Send(data, bytes_of(round), MPI_BYTE, to, round, MPI_COMM_WORLD));
    memset(data, 0, sizeof(data)); /* nobody reads it any more */
}

static void receive(int from, int round)
{
    MPI_Status status;
    int count;
    OK(MPI_Recv(other, MOST, MPI_BYTE, from, round, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == bytes_of(round));
    CHECK(t_verify(other, (size_t)bytes_of(round), (uint64_t)(2 * round + from)));
}

/* To each other, and to themselves. */
static void both_send_first(void)
{
    for (int round = 0; round < FEW_ROUNDS; round++) {
        send(1 - t_rank, round);
        receive(1 - t_rank, round);
        send(t_rank, round);
        receive(t_rank, round);
    }
}

/* Nobody receives before all have been sent; then against their order. */
static void several_wait(int *word)
{
    for (int round = 0; round < FEW_ROUNDS; round++) {
        int value = round + 1;
        for (int i = 0; i < SEVERAL && t_rank == 0; i++)
            send(1, round * SEVERAL + i);
        if (t_rank == 0)
            __atomic_store_n(word, value, __ATOMIC_RELEASE);
        else
            spin_until(word, value);
        for (int i = SEVERAL; i-- > 0 && t_rank == 1;)
            receive(0, round * SEVERAL + i);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
}

/* The receiver comes when the sender's patience ends, a little earlier or later. */
static void they_meet(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (t_rank == 0) {
            send(1, round);
            continue;
        }
        double end = seconds() + 8e-6 + round % 256 * 1e-7;
        while (seconds() < end)
            ;
        receive(0, round);
    }
}

int main(int argc, char **argv)
{
    past_begin(&past, &argc, &argv);
    both_send_first();
    several_wait(past.word);
    they_meet();
    if (t_rank == 0 && has_two_cpus()) {
        CHECK(t_counted(past.session, "memory_moved") > 0);
    }
    return past_end(&past);
}

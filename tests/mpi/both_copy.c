/* SPDX-License-Identifier: BSD-3-Clause */
/* Several long messages of one sender to one receiver, by memory, each as it comes: while both wait for them both copy, and where
 * either may leave its call before they have ended it holds the other one up in nothing. Two ranks, NOF_CHANNELS=auto. */
#include "mpitest.h"
#include "past_library.h"

#include <stdbool.h>

enum { MESSAGES = 8, BYTES = 200000, LONG = 4 << 20, ROUNDS = 2000, FEW_ROUNDS = 20 };

static unsigned char data[MESSAGES][BYTES], long_data[LONG];
static struct past past;

static void start(MPI_Request requests[MESSAGES], int round)
{
    for (int i = 0; i < MESSAGES; i++) {
        if (t_rank == 0) {
            t_fill(data[i], BYTES, (uint64_t)(round * MESSAGES + i));
            OK(MPI_Isend(data[i], BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]));
        } else {
            OK(MPI_Irecv(data[i], BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]));
        }
    }
}

static void finish(MPI_Request requests[MESSAGES], int round)
{
    OK(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; t_rank == 1 && i < MESSAGES; i++)
        CHECK(t_verify(data[i], BYTES, (uint64_t)(round * MESSAGES + i)));
}

/* Not each time: who is not there yet when it is asked for is not waited for long. Of one time all of them, the first one too. */
static void who_waits_copies(void)
{
    MPI_Request requests[MESSAGES];
    int done = 0;
    for (int round = 0; round < ROUNDS && !done; round++) {
        unsigned long long read = t_counted(past.session, "memory_single_copies");
        start(requests, round);
        finish(requests, round);
        done = t_rank == 1 && t_counted(past.session, "memory_single_copies") == read;
        OK(MPI_Allreduce(MPI_IN_PLACE, &done, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
    }
    CHECK(done || !has_two_cpus());
    CHECK(t_rank != 0 || t_counted(past.session, "memory_pieces") > 0 || !has_two_cpus());
}

static void say(int *word, int value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Until its receiver has all of it rank 0 calls nothing but, in each second round, a test that finds nothing. */
static void who_computes_holds_nobody_up(int *word)
{
    MPI_Request requests[MESSAGES];
    for (int round = 1; round < 50; round++) {
        OK(MPI_Barrier(MPI_COMM_WORLD));
        start(requests, round);
        if (t_rank == 0) {
            int flag;
            if (round % 2 == 0)
                OK(MPI_Testall(MESSAGES, requests, &flag, MPI_STATUSES_IGNORE));
            spin_until(word, round);
        }
        finish(requests, round);
        if (t_rank == 1)
            say(word, round);
    }
}

/* A call of rank 0 that may end before its sends have. */
enum call { RECV, ANY, SOME, HALF, CALLS };

static void wait_for_less(enum call call, MPI_Request requests[MESSAGES])
{
    int index, indices[MESSAGES];
    char byte;
    switch (call) {
    case RECV:
        OK(MPI_Recv(&byte, 1, MPI_BYTE, 1, MESSAGES, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        break;
    case ANY:
        OK(MPI_Waitany(MESSAGES, requests, &index, MPI_STATUS_IGNORE));
        break;
    case SOME:
        OK(MPI_Waitsome(MESSAGES, requests, &index, indices, MPI_STATUSES_IGNORE));
        break;
    case HALF:
    case CALLS:
        OK(MPI_Waitall(MESSAGES / 2, requests, MPI_STATUSES_IGNORE));
    }
}

/* Its receiver waits for all of them, in the order of their coming or against it; behind that call rank 0 spins until it has them. */
static void who_waits_for_less_does_not_copy(enum call call, int *word)
{
    for (int round = 1; round <= FEW_ROUNDS; round++) {
        MPI_Request requests[MESSAGES], backwards[MESSAGES];
        int value = 100 * ((int)call + 1) + round;
        unsigned long long pieces = t_counted(past.session, "memory_pieces");
        if (t_rank == 0) {
            OK(MPI_Barrier(MPI_COMM_WORLD));
            start(requests, round);
            wait_for_less(call, requests);
            spin_until(word, value);
            CHECK(t_counted(past.session, "memory_pieces") == pieces);
            finish(requests, round);
            continue;
        }
        start(requests, round);
        for (int i = 0; i < MESSAGES; i++)
            backwards[i] = requests[round % 2 == 0 ? i : MESSAGES - 1 - i];
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Waitall(MESSAGES / 2, backwards, MPI_STATUSES_IGNORE));
        if (call == RECV)
            OK(MPI_Send("", 1, MPI_BYTE, 0, MESSAGES, MPI_COMM_WORLD));
        OK(MPI_Waitall(MESSAGES / 2, backwards + MESSAGES / 2, MPI_STATUSES_IGNORE));
        say(word, value);
        for (int i = 0; i < MESSAGES; i++)
            CHECK(t_verify(data[i], BYTES, (uint64_t)(round * MESSAGES + i)));
    }
}

/* MPI_Irecv, or a test behind it, finds a message for which its sender waits; then rank 1 calls nothing until that has gone on. */
static void who_received_and_computes_holds_nobody_up(int *word)
{
    for (int round = 1; round <= FEW_ROUNDS; round++) {
        int value = 1000 + 2 * round, flag = 0;
        unsigned long long pieces = t_counted(past.session, "memory_pieces");
        MPI_Request request = MPI_REQUEST_NULL;
        if (t_rank == 0) {
            t_fill(long_data, LONG, (uint64_t)round);
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Send(long_data, LONG, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
            say(word, value);
            CHECK(t_counted(past.session, "memory_pieces") == pieces);
            continue;
        }
        bool probes = round % 2 == 0;
        if (!probes)
            OK(MPI_Irecv(long_data, LONG, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (probes) {
            OK(MPI_Probe(0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Irecv(long_data, LONG, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request));
            spin_until(word, value);
        }
        while (!flag)
            OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        spin_until(word, value);
        CHECK(t_verify(long_data, LONG, (uint64_t)round));
    }
}

/* Each has one to read. */
static void what_goes_both_ways_is_read(void)
{
    static unsigned char other[LONG];
    unsigned long long pieces = t_counted(past.session, "memory_pieces");
    for (int round = 1; round <= FEW_ROUNDS; round++) {
        MPI_Request requests[2];
        t_fill(long_data, LONG, (uint64_t)(2 * round + t_rank));
        OK(MPI_Isend(long_data, LONG, MPI_BYTE, 1 - t_rank, 0, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Irecv(other, LONG, MPI_BYTE, 1 - t_rank, 0, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK(t_verify(other, LONG, (uint64_t)(2 * round + 1 - t_rank)));
    }
    CHECK(t_counted(past.session, "memory_pieces") == pieces);
}

int main(int argc, char **argv)
{
    past_begin(&past, &argc, &argv);
    who_waits_copies();
    int reads = t_counted(past.session, "memory_single_copies") > 0;
    OK(MPI_Bcast(&reads, 1, MPI_INT, 1, MPI_COMM_WORLD));
    if (reads) { /* else the kernel forbids it, and the sender is needed */
        who_computes_holds_nobody_up(past.word);
        who_received_and_computes_holds_nobody_up(past.word);
        what_goes_both_ways_is_read();
        for (int call = 0; call < CALLS; call++)
            who_waits_for_less_does_not_copy((enum call)call, past.word);
    }
    return past_end(&past);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that a cell holds. Short ones to one who does not look: each send ends at once, as many as the lane has room for, and none is
 * read by its receiver; they come whole and in order, those that wait for room, too. Longer ones are as whole however they are received;
 * alone they wait for their receiver, unless
 * their sender receives, too, and others that come meanwhile do not. Two ranks by memory. */
#include "mpitest.h"
#include "past_library.h"

enum { CELL = 16384, MANY = 500, MOST = 700, ROUNDS = 50 };
/* Of 63 slots 15 may have been taken, of which the sender does not know; and a barrier has some. */
enum { ROOM = 40 };

static unsigned char data[MANY][MOST];

static int length(int round, int i)
{
    return 41 + (i * 37 + round * 101) % (MOST - 40);
}

static void send_all(int n, int round, MPI_Request *requests)
{
    for (int i = 0; i < n; i++) {
        t_fill(data[i], (size_t)length(round, i), (uint64_t)(round * MANY + i));
        OK(MPI_Isend(data[i], length(round, i), MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]));
    }
}

/* Some receives are there first, others find what has come. */
static void receive_all(int n, int round, MPI_Request *requests)
{
    MPI_Status statuses[MANY];
    int count;
    for (int i = 0; i < n; i++)
        OK(MPI_Irecv(data[i], MOST, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]));
    OK(MPI_Waitall(n, requests, statuses));
    for (int i = 0; i < n; i++) {
        OK(MPI_Get_count(&statuses[i], MPI_BYTE, &count));
        CHECK(count == length(round, i));
        CHECK(t_verify(data[i], (size_t)count, (uint64_t)(round * MANY + i)));
    }
}

static void each_ends_at_once(int *word)
{
    MPI_Request requests[ROOM];
    for (int round = 1; round <= ROUNDS; round++) {
        int flag = 0;
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (t_rank == 1) {
            spin_until(word, round);
            receive_all(ROOM, round, requests);
            continue;
        }
        send_all(ROOM, round, requests);
        OK(MPI_Testall(ROOM, requests, &flag, MPI_STATUSES_IGNORE));
        CHECK(flag);
        __atomic_store_n(word, round, __ATOMIC_RELEASE);
        OK(MPI_Waitall(ROOM, requests, MPI_STATUSES_IGNORE));
    }
}

static void a_stream(void)
{
    static MPI_Request requests[MANY];
    for (int round = 0; round < ROUNDS; round++) {
        if (t_rank == 1) {
            receive_all(MANY, round, requests);
        } else {
            send_all(MANY, round, requests);
            OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
        }
    }
}

/* Alone, each answered. The receiver waits for it, has asked what it is, takes every other int of it, or less of it than there is. */
static void alone(void)
{
    static unsigned char there[2 * CELL], sent[CELL];
    MPI_Datatype apart;
    MPI_Status status;
    int count, got;
    OK(MPI_Type_vector(CELL / 4, 1, 2, MPI_INT, &apart));
    OK(MPI_Type_commit(&apart));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int i = 0; i < 40 * ROUNDS; i++) {
        int bytes = 2049 + i * 389 % (CELL - 2048), how = i % 5, less = i % 3 == 0 ? 0 : 1 + i * 77 % 2048;
        bytes = how == 3 ? CELL : bytes;
        if (t_rank == 0) {
            t_fill(sent, (size_t)bytes, (uint64_t)i);
            OK(MPI_Send(sent, bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD));
            OK(MPI_Recv(&got, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            continue;
        }
        memset(there, 0, sizeof(there));
        if (how == 1)
            OK(MPI_Probe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status));
        if (how == 3)
            OK(MPI_Recv(there, 1, apart, 0, 5, MPI_COMM_WORLD, &status));
        else if (how == 4)
            OK(MPI_Error_class(MPI_Recv(there, less, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &status), &got));
        else
            OK(MPI_Recv(there, CELL, MPI_BYTE, how == 2 ? MPI_ANY_SOURCE : 0, 5, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(how == 4 ? got == MPI_ERR_TRUNCATE : count == bytes);
        for (int k = 0; how == 3 && k < CELL / 4; k++)
            memcpy(there + 4 * k, there + 8 * k, 4);
        CHECK(t_verify(there, how == 4 ? (size_t)less : (size_t)bytes, (uint64_t)i));
        CHECK(how == 3 || there[how == 4 ? less : bytes] == 0);
        OK(MPI_Send(&i, 1, MPI_INT, 0, 6, MPI_COMM_WORLD));
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Type_free(&apart));
}

/* Rank 1 does not look. In each second round rank 0 receives, too. */
static void who_follows_does_not_wait(int *word)
{
    static unsigned char both[2][CELL];
    MPI_Request requests[2], answer = MPI_REQUEST_NULL;
    for (int round = ROUNDS + 1; round <= 2 * ROUNDS; round++) {
        int flag, came, receives = round % 2;
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (t_rank == 1) {
            spin_until(word, round);
            for (int i = 0; i < 2; i++)
                OK(MPI_Irecv(both[i], CELL, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]));
            OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
            for (int i = 0; i < 2; i++)
                CHECK(t_verify(both[i], CELL, (uint64_t)(2 * round + i)));
            if (receives)
                OK(MPI_Send(&round, 1, MPI_INT, 0, 8, MPI_COMM_WORLD));
            continue;
        }
        if (receives)
            OK(MPI_Irecv(&came, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, &answer));
        for (int i = 0; i < 2; i++) {
            t_fill(both[i], CELL, (uint64_t)(2 * round + i));
            OK(MPI_Isend(both[i], CELL, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]));
        }
        OK(MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE));
        CHECK(flag);
        OK(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
        CHECK(flag == receives || !has_two_cpus());
        __atomic_store_n(word, round, __ATOMIC_RELEASE);
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        OK(MPI_Wait(&answer, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv)
{
    struct past past;
    past_begin(&past, &argc, &argv);
    each_ends_at_once(past.word);
    a_stream();
    CHECK(t_counted(past.session, "memory_single_copies") == 0 &&
          t_counted(past.session, "memory_pieces") == 0);
    alone();
    who_follows_does_not_wait(past.word);
    return past_end(&past);
}

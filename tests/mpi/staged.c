/* SPDX-License-Identifier: BSD-3-Clause */
/* MPIX_Recv_staged and MPIX_Release, with whatever prediction the NICs have: cyclic and random receivers
 * get every message once and whole; what is not released, released twice or after MPI_Finalize is an
 * error that says so, and never hurts later messages. */
#include "mpitest.h"

#include <mpi_offload.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST (1 << 20)
#define ROUNDS 40
#define TAGS 6

static const int lengths[TAGS] = {8, 1000, 4096, 16384, 65536, 200000};
static unsigned char buffer[MOST];
static double in[MOST / 8], out[TAGS][200000 / 8];

/* A number like its neighbours, so that messages compress where the NICs do that. */
static double value_of(int round, int tag, int at)
{
    return 1000.0 * tag + round + at * 0x1p-20;
}

static void send_round(int round, int to)
{
    MPI_Request requests[TAGS];
    for (int tag = 0; tag < TAGS; tag++) {
        for (int i = 0; i < lengths[tag] / 8; i++)
            out[tag][i] = value_of(round, tag, i);
        OK(MPI_Isend(out[tag], lengths[tag] / 8, MPI_DOUBLE, to, tag, MPI_COMM_WORLD, &requests[tag]));
    }
    OK(MPI_Waitall(TAGS, requests, MPI_STATUSES_IGNORE));
}

static void check(const double *data, int round, int tag, const MPI_Status *status)
{
    int count = -1;
    OK(MPI_Get_count(status, MPI_DOUBLE, &count));
    CHECK(count == lengths[tag] / 8 && status->MPI_TAG == tag);
    for (int i = 0; i < count; i++)
        CHECK(data[i] == value_of(round, tag, i));
}

/* `in_place` of the receives read where the message lies. */
static void receive_one(int round, int tag, int from, int in_place)
{
    MPI_Status status;
    if (in_place) {
        const void *data = NULL;
        OK(MPIX_Recv_staged(&data, MOST / 8, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, &status));
        CHECK(data != NULL);
        check(data, round, tag, &status);
        OK(MPIX_Release(data));
    } else {
        OK(MPI_Recv(in, MOST / 8, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, &status));
        check(in, round, tag, &status);
    }
}

/* The sender is one round ahead, so that messages wait. shuffled: an order that nobody can foretell. */
static void rounds(int shuffled)
{
    uint64_t random = 99;
    for (int round = 0; round < ROUNDS; round++) {
        if (t_rank == 0) {
            send_round(round, 1);
        } else {
            int order[TAGS];
            MPI_Status status;
            OK(MPI_Probe(0, TAGS - 1, MPI_COMM_WORLD, &status));
            for (int i = 0; i < TAGS; i++)
                order[i] = i;
            for (int i = TAGS - 1; shuffled && i > 0; i--) {
                int k = (int)(t_random(&random) % (uint64_t)(i + 1));
                int t = order[i];
                order[i] = order[k];
                order[k] = t;
            }
            for (int i = 0; i < TAGS; i++)
                receive_one(round, order[i], 0, (round + i) % 3 != 0);
        }
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* A program that releases nothing keeps the staging area; what comes later comes another way. */
static void never_released(void)
{
    enum { KEPT = 200 };
    static const unsigned char *kept[KEPT];
    const int len = 8000;
    for (int i = 0; i < KEPT; i++) {
        if (t_rank == 0) {
            memset(buffer, i, (size_t)len);
            OK(MPI_Send(buffer, len, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        } else {
            const void *data;
            OK(MPIX_Recv_staged(&data, len, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            kept[i] = data;
        }
    }
    for (int i = 0; t_rank == 1 && i < KEPT; i++) {
        for (int k = 0; k < len; k++)
            CHECK(kept[i][k] == (unsigned char)i);
        if (i % 2 == 0)
            OK(MPIX_Release(kept[i])); /* the others: MPI_Finalize */
    }
    rounds(0);
}

static void wrong_calls(void)
{
    int here = 5;
    const void *data = &here;
    MPI_Datatype gaps;
    t_errors_return();
    FAILS(MPIX_Release(&here), MPI_ERR_ARG);
    FAILS(MPIX_Release(NULL), MPI_ERR_ARG);
    FAILS(MPIX_Recv_staged(NULL, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    FAILS(MPIX_Recv_staged(&data, -1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &gaps));
    OK(MPI_Type_commit(&gaps));
    FAILS(MPIX_Recv_staged(&data, 1, gaps, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
    OK(MPI_Type_free(&gaps));
    CHECK(data == &here);
    OK(MPIX_Recv_staged(&data, 4, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    OK(MPIX_Release(data));
    FAILS(MPIX_Release(data), MPI_ERR_ARG);
    if (t_rank == 0) {
        OK(MPI_Send(buffer, 100, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
    } else {
        FAILS(MPIX_Recv_staged(&data, 50, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              MPI_ERR_TRUNCATE);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Ends the process with a sentence, so a child's is looked at. */
static void released_after_finalize(char **argv)
{
    int ends[2], status = 0;
    char said[512] = "";
    CHECK(pipe(ends) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], 2);
        execl("/usr/bin/env", "env", "-i", "NOF_LAUNCH=singleton", argv[0], "after", (char *)NULL);
        _exit(99);
    }
    close(ends[1]);
    for (size_t n = 0; n < sizeof(said) - 1;) {
        ssize_t got = read(ends[0], said + n, sizeof(said) - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) != 0);
    if (strstr(said, "after MPI_Finalize") == NULL)
        fprintf(stderr, "the child said: %s\n", said);
    CHECK(strstr(said, "MPIX_Release") != NULL && strstr(said, "after MPI_Finalize") != NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "after") == 0) {
        int here = 0;
        MPI_Init(&argc, &argv);
        MPI_Finalize();
        MPIX_Release(&here);
        return 0;
    }
    t_begin(&argc, &argv, 2);
    rounds(0);
    rounds(1);
    never_released();
    wrong_calls();
    if (t_rank == 0)
        released_after_finalize(argv);
    return t_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that hang, or leave something behind, for hang.py. Says "ready" before it does. */
#include "mpi_offload.h"

#include "mpitest.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static int value;

static void ready(void)
{
    if (t_rank == 0)
        puts("ready");
    fflush(stdout);
}

/* Ranks 0 and 1 want of each other what neither sends; 2 does not enter the barrier that 3 waits in, but is busy elsewhere. */
static void receives(void)
{
    if (t_rank < 2)
        MPI_Send(&value, 1, MPI_INT, 2, 98, MPI_COMM_WORLD);
    ready();
    if (t_rank < 2)
        MPI_Recv(&value, 1, MPI_INT, 1 - t_rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (t_rank == 2)
        for (;;)
            pause();
    else
        MPI_Barrier(MPI_COMM_WORLD);
}

/* More messages than their NIC has room for go to rank 0, which waits for one that nobody sends: it is in spill mode. */
static void spilled(void)
{
    if (t_rank == 0) {
        ready();
        MPI_Recv(&value, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 400; i++) {
        MPI_Request request;
        MPI_Isend(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    MPI_Recv(&value, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 1 never comes to MPI_Init: in front of t_begin(). */
static void stay_away(void)
{
    const char *rank = getenv("PMI_RANK");
    while (rank != NULL && strcmp(rank, "1") == 0)
        pause();
}

/* Rank 1 waits for one of its receives, and more of the library's for collectives that rank 0 does not call are newer than these. */
static void very_many(void)
{
    enum { RECEIVES = 3, COLLECTIVES = 400 };
    MPI_Request receives[RECEIVES], collective;
    int values[RECEIVES + COLLECTIVES];
    if (t_rank == 0)
        for (;;)
            pause();
    for (int i = 0; i < RECEIVES; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &receives[i]);
    for (int i = 0; i < COLLECTIVES; i++)
        MPI_Ibcast(&values[RECEIVES + i], 1, MPI_INT, 0, MPI_COMM_WORLD, &collective);
    MPI_Wait(&receives[0], MPI_STATUS_IGNORE);
}

/* A ring of synchronous sends on a communicator with a name, waited for with requests. */
static void sends(void)
{
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "ring");
    ready();
    MPI_Issend(&value, 1, MPI_INT, (t_rank + 1) % t_size, 7, comm, &request);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
}

static void leave_behind(void)
{
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "second");
    if (t_rank == 0) {
        MPI_Send(&value, 1, MPI_INT, 1, 41, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 1, 42, comm);
        MPI_Send(&value, 1, MPI_INT, 1, 43, comm);
    } else if (t_rank == 1) {
        MPI_Irecv(&value, 1, MPI_INT, 0, 44, MPI_COMM_WORLD, &request);
    }
}

/* Rank 1 is stopped outside MPI, and 0 waits for it. */
static void stopped(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 1)
        raise(SIGSTOP);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Calls other functions of MPI all the time; after a while rank 1 may send what comes first. */
static void *look_about(void *arg)
{
    for (int i = 0;; i++) {
        int flag;
        MPI_Iprobe(1, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        if (i == 1000)
            MPI_Send(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
        usleep(100);
    }
    return arg;
}

/* Two messages are waited for; the second never comes. */
static void threads(void)
{
    pthread_t thread;
    MPI_Request requests[2];
    int values[2];
    if (t_rank == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, 1, i + 1, MPI_COMM_WORLD, &requests[i]);
        pthread_create(&thread, NULL, look_about, NULL);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Each rank to the next. */
static void unreceived(int argc, char **argv, int look)
{
    int count = argc > 3 ? atoi(argv[2]) : 1, length = argc > 3 ? atoi(argv[3]) : 1;
    char *bytes = calloc(1, (size_t)length + 1);
    MPI_Request request;
    MPI_Message message;
    for (int i = 0; i < count; i++)
        MPI_Isend(bytes, length, MPI_BYTE, (t_rank + 1) % t_size, 7, MPI_COMM_WORLD, &request);
    for (int i = 0; look && i < count; i++)
        MPI_Mprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
}

/* Rank 0 waits, where `way` says, for a delta message of rank 1, which waits for the end of its own send, or of one in parts. */
static void deltas(const char *way)
{
    enum { BYTES = 1 << 18 };
    static char buf[BYTES] __attribute__((aligned(4096)));
    int parts = strcmp(way, "matched") == 0;
    MPI_Request request;
    if (t_rank == 1 && parts) {
        MPI_Psend_init(buf, 8, BYTES / 8, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Pready(3, request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (t_rank == 1) {
        MPIX_Delta_send_begin(buf, BYTES, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (parts)
        MPIX_Delta_recv(buf, BYTES, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPIX_Delta_recv(buf, BYTES, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(way, "page") == 0)
        value = *(volatile char *)&buf[BYTES / 2];
    else if (strcmp(way, "data") == 0)
        MPIX_Delta_wait_data(buf, BYTES);
    else if (strcmp(way, "call") == 0)
        MPI_Send(buf, BYTES, MPI_BYTE, 1, 6, MPI_COMM_WORLD);
    else
        MPIX_Delta_recv_wait(buf, MPI_STATUS_IGNORE);
}

static void all_is_well(void)
{
    MPI_Request request;
    MPI_Isend(&value, 1, MPI_INT, (t_rank + 1) % t_size, 1, MPI_COMM_WORLD, &request);
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    if (strcmp(way, "away") == 0)
        stay_away();
    int level = strcmp(way, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, level, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &t_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t_size);
    if (strcmp(way, "spilled") == 0)
        spilled();
    else if (strcmp(way, "receives") == 0)
        receives();
    else if (strcmp(way, "very_many") == 0)
        very_many();
    else if (strcmp(way, "sends") == 0)
        sends();
    else if (strcmp(way, "leaks") == 0)
        leave_behind();
    else if (strcmp(way, "threads") == 0)
        threads();
    else if (strcmp(way, "stopped") == 0)
        stopped();
    else if (strcmp(way, "delta") == 0)
        deltas(argv[2]);
    else if (strcmp(way, "unreceived") == 0 || strcmp(way, "matched") == 0)
        unreceived(argc, argv, strcmp(way, "matched") == 0);
    else
        all_is_well();
    MPI_Finalize();
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank is killed in the middle of a collective in which every survivor still needs something. Survivors compute: they
 * call nothing of MPI. Where the NIC goes through the steps it tells the others by itself, so the farthest from the dead one
 * has its error though those between have not asked yet; they ask one after the other. Needs a launcher that lets the rest go
 * on (nof run --on-failure=continue). Arguments: ring, tree, alltoall; bytes of a block; nic, host, mixed; ranks of each NIC: with
 * several, NOF_CHANNELS has them reach each other by memory. */
#include "doomed.h"

#include <signal.h>

#define PATIENCE_S 60.0 /* of a loaded machine */

#ifndef MPI_ERR_PROC_FAILED
#define MPI_ERR_PROC_FAILED MPIX_ERR_PROC_FAILED
#endif

static void set_driver(const char *driver, int nic)
{
    char params[128];
    snprintf(params, sizeof(params), "\"name\":\"collectives\",\"value\":\"%s\",\"nic\":%d", driver, nic);
    t_control("set", params);
}

static void begin(const char *shape, int bytes, MPI_Request *req)
{
    size_t room = (size_t)bytes * (size_t)t_size;
    char *out = calloc(room, 1), *in = calloc(room, 1);
    CHECK(out != NULL && in != NULL);
    if (strcmp(shape, "ring") == 0)
        OK(MPI_Iallgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD, req));
    else if (strcmp(shape, "tree") == 0)
        OK(MPI_Ibcast(in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, req));
    else
        OK(MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD, req));
}

static void expect_failed(MPI_Request *req, int dead)
{
    char text[MPI_MAX_ERROR_STRING], name[32];
    double start = MPI_Wtime();
    int done = 0, len, code = MPI_SUCCESS;
    while (!done && MPI_Wtime() - start < PATIENCE_S)
        code = MPI_Test(req, &done, MPI_STATUS_IGNORE);
    if (!done || t_class(code) != MPI_ERR_PROC_FAILED) {
        fprintf(stderr, "rank %d: after %.3f s %s, class %d instead of MPI_ERR_PROC_FAILED\n", t_rank,
                MPI_Wtime() - start, done ? "done" : "not done", t_class(code));
        _exit(1);
    }
    MPI_Error_string(code, text, &len);
    snprintf(name, sizeof(name), "rank %d", dead);
    if (strstr(text, name) == NULL) {
        fprintf(stderr, "rank %d: the text does not name %s: %s\n", t_rank, name, text);
        _exit(1);
    }
    if (getenv("T_VERBOSE") != NULL)
        printf("rank %d: told %.3f s after it asked: %s\n", t_rank, MPI_Wtime() - start, text);
}

/* In turn: the farther from the dead one, the sooner. None leaves before all have their error. */
static void expect_in_turn(int ear, MPI_Request *req, int dead, int in_turn)
{
    const int near = (t_rank - dead + t_size) % t_size, nearest = (dead + 1) % t_size;
    if (in_turn && near < t_size - 1)
        t_hear(ear, 1);
    expect_failed(req, dead);
    if (t_rank != nearest) {
        t_say(ear, in_turn ? (dead + near - 1) % t_size : nearest);
        t_hear(ear, 1);
        return;
    }
    if (!in_turn)
        t_hear(ear, t_size - 2);
    for (int other = 2; other < t_size; other++)
        t_say(ear, (dead + other) % t_size);
}

int main(int argc, char **argv)
{
    MPI_Request req = MPI_REQUEST_NULL;
    t_begin(&argc, &argv, 4);
    CHECK(argc == 5);
    const char *shape = argv[1], *driver = argv[3];
    int bytes = atoi(argv[2]), mixed = strcmp(driver, "mixed") == 0, each = atoi(argv[4]),
        nic = t_rank / each;
    t_errors_return();
    const int ear = t_ear();
    set_driver(mixed ? nic % 2 ? "nic" : "host" : driver, nic);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* All know each other, as after the first collective of the kind; in a tree the root dies, else any. */
    begin(shape, bytes, &req);
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    const int dead = strcmp(shape, "tree") == 0 ? 0 : t_size - 1;
    t_all_are_ready(ear, dead);
    if (t_rank == dead) {
        usleep(50 * 1000);
        raise(SIGKILL);
    }
    begin(shape, bytes, &req);
    expect_in_turn(ear, &req, dead, strcmp(driver, "nic") == 0 && each == 1);
    printf("rank %d survived\n", t_rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

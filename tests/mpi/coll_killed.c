/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank is killed in the middle of a collective in which every survivor still needs something. Survivors compute: they
 * call nothing of MPI, one after the other longer, the farthest from the dead one the shortest. Where the NIC goes through
 * the steps it tells the others by itself, so each has its error as soon as it asks, though those between it and the dead
 * one have not asked yet. Needs a launcher that lets the rest go on (nof run --on-failure=continue) and a NIC for every
 * rank. Arguments: ring, tree, alltoall; bytes of a block; nic, host, mixed. */
#include "mpitest.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef MPI_ERR_PROC_FAILED
#define MPI_ERR_PROC_FAILED MPIX_ERR_PROC_FAILED
#endif

static void set_driver(const char *driver)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char line[192], answer[256];
    const char *daemon = getenv("NOF_SOCKET");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && daemon != NULL && daemon[0] == '@');
    int len = snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "%s.ctl", daemon + 1);
    CHECK(connect(fd, (struct sockaddr *)&to,
                  (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1 + (socklen_t)len) == 0);
    len = snprintf(
        line, sizeof(line),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"set\",\"params\":{\"name\":\"collectives\",\"value\":"
        "\"%s\",\"nic\":%d}}\n",
        driver, t_rank);
    CHECK(write(fd, line, (size_t)len) == len);
    ssize_t got = read(fd, answer, sizeof(answer) - 1);
    CHECK(got > 0);
    answer[got] = '\0';
    if (strstr(answer, "\"result\"") == NULL)
        fprintf(stderr, "%s\n", answer);
    CHECK(strstr(answer, "\"result\"") != NULL);
    close(fd);
}

/* The last to die waits here until the others are about to begin: none of them is in the collective before that still. */
static void all_are_ready(int dead)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "nof-coll-killed-%d", (int)getppid());
    socklen_t name_bytes = (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1 + (socklen_t)len;
    char byte = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    if (t_rank == dead) {
        CHECK(bind(fd, (struct sockaddr *)&name, name_bytes) == 0);
        for (int i = 1; i < t_size; i++)
            CHECK(recv(fd, &byte, 1, 0) == 1);
    } else {
        while (sendto(fd, &byte, 1, 0, (struct sockaddr *)&name, name_bytes) != 1)
            usleep(1000);
    }
    close(fd);
}

static void sleep_until(double when)
{
    double left = when - MPI_Wtime();
    struct timespec nap = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
    if (left > 0)
        while (nanosleep(&nap, &nap) != 0)
            ;
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

/* The error: at the first look, or when messages between hosts have passed. */
static void expect_failed(MPI_Request *req, int dead, double patience)
{
    char text[MPI_MAX_ERROR_STRING], name[32];
    double start = MPI_Wtime();
    int done = 0, len, code = MPI_SUCCESS;
    while (!done && MPI_Wtime() - start < patience)
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

int main(int argc, char **argv)
{
    MPI_Request req = MPI_REQUEST_NULL;
    t_begin(&argc, &argv, 4);
    CHECK(argc == 4);
    const char *shape = argv[1], *driver = argv[3];
    int bytes = atoi(argv[2]), mixed = strcmp(driver, "mixed") == 0;
    t_errors_return();
    set_driver(mixed ? t_rank % 2 ? "nic" : "host" : driver);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    /* All know each other, as after the first collective of the kind; in a tree the root dies, else any. */
    begin(shape, bytes, &req);
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    const int dead = strcmp(shape, "tree") == 0 ? 0 : t_size - 1;
    all_are_ready(dead);
    double start = MPI_Wtime();
    if (t_rank == dead) {
        usleep(50 * 1000);
        raise(SIGKILL);
    }
    begin(shape, bytes, &req);
    int by_nic = strcmp(driver, "nic") == 0, near = (t_rank - dead + t_size) % t_size;
    if (by_nic) /* the farther, the sooner */
        sleep_until(start + 1.0 + 0.4 * (double)(t_size - near));
    expect_failed(&req, dead, by_nic ? 0.2 : 5.0);
    sleep_until(start + 1.4 + 0.4 * (double)t_size); /* none leaves before all have their error */
    printf("rank %d survived\n", t_rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

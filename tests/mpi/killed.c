/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that is killed: every other one that waits for it gets an error of class
 * MPI_ERR_PROC_FAILED whose text names it; nobody hangs. Needs a launcher that lets the rest go on
 * (nof run --on-failure=continue). Argument: what the others wait in. */
#include "mpitest.h"

#include <signal.h>
#include <unistd.h>

#ifndef MPI_ERR_PROC_FAILED
#define MPI_ERR_PROC_FAILED MPIX_ERR_PROC_FAILED
#endif

enum { LIFE_US = 100 * 1000 };

static void expect_failed(int code, int dead)
{
    char text[MPI_MAX_ERROR_STRING], name[32];
    int len;
    if (t_class(code) != MPI_ERR_PROC_FAILED) {
        fprintf(stderr, "rank %d: class %d instead of MPI_ERR_PROC_FAILED\n", t_rank, t_class(code));
        _exit(1);
    }
    MPI_Error_string(code, text, &len);
    snprintf(name, sizeof(name), "rank %d", dead);
    if (strstr(text, name) == NULL) {
        fprintf(stderr, "rank %d: the text does not name %s: %s\n", t_rank, name, text);
        _exit(1);
    }
}

static int wait_in(const char *what, int dead)
{
    static char big[4000000];
    int value = 0, sum;
    MPI_Status status;
    MPI_Request req;
    if (strcmp(what, "recv") == 0)
        return MPI_Recv(&value, 1, MPI_INT, dead, 5, MPI_COMM_WORLD, &status);
    if (strcmp(what, "any") == 0)
        return MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status);
    if (strcmp(what, "send") == 0)
        return MPI_Send(big, sizeof(big), MPI_BYTE, dead, 5, MPI_COMM_WORLD);
    if (strcmp(what, "ssend") == 0)
        return MPI_Ssend(&value, 1, MPI_INT, dead, 5, MPI_COMM_WORLD);
    if (strcmp(what, "probe") == 0)
        return MPI_Probe(dead, 5, MPI_COMM_WORLD, &status);
    if (strcmp(what, "probe_any") == 0)
        return MPI_Probe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status);
    if (strcmp(what, "irecv") == 0) {
        MPI_Irecv(&value, 1, MPI_INT, dead, 5, MPI_COMM_WORLD, &req);
        return MPI_Wait(&req, &status);
    }
    return MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* A second after the death at most, which comes LIFE_US after everybody began to wait; on a machine with more to
 * run than CPUs, as many times longer. */
static double limit_s(void)
{
    double load = 0, cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    if (getloadavg(&load, 1) != 1 || load < cpus)
        load = cpus;
    return LIFE_US / 1e6 + load / cpus;
}

/* From wait_in(what): the error, in time. */
static void fails_in_time(const char *what, int dead)
{
    double start = MPI_Wtime();
    expect_failed(wait_in(what, dead), dead);
    double took = MPI_Wtime() - start;
    if (took > limit_s()) {
        fprintf(stderr, "rank %d: the error of %s came after %.2f s\n", t_rank, what, took);
        _exit(1);
    }
    if (getenv("T_VERBOSE") != NULL)
        printf("rank %d: %s took %.3f s\n", t_rank, what, took);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    t_errors_return();
    const char *what = argc > 1 ? argv[1] : "recv";
    int dead = t_size - 1;
    /* All know each other, unless they are to be strangers. */
    for (int i = 0; i < t_size && strcmp(what, "strangers") != 0; i++) {
        int value = 0;
        OK(MPI_Sendrecv(&value, 1, MPI_INT, (t_rank + i) % t_size, 1, &value, 1, MPI_INT,
                        (t_rank - i + t_size) % t_size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    if (t_rank == dead) {
        usleep(LIFE_US);
        raise(SIGKILL);
    }
    fails_in_time(what, dead);
    /* Who asks for the dead only now hears of it as well. */
    static const char *const later[] = {"recv", "any", "probe", "probe_any", "ssend"};
    for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
        fails_in_time(later[i], dead);
    /* The living can still talk, and none leaves before all have their error. */
    int value = 0;
    for (int i = 1; i < t_size - 1; i++) {
        if (t_rank == 0)
            OK(MPI_Recv(&value, 1, MPI_INT, i, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        else if (t_rank == i)
            OK(MPI_Send(&t_rank, 1, MPI_INT, 0, 9, MPI_COMM_WORLD));
    }
    for (int i = 1; i < t_size - 1; i++) {
        if (t_rank == 0)
            OK(MPI_Send(&value, 1, MPI_INT, i, 10, MPI_COMM_WORLD));
        else if (t_rank == i)
            OK(MPI_Recv(&value, 1, MPI_INT, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    printf("rank %d survived\n", t_rank);
    MPI_Finalize();
    return 0;
}

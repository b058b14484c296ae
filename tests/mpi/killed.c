/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that is killed, or whose NIC is unplugged: every other one that waits for it gets an error of class
 * MPI_ERR_PROC_FAILED whose text names it; nobody hangs. Needs a launcher that lets the rest go on
 * (nof run --on-failure=continue). Arguments: what the others wait in; "unplug" (one rank on each NIC; that
 * of the last rank is unplugged, and it must hear of it as well); "fatal": errors are left to end the job. */
#include "doomed.h"

#include <signal.h>
#include <time.h>

#ifndef MPI_ERR_PROC_FAILED
#define MPI_ERR_PROC_FAILED MPIX_ERR_PROC_FAILED
#endif

/* What the last rank still lives when all are ready: the others wait by then, most often, and need not. */
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

static MPI_Win window = MPI_WIN_NULL; /* made for those that wait in it */

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
    if (strcmp(what, "sends") == 0) { /* more than a NIC remembers: the last are parked */
        static MPI_Request reqs[5000];
        int code = MPI_SUCCESS;
        for (int i = 0; i < 5000; i++)
            MPI_Isend(big, 20000, MPI_BYTE, dead, 5, MPI_COMM_WORLD, &reqs[i]);
        for (int i = 0; i < 5000; i++)
            code = MPI_Wait(&reqs[i], &status);
        return code;
    }
    if (strcmp(what, "probe") == 0)
        return MPI_Probe(dead, 5, MPI_COMM_WORLD, &status);
    if (strcmp(what, "probe_any") == 0)
        return MPI_Probe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status);
    if (strcmp(what, "irecv") == 0) {
        MPI_Irecv(&value, 1, MPI_INT, dead, 5, MPI_COMM_WORLD, &req);
        return MPI_Wait(&req, &status);
    }
    if (strcmp(what, "lock") == 0) {
        /* It may be granted still: its owner may be in the last steps of MPI_Win_create. */
        int code = MPI_Win_lock(MPI_LOCK_SHARED, dead, 0, window);
        while (code == MPI_SUCCESS && (code = MPI_Win_unlock(dead, window)) == MPI_SUCCESS)
            code = MPI_Win_lock(MPI_LOCK_SHARED, dead, 0, window);
        return code;
    }
    if (strcmp(what, "fence") == 0)
        return MPI_Win_fence(0, window);
    if (strcmp(what, "icollective") == 0) {
        MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &req);
        return MPI_Wait(&req, &status);
    }
    return MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* From wait_in(what): the error. That it comes within a second of the death is a figure for an idle machine, which
 * T_VERBOSE=1 prints; tests/unit/liveness.c and the simulator have the same under a clock that does not slip. */
static void must_fail(const char *what, int dead)
{
    double start = MPI_Wtime();
    expect_failed(wait_in(what, dead), dead);
    if (getenv("T_VERBOSE") != NULL)
        printf("rank %d: %s took %.3f s\n", t_rank, what, MPI_Wtime() - start);
}

/* Pulls the cable of this rank's NIC, by the daemon's control socket. */
static void unplug(void)
{
    char params[64];
    snprintf(params, sizeof(params), "\"nic\":%d,\"up\":false", t_rank);
    t_control("link", params);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    printf("unplugged %lld\n", (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    fflush(stdout);
}

/* What the last rank does. */
static void die(int by_unplugging)
{
    usleep(LIFE_US);
    if (!by_unplugging)
        raise(SIGKILL);
    unplug();
    must_fail("ssend", 0); /* what the others sent before could still be received */
    must_fail("ssend", 1);
    printf("rank %d is alone\n", t_rank);
    MPI_Finalize();
    exit(0);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    const char *what = argc > 1 ? argv[1] : "recv";
    int by_unplugging = argc > 2 && strcmp(argv[2], "unplug") == 0;
    if (argc < 4)
        t_errors_return();
    int dead = t_size - 1;
    /* All know each other, unless they are to be strangers. */
    for (int i = 0; i < t_size && strcmp(what, "strangers") != 0; i++) {
        int value = 0;
        OK(MPI_Sendrecv(&value, 1, MPI_INT, (t_rank + i) % t_size, 1, &value, 1, MPI_INT,
                        (t_rank - i + t_size) % t_size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    static int memory;
    if (strcmp(what, "lock") == 0 || strcmp(what, "fence") == 0) {
        OK(MPI_Win_create(&memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
        OK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
    }
    t_all_are_ready(t_ear(), dead);
    if (t_rank == dead)
        die(by_unplugging);
    must_fail(what, dead);
    /* Who asks for the dead only now hears of it as well. */
    static const char *const later[] = {"recv", "any", "probe", "probe_any", "ssend"};
    for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
        must_fail(later[i], dead);
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

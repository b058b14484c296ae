/* SPDX-License-Identifier: BSD-3-Clause */
/* With coll_patience_ms, which the test's command sets so that no machine is too slow for it: a rank that comes late, but in time, is
 * waited for. Then with 1500: for one that does not come the others have an error, which names it, and it has one when it comes. */
#include "doomed.h"

#include <time.h>

enum { LATE = 1 };

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 3);
    t_errors_return();
    int sum = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (t_rank == LATE)
        sleep_ms(400);
    OK(MPI_Allreduce(&t_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int ear = t_ear();
    t_set_patience(ear, LATE, 1500);
    double began_s = now_s();
    if (t_rank == LATE)
        t_hear(ear, t_size - 1);
    int rc = MPI_Allreduce(&t_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    FAILS(rc, MPI_ERR_OTHER);
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;
    OK(MPI_Error_string(rc, text, &len));
    CHECK(strstr(text, "coll_patience_ms") != NULL);
    if (t_rank != LATE) {
        CHECK(now_s() - began_s >= 1.4);
        t_say(ear, LATE);
    }
    MPI_Finalize();
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* On two hosts of two ranks, which reach each other by memory, with collectives=nic (the test's command sets it) and, when all know each
 * other, coll_patience_ms=1500: a rank does not come, and all others hear of that one, whoever told them. Arguments: ring, where rank 1
 * waits for rank 0 beside it in the midst of a program of its NIC, and the others, who begin later, for them; or bcast, where the NIC of
 * rank 0 waits for rank 2, and rank 1, which begins later, for rank 0. */
#include "doomed.h"

static void sleep_ms(unsigned ms)
{
    usleep(ms * 1000);
}

static int call(int ring)
{
    static char in[4 * 1000], out[1000];
    return ring ? MPI_Allgather(out, 1000, MPI_BYTE, in, 1000, MPI_BYTE, MPI_COMM_WORLD)
                : MPI_Bcast(in, 1000, MPI_BYTE, 2, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    char text[MPI_MAX_ERROR_STRING] = "", name[32];
    int len;
    t_begin(&argc, &argv, 4);
    CHECK(argc == 2 && t_size == 4);
    const int ring = strcmp(argv[1], "ring") == 0, late = ring ? 0 : 2, first = ring ? 1 : 0;
    const int ear = t_ear();
    t_errors_return();
    OK(call(ring));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    t_set_patience(ear, late, 1500);
    if (t_rank == late)
        t_hear(ear, t_size - 1);
    else if (t_rank != first)
        sleep_ms(900);
    int rc = call(ring);
    FAILS(rc, MPI_ERR_OTHER);
    OK(MPI_Error_string(rc, text, &len));
    snprintf(name, sizeof(name), "rank %d of", late);
    if (strstr(text, t_rank == late ? "for this rank" : name) == NULL ||
        strstr(text, "coll_patience_ms") == NULL) {
        fprintf(stderr, "rank %d: not of rank %d: %s\n", t_rank, late, text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (t_rank != late)
        t_say(ear, late);
    MPI_Finalize();
    return 0;
}

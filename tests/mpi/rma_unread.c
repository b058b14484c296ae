/* SPDX-License-Identifier: BSD-3-Clause */
/* Accumulates whose payload cannot be read at the origin: it has an error, the target's window stays as it is, and what comes
 * behind them, in their order, is carried out. By the NIC, which reads the payload. */
#include <sys/mman.h>

#include "mpitest.h"

enum { COUNT = 1 << 18 }; /* far more than travels in a command */

static int *window, *in, *out;

static void *map_ints(int protection)
{
    void *at = mmap(NULL, COUNT * sizeof(int), protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

/* rank 0 to rank 1; fetching: MPI_Get_accumulate. The first error of the epoch. */
static int update(MPI_Win win, const int *from, int fetching)
{
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
    int rc = fetching ? MPI_Get_accumulate(from, COUNT, MPI_INT, in, COUNT, MPI_INT, 1, 0, COUNT, MPI_INT,
                                           MPI_SUM, win)
                      : MPI_Accumulate(from, COUNT, MPI_INT, 1, 0, COUNT, MPI_INT, MPI_SUM, win);
    int end = MPI_Win_unlock(1, win);
    return rc != MPI_SUCCESS ? rc : end;
}

int main(int argc, char **argv)
{
    MPI_Win win;
    t_begin(&argc, &argv, 2);
    in = map_ints(PROT_READ | PROT_WRITE);
    out = map_ints(PROT_READ | PROT_WRITE);
    const int *unreadable = map_ints(PROT_NONE);
    OK(MPI_Win_allocate(COUNT * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    for (int i = 0; i < COUNT; i++) {
        window[i] = i;
        out[i] = 1;
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int fetching = 0; t_rank == 0 && fetching < 2; fetching++) {
        CHECK(update(win, unreadable, fetching) != MPI_SUCCESS);
        OK(update(win, out, fetching));
        for (int i = 0; fetching && i < COUNT; i++)
            CHECK(in[i] == i + 1);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, t_rank, 0, win));
    for (int i = 0; t_rank == 1 && i < COUNT; i++)
        CHECK(window[i] == i + 2);
    OK(MPI_Win_unlock(t_rank, win));
    OK(MPI_Win_free(&win));
    MPI_Finalize();
    return 0;
}

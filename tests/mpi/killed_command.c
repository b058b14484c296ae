/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank dies whose command has not come yet, of which its window's owner, or that one's NIC, knows already: the window goes on carrying
 * out what the living ask for. Three ranks (killed_shm.sh), of which the last one dies; NOF_CHANNELS=single-copy, where the owner reads
 * the command, or hosts of their own, links that delay, and eager_max_bytes below PUT: the NIC asks for it. */
#include "doomed.h"

#include <signal.h>

#ifndef MPI_ERR_PROC_FAILED
#define MPI_ERR_PROC_FAILED MPIX_ERR_PROC_FAILED
#endif

/* The command holds its payload: twice that does not reach NOF_RMA_COMMAND_MAX (rma.h). */
enum { PUT = 4000, AFTER = 12, PATIENCE_S = 60 };

/* More commands than a window has receives. None is waited for: a window of which a rank is dead cannot be synchronized. */
static void ask(MPI_Win window)
{
    unsigned char byte = 9;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, window));
    for (int i = 0; i < AFTER; i++)
        OK(MPI_Put(&byte, 1, MPI_BYTE, 0, i, 1, MPI_BYTE, window));
    OK(MPI_Recv(&byte, 1, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void carry_out(const volatile unsigned char *memory)
{
    unsigned char byte = 0;
    double end = MPI_Wtime() + PATIENCE_S;
    int flag;
    for (int i = 0; i < AFTER;) {
        OK(MPI_Iprobe(1, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        i += memory[i] == 9;
        CHECK(MPI_Wtime() < end);
    }
    CHECK(memory[PUT - 1] == 0); /* what it failed for is not there */
    OK(MPI_Send(&byte, 1, MPI_BYTE, 1, 7, MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    static unsigned char memory[PUT], payload[PUT];
    MPI_Win window;
    t_begin(&argc, &argv, 3);
    int dead = t_size - 1, ear = t_ear();
    unsigned char byte;
    t_errors_return();
    memset(payload, 1, sizeof(payload));
    OK(MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    OK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    t_all_are_ready(ear, dead);
    if (t_rank == dead) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, window));
        OK(MPI_Put(payload, PUT, MPI_BYTE, 0, 0, PUT, MPI_BYTE, window));
        usleep(20000); /* by NIC: it has been announced; what it is asked for comes later than that */
        raise(SIGKILL);
    }
    t_await_end(dead);
    if (t_rank == 1)
        ask(window);
    else
        carry_out(memory);
    CHECK(t_class(MPI_Recv(&byte, 1, MPI_BYTE, dead, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) ==
          MPI_ERR_PROC_FAILED);
    printf("rank %d survived\n", t_rank);
    MPI_Finalize();
    return 0;
}

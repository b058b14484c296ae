/* SPDX-License-Identifier: BSD-3-Clause */
/* A profiling library sees each call of the program once, and none that the library makes for itself.
 * Run with profile_wrap.c preloaded. */
#include "mpitest.h"

int profile_sends(void) __attribute__((weak));
int profile_recvs(void) __attribute__((weak));

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 2);
    if (profile_sends == NULL || profile_recvs == NULL) {
        fprintf(stderr, "profile_wrap is not preloaded\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int peer = t_rank ^ 1, value = t_rank, sum = 0, all[2];
    MPI_Comm copy;
    if (t_rank == 0)
        OK(MPI_Send(&value, 1, MPI_INT, peer, 1, MPI_COMM_WORLD));
    else
        OK(MPI_Recv(&value, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Sendrecv(&value, 1, MPI_INT, peer, 2, &sum, 1, MPI_INT, peer, 2, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    OK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
    OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    OK(MPI_Comm_free(&copy));
    CHECK(profile_sends() == (t_rank == 0));
    CHECK(profile_recvs() == (t_rank == 1));
    return t_end();
}

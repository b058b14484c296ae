/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0 prints "library.spin_us". */
#include "../check.h"
#include "mpitest.h"

int main(void)
{
    MPI_T_cvar_handle handle;
    unsigned spin_us;
    int at, count, level, rank;

    OK(MPI_Init(NULL, NULL));
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_T_cvar_get_index("library.spin_us", &at));
    OK(MPI_T_cvar_handle_alloc(at, NULL, &handle, &count));
    OK(MPI_T_cvar_read(handle, &spin_us));
    OK(MPI_T_cvar_handle_free(&handle));
    if (rank == 0)
        printf("%u\n", spin_us);
    OK(MPI_T_finalize());
    OK(MPI_Finalize());
    return 0;
}

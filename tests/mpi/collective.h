/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of collectives share, beside mpitest.h. */
#ifndef NOF_COLLECTIVE_H
#define NOF_COLLECTIVE_H

#include <time.h>

#include "mpitest.h"

/* Who goes through collectives: the daemon of all ranks is told by the first; from then on it holds for what starts. */
static inline void t_drive(int by_nic)
{
    int index, n, value = by_nic ? 0 : 1;
    MPI_T_cvar_handle handle;
    if (t_rank == 0) {
        OK(MPI_T_cvar_get_index("collectives", &index));
        OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &n));
        OK(MPI_T_cvar_write(handle, &value));
        OK(MPI_T_cvar_handle_free(&handle));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* An operation: affine maps, two numbers each, under composition; not commutative. */
static inline void t_compose(void *in, void *inout, int *len, MPI_Datatype *type)
{
    unsigned *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < 2 * *len; i += 2) {
        b[i + 1] += b[i] * a[i + 1];
        b[i] *= a[i];
    }
}

/* Number i of a rank. */
static inline void t_map_of(int rank, int i, unsigned map[2])
{
    map[0] = 3u + 2u * (unsigned)rank;
    map[1] = (unsigned)(i + 7 * rank);
}

/* What becomes of number i of so many ranks. */
static inline void t_composed(int ranks, int i, unsigned map[2])
{
    int one = 1;
    t_map_of(0, i, map);
    for (int r = 1; r < ranks; r++) {
        unsigned next[2];
        t_map_of(r, i, next);
        t_compose(map, next, &one, NULL);
        map[0] = next[0], map[1] = next[1];
    }
}

/* Meanwhile the NICs can open a multicast group, which is worth it and need not be done. */
static inline void t_settle(void)
{
    struct timespec t = {.tv_nsec = 50000000};
    nanosleep(&t, NULL);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the shortest way of a message between two ranks of a host costs its ranks, counted by callgrind: an MPI_Send of 8 bytes
 * and the MPI_Recv that finds it there, together, without waiting. */
#ifndef NOF_BENCH_SHORT_PATH_H
#define NOF_BENCH_SHORT_PATH_H

struct nof_short_path { /* each per message, executed */
    double instructions;
    double lock_prefixes; /* and exchanges with memory, which lock without one */
    double fences;
    double allocations; /* calls of malloc() and its like, and of free() */
    double syscalls;
};

/* NULL, or why it cannot be measured. */
const char *nof_short_path_measure(struct nof_short_path *out);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether each of several processes has a CPU to itself, by the CPUs that each may use. Whoever may use fewest is seated first, on the
 * first of its CPUs that is free: right for sets of which any two are equal, apart or one within the other, as launchers bind. Of others it
 * may find a seat too few, never one too many.
 *
 * Memory: the caller's; masks may be written by others meanwhile, who then get another answer. Pure, but for nof_seats_mine(). */
#ifndef NOF_MPI_SEATS_H
#define NOF_MPI_SEATS_H

#include <stdint.h>

#define NOF_SEATS_CPUS 8192u /* the most that Linux can be built for (NR_CPUS_RANGE_END) */
#define NOF_SEATS_WORDS (NOF_SEATS_CPUS / 64)

struct nof_seats_mask {
    uint64_t word[NOF_SEATS_WORDS];
};

struct nof_seat {
    const struct nof_seats_mask *may; /* the caller's word */
    uint32_t cpus; /* scratch */
};

/* CPUs that this process may use; all, if the kernel does not say. */
void nof_seats_mine(struct nof_seats_mask *out);
/* How many of the CPUs that they may use together are left when each has one; -1: there is not one for each. Sorts `ranks`. */
int nof_seats_left(struct nof_seat *ranks, uint32_t count);

#endif

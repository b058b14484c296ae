/* SPDX-License-Identifier: BSD-3-Clause */
/* The persistent collectives of a communicator: each has a place, by which its tags are its own, and is known by it when it is
 * gone, so that who asks can be told how often this rank has begun it.
 *
 *   make() -> begins() ... -> goes(); the place comes again behind the last one, unless who has it is there still
 *
 * Memory: 33 bits for each that was ever made, malloc'ed. Threads: under the library's lock. */
#ifndef NOF_MPI_KEPT_STARTS_H
#define NOF_MPI_KEPT_STARTS_H

#include <stdbool.h>
#include <stdint.h>

#define NOF_KEPT_MAX (1u << 20) /* places; behind the last one the first comes again */
#define NOF_KEPT_UNKNOWN UINT32_MAX
#define NOF_KEPT_NO_PLACE UINT32_MAX

struct nof_kept {
    uint32_t made;
    uint32_t room;
    uint32_t *
        begun; /* of each place below `room`: number of the last start, 0: none; behind them a bit each: somebody has it */
};

/* The place of a new one, that has not begun. NO_PLACE: the one that has it is there; all ranks count this one all the same, and the
 * next has the next place. */
uint32_t nof_kept_make(struct nof_kept *kept);
/* The one there is gone here; elsewhere it may be there yet. NO_PLACE: nothing. */
void nof_kept_goes(struct nof_kept *kept, uint32_t place);
/* number: of the start, from 1 on; or UNKNOWN, which it is from now on: this rank has no part in it. */
void nof_kept_begins(struct nof_kept *kept, uint32_t place, uint32_t number);
/* UNKNOWN, too, where memory was short, and of a place that nobody has. */
uint32_t nof_kept_begun(const struct nof_kept *kept, uint32_t place);

#endif
